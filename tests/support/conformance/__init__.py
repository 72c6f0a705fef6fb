"""Runs conformance vectors: translates their names and shapes, so that product code never has to."""
