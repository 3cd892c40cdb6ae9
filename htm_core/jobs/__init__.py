"""Work done in the background: embedding, tagging, taking texts apart, counting words."""
