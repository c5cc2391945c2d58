"""Where arrays lie, and keys of them: arrays with one key differ in their addresses alone. Hot."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import combinations
from typing import Any

from gridlane.core.frozen import frozen
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch import current


@frozen
class Place:
    """Where an array lies.

    Attributes:
        kind: a key of its type and shape.
        address, size: its bytes.
        owner: what keeps them alive.
        is_line: whether it has one dimension.
    """

    kind: Hashable
    address: int
    size: int
    owner: Any
    is_line: bool


def place_of(array: Any, any_order: bool = False) -> Place | None:
    """The place of an array without gaps on the current device; None for any other, and for what
    has no elements.

    Args:
        any_order: torch's tensors may have their elements in another order than C's.
    """
    device = current.device()
    if type(array) is DeviceNDArray:
        if array._layout != "C" or array.buffer.device is not device or not array.size:  # pyright: ignore[reportPrivateUsage]
            return None
        kind = array.__gridlane_launch__[0], array.shape
        return Place(kind, array.address, array.nbytes, array, array.ndim == 1)
    if not type(array).__module__.startswith("torch") or not getattr(array, "is_cuda", False):
        return None
    is_own = current.kind() == "cuda" and array.get_device() == device.ordinal
    if not is_own or array.requires_grad or not array.numel():
        return None
    steps: tuple[int, ...] | None = None
    if not array.is_contiguous():
        steps = array.stride()
        if not any_order or not _has_no_gaps(array.shape, array.stride()):
            return None
    address, each = array.data_ptr(), array.element_size()
    if address % each or array.is_conj() or array.is_neg():
        return None
    kind = type(array), array.dtype, tuple(array.shape), steps
    return Place(kind, address, each * array.numel(), array, array.dim() == 1)


def _has_no_gaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements of an array follow each other in some order of its axes.

    >>> _has_no_gaps((2, 3, 4), (12, 1, 3)), _has_no_gaps((2, 3), (4, 1))
    (True, False)
    """
    count = 1
    for step, extent in sorted(zip(strides, shape, strict=True)):
        if extent > 1 and step != count:
            return False
        count *= extent
    return True


def key_of(places: list[Place]) -> Hashable | None:
    """A key of arrays that are the same or apart in pairs; None for others."""
    relations: list[bool] = []
    for one, two in combinations(places, 2):
        is_same = one.address == two.address and one.size == two.size
        is_apart = one.address + one.size <= two.address or two.address + two.size <= one.address
        if not is_same and not is_apart:
            return None
        relations.append(is_same)
    return current.name(), *[each.kind for each in places], *relations
