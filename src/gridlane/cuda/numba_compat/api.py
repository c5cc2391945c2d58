"""``numba.cuda.api`` and ``numba.cuda.cudadrv.devices``: the host's functions in one module."""

from __future__ import annotations

from gridlane.cuda.arrays import *
from gridlane.cuda.device import (
    close,
    current_context,
    defer_cleanup,
    detect,
    get_current_device,
    gpus,
    is_bfloat16_supported,
    is_float16_supported,
    is_fp8_supported,
    list_devices,
    profile_start,
    profile_stop,
    profiling,
    require_context,
    select_device,
)
from gridlane.cuda.streams import (
    default_stream,
    event,
    event_elapsed_time,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
    synchronize,
)

get_context = current_context
reset = close
