"""Tags of memories, and relations between memories."""
