"""The pure rules of memory: no SQL, no clock, and the same result for the same arguments."""
