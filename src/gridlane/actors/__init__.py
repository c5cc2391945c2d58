"""Actors on the device: kernels that do not end and answer typed messages; see README.md."""
