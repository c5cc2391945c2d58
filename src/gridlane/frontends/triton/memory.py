"""Loads and stores through pointers."""

from __future__ import annotations

from typing import Any

from gridlane.frontends.triton.blocks import BlockPointer, load_block, store_block
from gridlane.frontends.triton.casting import converted, is_true
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builder, builtin
from gridlane.frontends.triton.descriptors import tensor_descriptor
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.shapes import as_pointers, broadcast_pair
from gridlane.frontends.triton.types import dtype, pointer_type
from gridlane.frontends.triton.values import member, tensor
from gridlane.ir.builder import constant
from gridlane.ir.ops import tile_memory
from gridlane.ir.ops.memory import LOAD_POLICIES, STORE_POLICIES

_EVICTIONS = ("evict_last", "evict_first")


def policy(modifier: Any, eviction: Any, known: tuple[str, ...]) -> str:
    """PTX's name of a cache policy."""
    name, kept = unwrapped(modifier), unwrapped(eviction)
    if kept and kept not in _EVICTIONS:
        raise ValueError(f"Eviction policy {kept} not supported")
    if not name:
        return ""
    plain = name.removeprefix(".")
    if plain not in known or not name.startswith("."):
        raise ValueError(f"Cache modifier {name} not supported")
    return plain


def element_of(pointer: tensor, where: str) -> dtype:
    """The type that pointers are to."""
    kind = pointer.dtype
    if not isinstance(kind, pointer_type):
        raise ValueError(f"Unsupported ptr type {pointer.type!r} in `{where}`")
    return kind.element_ty


def _optional(value: Any) -> tensor | None:
    plain = unwrapped(value)
    return None if plain is None else to_tensor(plain)


def as_mask(mask: tensor) -> tensor:
    """A mask, which is of conditions."""
    if not mask.dtype.is_bool():
        raise ValueError("Mask must have boolean scalar type")
    return mask


def without_true(mask: tensor | None) -> tensor | None:
    """A mask, None where it is known to hold everywhere."""
    if mask is not None and not mask.shape and constant(mask.handle) is True:
        return None
    return mask


@builtin
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: Any = "",
    cache_modifier: Any = "",
    eviction_policy: Any = "",
    volatile: Any = False,
) -> tensor:
    """The elements at addresses; where the mask does not hold, those of ``other``, or 0."""
    cache = policy(cache_modifier, eviction_policy, LOAD_POLICIES)
    truth, rest = _optional(mask), _optional(other)
    if isinstance(pointer, BlockPointer):
        if truth is not None or rest is not None:
            raise ValueError(
                "`mask` and `other` arguments cannot be specified for loading block pointers"
            )
        return load_block(pointer, boundary_check, unwrapped(padding_option), cache)
    if isinstance(pointer, tensor_descriptor) or not isinstance(pointer, tensor):
        raise ValueError(f"Unsupported ptr type {pointer!r} in `tl.load`")
    kind = element_of(pointer, "tl.load")
    _check_load(pointer, truth, rest, boundary_check, padding_option)
    rest = None if rest is None else converted(rest, kind)
    truth = None if truth is None else as_mask(truth)
    if not pointer.shape:
        return _load_scalar(pointer, kind, truth, rest, bool(unwrapped(volatile)), cache)
    return _load_tile(pointer, kind, truth, rest, bool(unwrapped(volatile)), cache)


def _check_load(
    pointer: tensor, mask: tensor | None, other: tensor | None, checked: Any, padding: Any
) -> None:
    if mask is None and other is not None:
        raise ValueError("`other` cannot be provided without `mask`")
    if unwrapped(padding) or unwrapped(checked):
        raise ValueError(
            "`padding_option` or `boundary_check` argument is not supported for loading a tensor of"
            "pointers or loading a scalar. Because the compiler does not know the boundary; please "
            "use block pointers (defined by `make_block_ptr`) instead"
        )
    for name, value in (("Mask", mask), ("Other", other)):
        if not pointer.shape and value is not None and value.shape:
            raise ValueError(
                f"{name} argument cannot be block type if pointer argument is not a block"
            )


def _load_tile(
    pointer: tensor,
    kind: dtype,
    mask: tensor | None,
    other: tensor | None,
    volatile: bool,
    cache: str,
) -> tensor:
    mask = without_true(mask)
    if mask is not None:
        pointer, mask = broadcast_pair(pointer, mask)
    if other is not None:
        pointer, other = broadcast_pair(pointer, other)
    if mask is not None:
        pointer, mask = broadcast_pair(pointer, mask)
    masks = () if mask is None else (mask.handle,)
    others = () if other is None or mask is None else (other.handle,)
    op = tile_memory.TileLoad(pointer.handle, masks, others, volatile, cache)
    return tensor(builder().value(op), pointer.type.with_element_ty(kind))


def _load_scalar(
    pointer: tensor,
    kind: dtype,
    mask: tensor | None,
    other: tensor | None,
    volatile: bool,
    cache: str,
) -> tensor:
    b, mask = builder(), without_true(mask)
    if mask is None:
        return tensor(b.load(pointer.handle, volatile, cache), kind)
    var = b.variable("loaded", b.zero(_pointee(pointer)).type)
    b.write(var, b.zero(var.type) if other is None else other.handle)
    with b.if_(is_true(mask)):
        b.write(var, b.load(pointer.handle, volatile, cache))
    return tensor(b.read(var), kind)


def _pointee(pointer: tensor) -> Any:
    return pointer.handle.type.element  # type: ignore[union-attr]  # a pointer


@member
@builtin
def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: Any = "",
    eviction_policy: Any = "",
) -> None:
    """Write elements to addresses, where the mask holds, converted to the type there."""
    cache = policy(cache_modifier, eviction_policy, STORE_POLICIES)
    new, truth = to_tensor(value), _optional(mask)
    if isinstance(pointer, BlockPointer):
        if truth is not None:
            raise ValueError(
                "`mask` and `other` arguments cannot be specified for loading block pointers"
            )
        store_block(pointer, new, boundary_check, cache)
        return
    if not isinstance(pointer, tensor):
        raise ValueError(f"Unsupported ptr type {pointer!r} in `tl.store`")
    kind = element_of(pointer, "tl.store")
    if pointer.dtype.is_const():
        raise ValueError("Cannot store to a constant pointer")
    if unwrapped(boundary_check):
        raise ValueError(
            "`boundary_check` argument is not supported for storing a tensor of pointers or "
            "storing a scalar. Because the compiler does not know the boundary; please use block "
            "pointers (defined by `make_block_ptr`) instead"
        )
    truth = None if truth is None else as_mask(truth)
    if pointer.shape:
        _store_tile(pointer, kind, new, truth, cache)
        return
    for name, each in (("Value", new), ("Mask", truth)):
        if each is not None and each.shape:
            raise ValueError(
                f"{name} argument cannot be block type if pointer argument is not a block"
            )
    _store_scalar(pointer, converted(new, kind), truth, cache)


def _store_tile(
    pointer: tensor, kind: dtype, value: tensor, mask: tensor | None, cache: str
) -> None:
    mask = without_true(mask)
    given = [converted(value, kind)] if mask is None else [converted(value, kind), mask]
    new, *masks = as_pointers(pointer, *given)
    held = tuple([each.handle for each in masks])
    builder().emit(tile_memory.TileStore(pointer.handle, new.handle, held, cache))


def _store_scalar(pointer: tensor, value: tensor, mask: tensor | None, cache: str) -> None:
    b, mask = builder(), without_true(mask)
    if mask is None:
        b.store(pointer.handle, value.handle, cache=cache)
        return
    with b.if_(is_true(mask)):
        b.store(pointer.handle, value.handle, cache=cache)


@builtin
def load_tensor_descriptor(desc: tensor_descriptor, offsets: Any) -> tensor:
    """The block of a descriptor at offsets."""
    return desc.load(offsets)


@builtin
def store_tensor_descriptor(desc: tensor_descriptor, offsets: Any, value: tensor) -> None:
    """Write the block of a descriptor at offsets."""
    desc.store(offsets, value)
