"""Working memory within a budget of tokens: what is held, what leaves, what a model is given."""
