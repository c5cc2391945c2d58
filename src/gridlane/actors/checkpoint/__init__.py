"""Checkpoints: all actors of a runtime at one moment, in a file, and a runtime made of it."""
