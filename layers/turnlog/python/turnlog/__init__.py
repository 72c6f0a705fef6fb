"""Turnlog: an event-sourced session store for AI agents."""

__version__ = "0.1.0"
