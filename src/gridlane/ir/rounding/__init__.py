"""Floats rounded in any direction, by ops that every target has: for all frontends."""
