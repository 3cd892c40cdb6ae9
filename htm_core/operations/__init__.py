"""What the verbs of a memory do, one file for each group of verbs."""
