"""Supersession: whether a newer saying replaces or contradicts an older one."""
