"""What a memory gives to hold: its log, its tags, its jobs."""
