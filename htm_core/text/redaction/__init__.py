"""Redaction: secrets and personal data leave a text before it is stored."""
