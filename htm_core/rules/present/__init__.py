"""Which of several hits says what holds now: questions about the present, what a hit is like, and a small model of both."""
