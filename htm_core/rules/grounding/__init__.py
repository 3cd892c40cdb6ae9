"""Whether what was found answers what was asked, and what an agent is told of it."""
