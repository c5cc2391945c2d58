"""Atomic updates of memory."""

from __future__ import annotations

from typing import Any

from gridlane.frontends.triton.casting import cast, converted, is_true
from gridlane.frontends.triton.constants import unwrapped
from gridlane.frontends.triton.context import builder, builtin
from gridlane.frontends.triton.creation import full
from gridlane.frontends.triton.numbers import to_tensor
from gridlane.frontends.triton.shapes import as_pointers
from gridlane.frontends.triton.types import dtype, pointer_type, require_arithmetic
from gridlane.frontends.triton.values import member, tensor
from gridlane.ir.builder import constant
from gridlane.ir.ops import atomic, tile_memory
from gridlane.ir.ops.atomic import AtomicKind
from gridlane.ir.ops.grid import MemoryOrder, MemoryScope

_KINDS = {
    "add": AtomicKind.ADD,
    "min": AtomicKind.MIN,
    "max": AtomicKind.MAX,
    "and": AtomicKind.AND,
    "or": AtomicKind.OR,
    "xor": AtomicKind.XOR,
    "xchg": AtomicKind.EXCHANGE,
}
_BITWISE = ("and", "or", "xor")
_ORDERS = {
    "relaxed": MemoryOrder.RELAXED,
    "acquire": MemoryOrder.ACQUIRE,
    "release": MemoryOrder.RELEASE,
    "acq_rel": MemoryOrder.ACQ_REL,
}
_SCOPES = {"gpu": MemoryScope.DEVICE, "cta": MemoryScope.BLOCK, "sys": MemoryScope.SYSTEM}


def _named(table: dict[str, Any], name: Any, default: str) -> Any:
    plain = unwrapped(name) or default
    if plain not in table:
        raise ValueError(f"Memory semantic {plain} not supported")
    return table[plain]


def _element(pointer: tensor, name: str) -> dtype:
    kind = pointer.dtype
    if not isinstance(kind, pointer_type):
        raise ValueError(f"Pointer argument of store instruction is {pointer.type!r}")
    if kind.is_const():
        raise ValueError("Cannot store to a constant pointer")
    element = kind.element_ty
    require_arithmetic(element, f"atomic_{name}")
    if name != "add" and element.name in ("fp16", "bf16"):
        raise ValueError(f"atomic_{name} does not support {element}")
    if element.is_int() and element.int_bitwidth < 32:
        raise ValueError(f"atomic_{name} does not support {element}")
    if name in _BITWISE and not element.is_int():
        raise ValueError(f"atomic_{name} does not support {element}")
    return element


def update(
    name: str, pointer: tensor, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
) -> tensor:
    """Read, change and write what is at addresses; the old values."""
    kind = _element(pointer, name)
    value = converted(to_tensor(val), kind)
    truth = unwrapped(mask)
    truth = None if truth is None else to_tensor(truth)
    if truth is not None and not truth.dtype.is_bool():
        raise ValueError("Mask must have boolean scalar type")
    order, where = _named(_ORDERS, sem, "acq_rel"), _named(_SCOPES, scope, "gpu")
    if pointer.shape:
        given = [value] if truth is None else [value, truth]
        value, *rest = as_pointers(pointer, *given)
        masks = tuple([each.handle for each in rest])
        op = tile_memory.TileAtomic(_KINDS[name], pointer.handle, value.handle, masks, order, where)
        return tensor(builder().value(op), value.type)
    if value.shape or (truth is not None and truth.shape):
        raise ValueError("Value argument cannot be block type if pointer argument is not a block")
    op = atomic.Atomic(_KINDS[name], pointer.handle, value.handle, order, where)
    b = builder()
    if truth is None or constant(truth.handle) is True:
        return tensor(b.value(op), kind)
    old = b.variable("old", value.handle.type)
    b.write(old, b.zero(old.type))
    with b.if_(is_true(truth)):
        b.write(old, b.value(op))
    return tensor(b.read(old), kind)


def _define(name: str) -> Any:
    def function(
        pointer: tensor, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
    ) -> tensor:
        return update(name, pointer, val, mask, sem, scope)

    function.__name__ = f"atomic_{name}"
    function.__doc__ = f"Atomic {name} at addresses; the old values."
    return member(builtin(function))


atomic_add, atomic_min, atomic_max = map(_define, ("add", "min", "max"))
atomic_and, atomic_or, atomic_xor = map(_define, _BITWISE)
atomic_xchg = _define("xchg")


def _order(name: str, sem: Any, default: str) -> str:
    plain = unwrapped(sem) or default
    if plain not in (default, "relaxed"):
        raise ValueError(f"atomic_{name} only supports {default} and relaxed semantics")
    return plain


def _bits(pointer: tensor, name: str) -> tuple[tensor, dtype, dtype]:
    """Pointers to the bits of elements, the elements' type and that of the bits."""
    kind = _element(pointer, name)
    if kind.is_int():
        return pointer, kind, kind
    bits = dtype(f"int{kind.primitive_bitwidth}")
    return cast(pointer, pointer_type(bits), bitcast=True), kind, bits


@member
@builtin
def atomic_load(pointer: tensor, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """Read what is at addresses, by an update that changes no bit."""
    order = _order("load", sem, "acquire")
    bits, kind, plain = _bits(pointer, "load")
    zeros = full(pointer.shape, 0, plain) if pointer.shape else cast(0, plain)
    found = update("or", bits, zeros, mask, order, scope)
    return found if kind is plain else cast(found, kind, bitcast=True)


@member
@builtin
def atomic_store(
    pointer: tensor, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
) -> None:
    """Write values to addresses."""
    order = _order("store", sem, "release")
    bits, kind, plain = _bits(pointer, "store")
    value = converted(to_tensor(val), kind)
    update(
        "xchg",
        bits,
        value if kind is plain else cast(value, plain, bitcast=True),
        mask,
        order,
        scope,
    )


@member
@builtin
def atomic_poll(
    pointer: tensor, expected_value: Any, sem: Any = None, scope: Any = None, timeout_ns: Any = None
) -> tensor:
    """Refused: a program would wait for another one, which a device need not run meanwhile."""
    raise NotImplementedError(
        "atomic_poll waits for other programs, and devices run them in any order; launch again "
        "where one program needs what another has written"
    )


@member
@builtin
def atomic_cas(pointer: tensor, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> tensor:
    """Write ``val`` where memory holds ``cmp``; the old values."""
    kind = pointer.dtype
    if not isinstance(kind, pointer_type):
        raise ValueError(f"Pointer argument of store instruction is {pointer.type!r}")
    element = kind.element_ty
    if element.primitive_bitwidth not in (16, 32, 64):
        raise ValueError("atomic_cas only supports elements with width {16, 32, 64}")
    expected, desired = [converted(to_tensor(each), element) for each in (cmp, val)]
    order, where = _named(_ORDERS, sem, "acq_rel"), _named(_SCOPES, scope, "gpu")
    if not pointer.shape:
        op = atomic.AtomicCas(pointer.handle, expected.handle, desired.handle, order, where)
        return tensor(builder().value(op), element)
    expected, desired = as_pointers(pointer, expected, desired)
    tile_op = tile_memory.TileAtomicCas(
        pointer.handle, expected.handle, desired.handle, order, where
    )
    return tensor(builder().value(tile_op), desired.type)
