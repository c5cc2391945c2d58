"""``numba_cuda_mlir.tools``: the compute capability of the device."""

from __future__ import annotations

import re
from typing import Any

from gridlane.cuda.host.device import get_current_device
from gridlane.cuda.kernels.jit_options import processor_of as format_arch
from gridlane.cuda.numba_compat.mlir.placeholder_modules import face

_ARCH = re.compile(r"sm_([1-9]\d?)(\d)[af]?")


def get_gpu_compute_capability(as_type: type = str) -> Any:
    """The compute capability of the current device, ``sm_80``, or (8, 0) for ``tuple``."""
    if as_type not in (str, tuple):
        raise TypeError(f"a compute capability is a str or a tuple, not {as_type!r}")
    capability = tuple(get_current_device().compute_capability)
    return capability if as_type is tuple else format_arch(capability)


def parse_compute_capability(compute_cap: str) -> tuple[int, int]:
    """The numbers of a name of processors.

    >>> parse_compute_capability("sm_90a")
    (9, 0)
    """
    match = _ARCH.fullmatch(compute_cap)
    if match is None:
        raise ValueError(f"Invalid compute capability: {compute_cap}")
    return int(match[1]), int(match[2])


__getattr__ = face("tools")
__all__ = ["format_arch", "get_gpu_compute_capability", "parse_compute_capability"]
