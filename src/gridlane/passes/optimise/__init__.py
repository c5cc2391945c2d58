"""Passes that make code faster."""
