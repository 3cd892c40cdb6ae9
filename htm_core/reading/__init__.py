"""The reader: how well a text answers a question, what a sentence says about its speaker, and what
its scores mean.
"""
