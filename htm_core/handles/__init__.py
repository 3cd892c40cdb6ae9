"""Handles of a memory: its log, its tags, its jobs."""
