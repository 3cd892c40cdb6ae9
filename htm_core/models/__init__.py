"""Models: what embeds texts, tags them, finds facts in them, and counts their tokens, each behind a
small protocol.

The layers above use `embedders`, `taggers`, `propositioners` and `tokenizers`; the other modules
run the embedded model and the models of an Ollama server.
"""
