"""What robots share: the work that is owed, done by whoever is there."""
