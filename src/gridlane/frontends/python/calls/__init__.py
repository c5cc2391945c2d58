"""Calls: a table from callees to emitters."""
