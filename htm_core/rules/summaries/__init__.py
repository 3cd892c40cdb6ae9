"""Summaries of conversations, in their own words."""
