"""`htm chat`: a chat in the terminal with a memory, by the same middleware that an agent has."""
