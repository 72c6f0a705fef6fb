"""Adapters of the session repository port."""
