"""Passes that rewrite control flow and calls."""
