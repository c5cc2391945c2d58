"""The tensor maps in the parameter blocks of launches, which no argument fills."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gridlane.core.artifact import Artifact
from gridlane.core.device_errors import INVALID_VALUE, fail
from gridlane.core.tensor_map import SIZE, TensorMap, TensorMapUse

Encode = Callable[[TensorMap], bytes]


class _Place(NamedTuple):
    """A map: what it describes, where it lies, the numbers that it depends on, and their reader."""

    use: TensorMapUse
    offset: int
    numbers: tuple[int, ...]
    read: Callable[[bytes], tuple[int, ...]]


class TensorMaps:
    """The maps of a kernel.

    Args:
        encode: makes the bytes of a map for the device.
    """

    def __init__(self, artifact: Artifact, encode: Encode = TensorMap.encode) -> None:
        self._name, self._encode = artifact.name, encode
        self._places = [_place(artifact, use) for use in artifact.tensor_maps]
        self._known: list[tuple[tuple[int, ...], bytes] | None] = [None] * len(self._places)

    def filled(self, params: bytes) -> bytes:
        """A parameter block with its maps. A map is encoded again if a number has changed.

        Raises:
            DeviceError: INVALID_VALUE, no tensor map describes such a tensor.
        """
        block = bytearray(params)
        for n, place in enumerate(self._places):
            numbers, known = place.read(params), self._known[n]
            if known is None or known[0] != numbers:
                self._known[n] = known = numbers, self._encoded(place, numbers)
            block[place.offset : place.offset + SIZE] = known[1]
        return bytes(block)

    def _encoded(self, place: _Place, numbers: tuple[int, ...]) -> bytes:
        by_parameter = dict(zip(place.numbers, numbers, strict=True))
        described = place.use.of(by_parameter.__getitem__)
        problem = described.problem
        if problem:
            fail(INVALID_VALUE, f"{self._name}: the code is for tensor maps, and has {problem}")
        return self._encode(described)


def _place(artifact: Artifact, use: TensorMapUse) -> _Place:
    """What a launch has to know of a map."""
    slots = artifact.params
    numbers = tuple(sorted(set(use.numbers), key=lambda n: slots[n].offset))
    code, end = "<", 0
    for slot in (slots[n] for n in numbers):
        code += f"{slot.offset - end}x{'Q' if slot.dtype is None else 'q'}"
        end = slot.end
    return _Place(use, slots[use.parameter].offset, numbers, struct.Struct(code).unpack_from)


# --- the driver's function


PROMOTION = 2
"""Lines are fetched into L2 by 128 bytes: CU_TENSOR_MAP_L2_PROMOTION_L2_128B."""
_ALIGN = 64
_ENCODE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_uint,
    *(ctypes.c_void_p,) * 5,
    *(ctypes.c_int,) * 4,
)


def encode_at(
    function: int,
    kind: int,
    address: int,
    extents: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    steps: Sequence[int],
    *enumerations: int,
) -> tuple[int, bytes]:
    """Call cuTensorMapEncodeTiled; its code, and the bytes of the map.

    Args:
        function: its address.
        enumerations: interleave, swizzle, promotion and fill.
    """
    memory = (ctypes.c_ubyte * (SIZE + _ALIGN))()
    start = -ctypes.addressof(memory) % _ALIGN
    words = [(ctypes.c_uint64 * 5)(*each) for each in (extents, strides)]
    spans = [(ctypes.c_uint32 * 5)(*each) for each in (box, steps)]
    where = map(ctypes.addressof, (*words, *spans))
    target = ctypes.addressof(memory) + start
    code = _ENCODE(function)(target, kind, len(box), address, *where, *enumerations)
    return code, bytes(memory[start : start + SIZE])
