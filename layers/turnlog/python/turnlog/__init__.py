"""Turnlog: an event-sourced session store for AI agents."""

from importlib import metadata as _metadata

try:
    __version__ = _metadata.version("turnlog")
except _metadata.PackageNotFoundError:  # in a Lambda layer the package has no metadata
    __version__ = "0.1.0"
