"""The tile programs of the kernels."""
