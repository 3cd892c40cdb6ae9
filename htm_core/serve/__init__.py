"""`htm serve`: the HTTP API, and the Model Context Protocol."""
