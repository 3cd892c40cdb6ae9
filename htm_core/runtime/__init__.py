"""What the memories of one process share, and how a memory is opened."""
