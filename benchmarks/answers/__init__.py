"""Right answers of a language model: conversations are told, and questions asked in fresh threads, with each kind of memory."""
