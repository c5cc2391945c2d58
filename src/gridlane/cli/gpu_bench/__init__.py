"""``gridlane bench --device cuda``: figures of a GPU that need no other library to compare with.

benchmarks/nvidia of a checkout, which compares with NVRTC, CuPy, PyTorch, Triton and numba, builds
on these modules.
"""
