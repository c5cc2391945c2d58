"""Kernels that do not end: their memory beside the host, their channels and clusters."""
