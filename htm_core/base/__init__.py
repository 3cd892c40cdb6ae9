"""Foundations of all parts: options, errors, settings, limits and checks; time limits, telemetry,
forks.
"""
