"""PostgreSQL: connections, transactions, schema and migrations, roles, walls, checks."""
