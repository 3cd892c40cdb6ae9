"""Times as people write them: "last week", "since March", "the first half of 2024"."""
