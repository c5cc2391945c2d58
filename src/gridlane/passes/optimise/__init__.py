"""Passes that optimise."""
