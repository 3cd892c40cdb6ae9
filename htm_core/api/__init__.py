"""What an HTTP request and its answer look like, for the server and for the client."""
