"""The embedded model: all-MiniLM-L6-v2, its weights and the two ways to run it."""
