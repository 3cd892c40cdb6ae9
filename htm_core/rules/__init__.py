"""The pure rules of memory: they know neither SQL nor the clock, and answer the same for the same arguments."""
