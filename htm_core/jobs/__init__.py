"""Background jobs: embedding, tagging, finding facts, relating nodes, counting words."""
