"""Entities to items, items to entities, requests to wire dicts."""
