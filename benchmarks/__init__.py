"""Speed and quality, measured by anyone with one command each."""
