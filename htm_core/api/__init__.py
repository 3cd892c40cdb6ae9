"""Form of HTTP requests and their answers, for the server and for the client."""
