"""The HTTP API: the verbs under /v1, and what other applications are mounted beside them."""
