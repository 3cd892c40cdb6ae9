"""What is known of a user by their own words: facts of a text, and the profile that they make. docs/why/profile.md says why."""
