"""Whole CUDA programs without a toolkit: compiled and linked as nvcc is called."""
