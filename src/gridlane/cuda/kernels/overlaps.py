"""Arguments of one launch that alias in host memory, on a device that copies it.

They share one copy: a kernel sees its writes through every aliasing argument, and no stale
read-only copy is copied back over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gridlane.core.errors import ArgumentError
from gridlane.core.frozen import frozen
from gridlane.cuda.arrays.devicearray import DeviceNDArray, to_device
from gridlane.cuda.kernels.hints import Hint
from gridlane.launch import geometry
from gridlane.memory.resource import Buffer

_STEPS = 256
"""The alignment of device memory."""
_MOST_WORK = 10_000
"""The limit of numpy's search for an element that two arrays share."""


class Writebacks(list[Callable[[], object]]):
    """Copies the writes of a kernel back to the host, for one launch.

    Attributes:
        shared: by the id of an argument, (memory, address) of its part of a shared copy.
    """

    __slots__ = ("shared",)

    def __init__(self) -> None:
        super().__init__()
        self.shared: dict[int, tuple[Buffer, int]] = {}


@frozen
class _Part:
    """An argument's memory.

    Attributes:
        owner: the argument.
        array: its elements, on the host.
        low, high: addresses of the first byte and of the end.
        direct: whether the device uses it in place.
    """

    owner: Any
    array: np.ndarray
    low: int
    high: int
    direct: bool


def share(args: Sequence[Any], back: Writebacks, is_direct: Callable[[np.ndarray], bool]) -> None:
    """Copy aliasing arguments to the device, and note the copy in ``back``.

    Args:
        is_direct: whether the device uses an array of the host in place.

    Raises:
        ArgumentError: no copy has all elements where the device can read them.
    """
    parts = [part for value in args for part in _parts(value, is_direct)]
    if len(parts) < 2:
        return
    parts.sort(key=_low)
    group, high = [parts[0]], parts[0].high
    for part in parts[1:]:
        if part.low < high:
            group.append(part)
        else:
            _copy(group, back)
            group = [part]
        high = max(high, part.high)
    _copy(group, back)


def _low(part: _Part) -> int:
    return part.low


def _parts(value: Any, is_direct: Callable[[np.ndarray], bool]) -> Iterator[_Part]:
    if isinstance(value, np.ndarray):
        if value.size:
            yield _part(value, value, is_direct(value))
    elif isinstance(value, tuple):
        for item in value:
            yield from _parts(item, is_direct)
    elif isinstance(value, Hint):
        if type(value).copy_out:  # a lone input-only argument is copied on every device
            yield from _parts(value.value, is_direct)
    elif isinstance(value, np.void) and value.dtype.names:
        record = record_array(value)
        yield _part(value, record, is_direct(record))


def record_array(record: np.void) -> np.ndarray:
    """An array over the memory of a record."""
    address = geometry.address_of(np.frombuffer(record, np.uint8))
    return geometry.view_of(address, (), (), record.dtype, record)


def _part(owner: Any, array: np.ndarray, direct: bool) -> _Part:
    address = geometry.address_of(array)
    if array.flags.c_contiguous:
        return _Part(owner, array, address, address + array.nbytes, direct)
    low, high = geometry.extent_of(array.shape, array.strides, array.dtype.itemsize)
    return _Part(owner, array, address + low, address + high, direct)


def _copy(group: list[_Part], back: Writebacks) -> None:
    """Create one copy for arguments whose ranges of memory overlap."""
    if len(group) < 2 or all(part.direct for part in group):
        return
    step = _aligned(group)
    if step is None:
        _check_apart(group)
        return
    low, high = group[0].low - step, max(part.high for part in group)
    whole = next((part for part in group if _is_whole(part, low, high)), None)
    memory, write_back = _copied(group, low, high) if whole is None else _copied_whole(whole)
    for part in group:
        address = memory.address + geometry.address_of(part.array) - low
        back.shared[id(part.owner)] = memory.buffer, address
    back.append(write_back)


def _aligned(group: list[_Part]) -> int | None:
    """The padding before the arguments' first byte that aligns the elements of all; None if there
    is none."""
    if any(part.direct or not geometry.is_stepping_aligned(part.array) for part in group):
        return None
    low = group[0].low
    needs = {
        (geometry.address_of(part.array) - low, geometry.alignment_of(part.array.dtype))
        for part in group
    }
    most = max(alignment for _, alignment in needs)
    for step in range(min(most, _STEPS)):
        if all((at + step) % alignment == 0 for at, alignment in needs):
            return step
    return None


def _check_apart(group: list[_Part]) -> None:
    """Raise if arguments share elements, not only ranges."""
    for number, one in enumerate(group):
        for other in group[:number]:
            if not (one.direct and other.direct) and _share_elements(one.array, other.array):
                raise ArgumentError(
                    f"the arguments {_told(other.array)} and {_told(one.array)} overlap in memory "
                    "and cannot share a copy: what is aligned for one is not for the other; pass "
                    "copies whose elements are aligned, as array.copy() is"
                )


def _told(array: np.ndarray) -> str:
    return f"{array.dtype} array of shape {array.shape}"


def _share_elements(one: np.ndarray, other: np.ndarray) -> bool:
    most: Any = _MOST_WORK  # numpy's stubs know two numbers only
    try:
        return np.shares_memory(one, other, max_work=most)
    except np.exceptions.TooHardError:
        return True


def _is_whole(part: _Part, low: int, high: int) -> bool:
    """Whether an argument covers the whole memory with contiguous elements."""
    flags = part.array.flags
    in_order = flags.c_contiguous or flags.f_contiguous
    return in_order and flags.writeable and (part.low, part.high) == (low, high)


def _copied_whole(part: _Part) -> tuple[DeviceNDArray, Callable[[], object]]:
    host = part.array.view(np.ndarray)
    memory = to_device(host)
    return memory, lambda: memory.copy_to_host(host)


def _copied(group: list[_Part], low: int, high: int) -> tuple[DeviceNDArray, Callable[[], object]]:
    """A copy of a group's memory. Bytes between its elements are not the arguments'."""
    raw = np.zeros(high - low, np.uint8)
    pairs = [(part.array, _mirror(part.array, raw, low)) for part in group]
    for array, mirror in pairs:
        mirror[...] = array
    memory = to_device(raw)

    def write_back() -> None:
        memory.copy_to_host(raw)
        for array, mirror in pairs:
            if array.flags.writeable:
                array[...] = mirror

    return memory, write_back


def _mirror(array: np.ndarray, raw: np.ndarray, low: int) -> np.ndarray:
    """The elements of an array in a copy of memory that begins at ``low``."""
    offset = geometry.address_of(array) - low
    return np.ndarray(array.shape, array.dtype, raw, offset, array.strides)
