"""Launches of calls that have been made before: the same arrays and numbers have the same ones."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.interop.dlpack_read import IS_TENSOR, host_view
from gridlane.launch import current
from gridlane.launch.geometry import address_of
from gridlane.runtime.protocol import Device

_MOST_STEPS = 4096
"""Launches of one call that are kept."""
_MOST = 16_384
"""Launches that are kept of all calls of a function."""


def key_of(device: Device, args: tuple[Any, ...]) -> tuple[Hashable, ...] | None:
    """What the launches of a call depend on: where arrays are, their shapes, and whole numbers.

    Args:
        device: where it runs.

    Returns:
        None if an argument is no array of a device, nor a number of Python's, nor an array of
        NumPy's or a GPU's tensor of torch's that the device takes as it is.
    """
    parts: list[Hashable] = [device]
    for each in args:
        kind = each.__class__
        if kind is np.ndarray:
            if not device.host_visible:
                return None  # it is copied
            parts.append((address_of(each), each.shape, each.strides, each.dtype))
        elif kind is DeviceNDArray:
            parts.append(each.__gridlane_launch__)  # its type, and address, shape and strides
        elif kind.__module__ == "torch":
            part = _tensor(each, device)
            if part is None:
                return None
            parts.append(part)
        elif kind is int:
            parts.append(each)
        elif kind is float:
            parts.append(kind)  # its value is a kernel's alone
        else:
            return None
    return tuple(parts)


def _tensor(tensor: Any, device: Device) -> tuple[Hashable, ...] | None:
    """The part of a key that is a tensor of torch's on a GPU; None if it is copied, or computed at
    its use, or no array."""
    if not tensor.is_cuda or device.host_visible or current.kind() != "cuda":
        return None
    if tensor.requires_grad or tensor.is_neg() or tensor.is_conj():
        return None
    where = tensor.get_device(), tensor.data_ptr()
    return *where, tuple(tensor.shape), tensor.stride(), tensor.dtype


def on_host(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with arrays of NumPy's over the memory of torch's tensors, where these are
    plain ones of the host."""
    own: list[Any] | None = None
    for place, each in enumerate(args):
        view = host_view(each) if IS_TENSOR[each.__class__] else None
        if view is not None:
            own = own or [*args]
            own[place] = view
    return args if own is None else tuple(own)


class Step:
    """A launch.

    Args:
        launch: a kernel of ``cuda.jit`` with its grid and block.
        places: of its arguments among those of the call, or -1.
        values: of the others.
    """

    __slots__ = ("_launch", "_pick", "_places", "_values")

    def __init__(self, launch: Any, places: tuple[int, ...], values: tuple[Any, ...]) -> None:
        self._launch, self._places, self._values = launch, places, values
        self._pick = itemgetter(*places) if len(places) > 1 and min(places) >= 0 else None

    def run(self, args: tuple[Any, ...]) -> None:
        """Launch it with the arguments of a call. Hot."""
        if self._pick is not None:
            self._launch(*self._pick(args))
            return
        pairs = zip(self._places, self._values)
        self._launch(*[value if place < 0 else args[place] for place, value in pairs])


class Steps:
    """The launches of a call, as they are made.

    Args:
        names: of the call's arguments.

    Attributes:
        is_whole: whether the same launches are those of every such call.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.places = {name: place for place, name in enumerate(names)}
        self.steps: list[Step] = []
        self.is_whole = True

    def add(self, launch: Any, names: Sequence[str], values: tuple[Any, ...]) -> None:
        """Add a launch; ``names`` are those of the values."""
        if not self.is_whole:
            return
        if len(self.steps) == _MOST_STEPS:
            self.refuse()
            return
        places = tuple([self.places.get(name, -1) for name in names])
        others = tuple([v if p < 0 else None for p, v in zip(places, values, strict=True)])
        self.steps.append(Step(launch, places, others))

    def refuse(self) -> None:
        """Keep none of them."""
        self.is_whole = False
        self.steps.clear()


class Known:
    """The launches of a function's calls."""

    def __init__(self) -> None:
        self._steps: dict[tuple[Hashable, ...], tuple[Step, ...]] = {}
        self._count = 0

    def get(self, key: tuple[Hashable, ...] | None) -> tuple[Step, ...] | None:
        """The launches of a call, if it is known."""
        return None if key is None else self._steps.get(key)

    def keep(self, key: tuple[Hashable, ...], steps: Steps) -> None:
        """Keep the launches of a call."""
        if not steps.is_whole:
            return
        if self._count + len(steps.steps) + 1 > _MOST:
            self._steps.clear()
            self._count = 0
        self._steps[key] = tuple(steps.steps)
        self._count += len(steps.steps) + 1
