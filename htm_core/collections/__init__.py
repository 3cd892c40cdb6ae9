"""Documents of a vector store and items of a key-value store: ids of the caller, never merged."""
