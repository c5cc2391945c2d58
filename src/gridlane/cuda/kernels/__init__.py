"""Kernels in Python, from the decorator to the launch."""
