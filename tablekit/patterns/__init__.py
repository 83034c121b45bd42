"""Patterns built from public names."""
