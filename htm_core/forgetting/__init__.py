"""Forget, restore, purge, erase and revise; the audit of it; backups."""
