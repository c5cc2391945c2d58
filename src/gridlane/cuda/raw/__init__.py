"""Kernels from PTX text: RawKernel and RawModule, with CuPy's conventions."""
