"""What a server of Ollama's API and its clients said to each other, recorded over HTTP; see README.md."""
