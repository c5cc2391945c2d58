"""Calls: a table from what is called to what is emitted."""
