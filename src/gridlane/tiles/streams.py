"""torch's current stream, on which programs over torch's tensors run, as torch's own work does."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, cast

from gridlane.cuda.interop.torch_streams import Handles, torchs_handles
from gridlane.runtime.protocol import Device, Stream
from gridlane.tiles.descriptors import TensorDescriptor
from gridlane.tiles.wrappers import TensorWrapper


def handles_of(values: Iterable[Any], device: Device) -> Handles | None:
    """A function that returns torch's current stream, if an argument is one of torch's tensors on
    a GPU; None if launches go to the device's default stream."""
    torch = sys.modules.get("torch")
    if torch is None or device.route != "native":
        return None
    tensor = getattr(torch, "Tensor", ())
    return torchs_handles(torch, device.ordinal) if _has_tensor(values, tensor) else None


def stream_at(handle: int, device: Device) -> Stream | None:
    """The stream of a launch; None for the default one."""
    return device.stream_at(handle) if handle else None


def _has_tensor(values: Iterable[Any], tensor: Any) -> bool:
    for value in values:
        while isinstance(value, TensorDescriptor | TensorWrapper):
            value = value.base
        if isinstance(value, tuple):
            if _has_tensor(cast("tuple[Any, ...]", value), tensor):
                return True
        elif isinstance(value, tensor) and value.is_cuda:
            return True
    return False
