"""Working memory within a budget of tokens: what it holds, what leaves first, and the text that a
model is given.
"""
