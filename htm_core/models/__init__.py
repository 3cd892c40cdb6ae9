"""The outside minds, behind small protocols: what embeds a text, and what counts its tokens.

`embedders` and `tokenizers` are what the layers above use; the rest is how the embedded model and Ollama's are run.
"""
