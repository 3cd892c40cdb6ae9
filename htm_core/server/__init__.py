"""What serves memories to other programs: the HTTP API with what is mounted beside it, and the Model Context Protocol."""
