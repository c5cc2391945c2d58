"""``numba.cuda.api`` and ``numba.cuda.cudadrv.devices``: the host's functions in one module."""

from __future__ import annotations

from gridlane.cuda.arrays import (
    as_cuda_array,
    device_array,
    device_array_like,
    from_cuda_array_interface,
    is_cuda_array,
    managed_array,
    mapped_array,
    mapped_array_like,
    open_ipc_array,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from gridlane.cuda.device import (
    close,
    current_context,
)

get_context = current_context
reset = close
