"""Recall: the query, its searches, the score, and the steps that hits go through."""
