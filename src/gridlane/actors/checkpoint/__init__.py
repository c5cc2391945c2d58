"""Checkpoints: all actors of a runtime at one moment, saved to a file, and restored."""
