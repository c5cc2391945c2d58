"""Descriptions of tensors, whose boxes kernels copy.

The bytes are opaque: gridlane's own (``core.tensor_map``), or those of NVIDIA's driver where it
compiles the PTX.
"""

from __future__ import annotations

from dataclasses import replace

from gridlane.abi import raw
from gridlane.abi.calls.pointers import at
from gridlane.abi.calls.registry import implements
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, fail
from gridlane.abi.state import contexts
from gridlane.abi.struct import Struct
from gridlane.core.tensor_map import ALIGN, MOST_DIMENSIONS, Element, TensorMap
from gridlane.launch import current
from gridlane.modules.native import compiles_ptx

_PLAIN = Element.F32_FTZ, Element.TF32_FTZ
_SWIZZLES = 4


@implements("cuTensorMapEncodeTiled")
def encode(
    kind: int,
    rank: int,
    address: int,
    extents_address: int,
    strides_address: int,
    box_address: int,
    steps_address: int,
    interleave: int,
    swizzle: int,
    promotion: int,
    fill: int,
) -> Struct:
    """Describe a tensor, and the box of it that is copied at once."""
    if not 1 <= rank <= MOST_DIMENSIONS:
        fail(INVALID_VALUE, f"a tensor of {rank} dimensions; there are 1 to {MOST_DIMENSIONS}")
    if not (extents_address and box_address and steps_address) or (
        rank > 1 and not strides_address
    ):
        fail(INVALID_VALUE, "the extents, the strides, the box or the steps are null")
    extents = tuple(raw.words(extents_address, rank))
    strides = tuple(raw.words(strides_address, rank - 1)) if rank > 1 else ()
    box, steps = (raw.numbers(each, rank) for each in (box_address, steps_address))
    _check_numbers(kind, interleave, swizzle, promotion, fill)
    new_struct = Struct("CUtensorMap")
    if compiles_ptx(contexts.current().device):
        from gridlane.runtime.drivers.cuda.tensor_maps import encode_tiled

        described = kind, address, extents, strides, box, steps
        new_struct.fill(encode_tiled(*described, interleave, swizzle, promotion, fill))
        return new_struct
    described = address, _element(kind, interleave, swizzle, fill), extents, strides, box
    problem = TensorMap(*described, steps, swizzle, bool(fill)).problem
    if problem:
        fail(INVALID_VALUE, problem)
    description = TensorMap(*described, (1, *steps[1:]), swizzle, bool(fill))
    new_struct.fill(replace(description, room=_room(description)).encode())
    return new_struct


def _element(kind: int, interleave: int, swizzle: int, fill: int) -> Element:
    """The element of a tensor that devices without NVIDIA's driver copy."""
    if interleave:
        fail(NOT_SUPPORTED, "interleaved tensors (CU_TENSOR_MAP_INTERLEAVE_16B and 32B)")
    if kind >= len(Element) or kind in _PLAIN or swizzle >= _SWIZZLES:
        fail(NOT_SUPPORTED, f"tensors of the type {kind} with the swizzle {swizzle}")
    element = Element(kind)
    if fill and not element.is_float:
        fail(INVALID_VALUE, "elements outside of a tensor of integers are 0")
    return element


def _room(of: TensorMap) -> int:
    """The bytes behind a tensor that are of its allocation, below ``ALIGN``; 0 if none is known."""
    found = at(of.address) or current.device().memory.find(of.address, 1)
    if found is None:
        return 0
    left = found.address + found.size - of.address - of.size
    return min(max(left, 0), ALIGN - 1)


def _check_numbers(kind: int, interleave: int, swizzle: int, promotion: int, fill: int) -> None:
    """Verify numbers of enumerations."""
    for value, count, name in (
        (kind, 16, "type of elements"),
        (interleave, 3, "interleave"),
        (swizzle, 7, "swizzle"),
        (promotion, 4, "promotion"),
        (fill, 2, "fill"),
    ):
        if not 0 <= value < count:
            fail(INVALID_VALUE, f"{value} is no {name} of tensors")


@implements("cuTensorMapReplaceAddress")
def replace_address(description: Struct | None, address: int) -> None:
    """Change where a tensor begins."""
    if description is None:
        fail(INVALID_VALUE, "the description of a tensor is null")
    if compiles_ptx(contexts.current().device):
        fail(NOT_SUPPORTED, "descriptions of NVIDIA's driver: encode another one")
    if address % ALIGN or not address:
        fail(INVALID_VALUE, f"the address {address:#x}, which is null or no multiple of 16")
    data = bytearray(bytes(description))
    data[:8] = address.to_bytes(8, "little")
    description.fill(bytes(data))
