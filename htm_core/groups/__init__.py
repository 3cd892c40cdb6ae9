"""Robots that share one working memory, across processes."""
