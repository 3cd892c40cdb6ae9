"""More than one server: cells of tenants, Citus, read replicas."""
