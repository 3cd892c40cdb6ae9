"""Times as people write them: "last week", "since March", "between 1 and 15 January"."""
