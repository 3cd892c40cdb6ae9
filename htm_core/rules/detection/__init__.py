"""Whether a prompt asks for something that was said before."""
