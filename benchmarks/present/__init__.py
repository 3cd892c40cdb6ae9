"""Which of several sayings holds now: dialogues in which a fact changes, and the fit of what puts the present one first."""
