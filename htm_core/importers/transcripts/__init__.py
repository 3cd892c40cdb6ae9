"""Conversations that were had elsewhere, read into drafts to remember."""
