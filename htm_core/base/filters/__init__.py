"""Filters on metadata: what they mean, and the same as a path expression of SQL/JSON."""
