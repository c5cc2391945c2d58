"""CUDA's own interface on gridlane's devices: the driver, the runtime and the run-time compiler."""
