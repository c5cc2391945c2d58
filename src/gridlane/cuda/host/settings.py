"""numba's configuration variables, by their names and defaults, for tests to read and set.

They have no effect unless a comment says so: gridlane's own settings are in core/config.py.
"""

ENABLE_CUDASIM = 0
CUDA_LOW_OCCUPANCY_WARNINGS = 0  # there is no occupancy on this device
CUDA_WARN_ON_IMPLICIT_COPY = 0  # host arrays need no copies on this device
CUDA_ARRAY_INTERFACE_SYNC = 1
CUDA_DEBUGINFO_DEFAULT = 0
CUDA_DEALLOCS_COUNT = 0  # frees do not wait, but in defer_cleanup
CUDA_DEALLOCS_RATIO = 0.0
CUDA_DEFAULT_PTX_CC = (8, 0)
CUDA_ENABLE_MINOR_VERSION_COMPATIBILITY = 0
CUDA_ENABLE_PYNVJITLINK = 0
CUDA_ENABLE_NRT = 0
CUDA_NRT_STATS = 0
CUDA_FORTRAN_CALLCONV = 0
CUDA_LOG_LEVEL = ""
CUDA_NVRTC_EXTRA_SEARCH_PATHS = ""  # folders of headers for CUDA C++ that kernels are linked with
CUDA_MEMORY_MANAGER = "default"
CUDA_PER_THREAD_DEFAULT_STREAM = 0
CUDA_USE_NVIDIA_BINDING = 0
DEBUG = 0
DISABLE_JIT = 0
DISABLE_PERFORMANCE_WARNINGS = 0
BOUNDSCHECK = None
OPT = 3
CAPTURED_ERRORS = "new_style"
DEVELOPER_MODE = 0
FULL_TRACEBACKS = 0
IS_OSX = False
IS_WIN32 = False
MACHINE_BITS = 64
