"""What a conversation was about, in its own words."""
