"""What is known of a user by their own sentences, and the profile that these make. docs/why/profile.md says why."""
