"""Databases of other packages, which are only read."""
