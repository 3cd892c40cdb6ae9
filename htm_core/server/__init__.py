"""What serves memories to other programs: the Model Context Protocol."""
