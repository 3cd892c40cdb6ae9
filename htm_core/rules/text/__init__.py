"""Rules about text: passages, words, tags, Markdown, and what a question says of itself."""
