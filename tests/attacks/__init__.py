"""Attacks on the walls between tenants, users and roles. Each of them succeeded once."""
