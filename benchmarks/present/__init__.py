"""Dialogues in which a fact changes, so that one of several sayings holds now, and the fit of what puts it first."""
