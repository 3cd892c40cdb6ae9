"""Benchmarks of speed and quality, and measures of the code; each is one command."""
