"""Session repositories, one per store."""
