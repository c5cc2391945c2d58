"""Arrays of NumPy's in the memory of a device that does not share the host's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.launch import current


def on_device(
    run: Callable[[dict[str, Any], dict[str, int]], None],
    given: Mapping[str, Any],
    extents: dict[str, int],
    tensors: Iterable[str],
    written: set[str],
    same: Mapping[str, str],
) -> None:
    """Run with arrays in the device's memory, one for those that are the same, and copy those that
    are written back.

    Args:
        tensors: names of the arguments that are arrays.
        written: those of them that are results.
        same: tensors that are the same array as an earlier one, by name.
    """
    values = dict(given)
    if not current.device().host_visible:
        for name in tensors:
            if isinstance(given[name], np.ndarray) and name in same:
                values[name] = values[same[name]].view(given[name].dtype)
            elif isinstance(given[name], np.ndarray):
                values[name] = cuda.to_device(_dense(given[name]))
    run(values, extents)
    for name in written:
        if values[name] is given[name]:
            continue
        if _dense(given[name]) is given[name]:
            values[name].copy_to_host(given[name])
        else:
            given[name][...] = values[name].copy_to_host()


def _dense(array: np.ndarray) -> np.ndarray:
    """An array as one piece of memory: itself, or a copy."""
    flags = array.flags
    return array if flags.c_contiguous or flags.f_contiguous else array.copy()
