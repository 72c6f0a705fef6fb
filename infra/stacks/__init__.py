"""The stacks: they compose constructs and grant."""
