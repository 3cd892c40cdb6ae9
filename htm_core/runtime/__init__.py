"""The state that the memories of one process share, and the opening of a memory."""
