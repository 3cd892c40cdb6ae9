"""Rules about text: passages, words, tags, Markdown, near-duplicates, and what a question names."""
