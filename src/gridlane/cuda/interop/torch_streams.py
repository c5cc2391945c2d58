"""torch's current stream, and the one that it captures: launches over its tensors belong there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

from gridlane.runtime.protocol import Device, Stream

Handles = Callable[[], int]
"""Returns the CUstream of this thread's current stream of torch; 0 for the default stream."""


def torchs_handles(torch: Any, ordinal: int) -> Handles:
    """A function that returns torch's current stream on a GPU."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    if raw is not None:
        return partial(raw, ordinal)
    return lambda: torch.cuda.current_stream(ordinal).cuda_stream


def handles_of_tensors(args: Iterable[Any], device: Device) -> Handles | None:
    """A function that returns torch's current stream, if an argument is one of torch's tensors on a
    GPU; else None."""
    torch = sys.modules.get("torch")
    if torch is None or device.route != "native":
        return None
    tensor = getattr(torch, "Tensor", ())
    return torchs_handles(torch, device.ordinal) if _has_tensor(args, tensor) else None


def captured_stream(args: Iterable[Any], device: Device) -> Stream | None:
    """torch's current stream while that is captured, as by ``torch.cuda.graph``, if an argument is
    one of torch's tensors on the GPU; else None."""
    return _captured_by(handles_of_tensors(args, device), device)


def captured_now(device: Device) -> Stream | None:
    """torch's current stream on a GPU while that is captured; else None."""
    torch = sys.modules.get("torch")
    if torch is None or device.route != "native" or not hasattr(torch, "_C"):
        return None
    return _captured_by(torchs_handles(torch, device.ordinal), device)


def _captured_by(handles: Handles | None, device: Device) -> Stream | None:
    handle = 0 if handles is None else handles()
    stream = device.stream_at(handle) if handle else None
    return stream if stream is not None and stream.capturing else None


def _has_tensor(args: Iterable[Any], tensor: Any) -> bool:
    for each in args:
        if isinstance(each, tuple):
            if _has_tensor(cast("tuple[Any, ...]", each), tensor):
                return True
        elif isinstance(each, tensor) and each.is_cuda:
            return True
    return False
