"""Typed conditions and update actions over document paths."""
