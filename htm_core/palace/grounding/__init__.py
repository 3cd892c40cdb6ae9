"""Evidence for an answer in what was found, and the text of it for a model."""
