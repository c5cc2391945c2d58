"""CUDA device attributes for devices that are not NVIDIA GPUs."""

from __future__ import annotations

from gridlane.runtime.protocol import Limits

_FIXED = {
    "INTEGRATED": 1,
    "CAN_MAP_HOST_MEMORY": 1,
    "UNIFIED_ADDRESSING": 1,
    "MANAGED_MEMORY": 1,
    "CONCURRENT_MANAGED_ACCESS": 1,
    "PAGEABLE_MEMORY_ACCESS": 1,
    "CONCURRENT_KERNELS": 1,
    "ASYNC_ENGINE_COUNT": 1,
    "GPU_OVERLAP": 1,
    "STREAM_PRIORITIES_SUPPORTED": 1,  # they are hints
    "COOPERATIVE_LAUNCH": 1,
    "KERNEL_EXEC_TIMEOUT": 0,
    "TCC_DRIVER": 0,
    "ECC_ENABLED": 0,
    "COMPUTE_MODE": 0,
    "TOTAL_CONSTANT_MEMORY": 64 * 1024,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 2,
    "GLOBAL_L1_CACHE_SUPPORTED": 1,
    "LOCAL_L1_CACHE_SUPPORTED": 1,
    "MAX_REGISTERS_PER_BLOCK": 65536,
    "MAX_REGISTERS_PER_MULTIPROCESSOR": 65536,
    "MAX_THREADS_PER_MULTIPROCESSOR": 2048,
    "PCI_BUS_ID": 0,
    "PCI_DEVICE_ID": 0,
    "PCI_DOMAIN_ID": 0,
}


def attributes_of(limits: Limits, compute_capability: tuple[int, int]) -> dict[str, int]:
    """The CUDA attributes of a device that is not an NVIDIA GPU, from its limits."""
    sizes: dict[str, int] = {
        "WARP_SIZE": limits.warp_size,
        "MULTIPROCESSOR_COUNT": limits.multiprocessors,
        "MAX_THREADS_PER_BLOCK": limits.max_threads,
        "MAX_SHARED_MEMORY_PER_BLOCK": limits.max_shared,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": limits.max_dynamic_shared,
        "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": limits.max_dynamic_shared,
        "COMPUTE_CAPABILITY_MAJOR": compute_capability[0],
        "COMPUTE_CAPABILITY_MINOR": compute_capability[1],
    }
    for axis, block, grid in zip("XYZ", limits.max_block, limits.max_grid):
        sizes[f"MAX_BLOCK_DIM_{axis}"] = block
        sizes[f"MAX_GRID_DIM_{axis}"] = grid
    return _FIXED | sizes
