"""The C libraries: stubs of CUDA's functions, which enter Python."""
