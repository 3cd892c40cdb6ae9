"""Files and folders of documents, loaded as memories and kept in step with the disk."""
