"""Texels in device memory, and the records by which kernels read them."""
