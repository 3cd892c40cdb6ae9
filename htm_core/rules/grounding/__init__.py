"""Whether what was found answers a question, and what a model is given of it."""
