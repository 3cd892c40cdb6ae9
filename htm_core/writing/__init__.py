"""Writing memories: from a draft to rows, in one transaction."""
