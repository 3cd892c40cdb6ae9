"""Shared work of both adapters: the window, the recalled block, a turn's deadline,
tools, filters.
"""
