"""The routes, one table for all of them, and what each one does: parse, call the service once, shape."""
