"""``gridlane bench --device cuda``: figures of a GPU, without other libraries to compare with.

benchmarks/nvidia of a checkout, which compares with NVRTC, CuPy, PyTorch, Triton and numba, builds
on these modules.
"""
