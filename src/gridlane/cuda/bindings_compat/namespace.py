"""A package of NVIDIA's that has packages only."""
