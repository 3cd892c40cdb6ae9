"""Facts about a user in their own sentences, and the profile that these make. docs/why/profile.md says why."""
