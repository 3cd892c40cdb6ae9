"""What was recorded over HTTP, and what recorded it."""
