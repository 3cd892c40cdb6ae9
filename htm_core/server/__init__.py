"""Servers of memories for other programs: the HTTP API with what is mounted beside it, and the Model Context Protocol."""
