"""Changes by newer sayings: superseded memories, the profile, merged memories, summaries."""
