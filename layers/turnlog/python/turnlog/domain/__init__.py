"""The domain: values, rules and ports. Standard library only."""
