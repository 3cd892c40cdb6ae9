"""How a version is released: its numbers, its changelog, what is in its wheels, and where they come from."""
