"""What all adapters of frameworks do in the same way. It knows this package's own types, and none of a framework."""
