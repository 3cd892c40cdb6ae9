"""What makes a site of `docs/`: hooks of MkDocs, and a check of the built folder."""
