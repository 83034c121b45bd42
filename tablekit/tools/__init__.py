"""Tools for tables that have data."""
