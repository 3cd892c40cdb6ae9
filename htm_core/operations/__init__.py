"""The verbs of a memory, one file for each group of verbs."""
