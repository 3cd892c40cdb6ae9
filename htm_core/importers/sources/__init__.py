"""Sources of turns on disk: a file, an archive, a folder, a table, a database of Chroma."""
