"""All that knows PostgreSQL; the only place that imports psycopg."""
