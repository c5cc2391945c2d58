"""Triton's language: tile programs of Python to IR of stage ``tile``."""
