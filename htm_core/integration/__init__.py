"""Code shared by the adapters of all frameworks. It knows this package's own types, and none of a framework."""
