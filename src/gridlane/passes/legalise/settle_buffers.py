"""Finds the buffer of each pointer into global memory, for devices whose memory is several buffers.

A pointer is in the buffer of the parameter that it derives from, which ``Module.buffers`` names. A
pointer that a kernel computes from a number, or loads, may be in any. Where all parameters are in
the first buffer, nothing changes.
"""

from __future__ import annotations

from typing import NamedTuple

from gridlane.core.errors import TargetError
from gridlane.core.shader_abi import located
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, memory
from gridlane.ir.types import PointerType, Space, pointer
from gridlane.ir.values import Function, Module, Region
from gridlane.passes.legalise.settle_spaces import CHOICES, Item, nulls, sources

_ADVICE = (
    "the device's memory is several buffers, and a pointer has to be in one known before: write a "
    "branch for each, or allocate these arrays before others, so that both are in the first buffer"
)


def settle_buffers(module: Module) -> None:
    """Set the buffer in the types of a kernel's pointers; its calls are inlined.

    Notes in ``Module.untraced`` whether it makes pointers of numbers or of memory.

    Raises:
        TargetError: a pointer may be in two buffers, or in an unknown one, or the source refers to
            an array outside of the first buffer.
    """
    kernel = module.kernel
    for op in kernel.body.walk():
        if _is_untraced(op):
            module.untraced = True
            if module.buffers:
                raise TargetError(f"a pointer is made of a number or of memory; {_ADVICE}", op.loc)
    if module.buffers:
        buffers = _Buffers(kernel, module.buffers)
        for param in kernel.params:
            if _is_global(param.value):
                param.value.type = buffers.settled(param.value)
        _settle(kernel.body, buffers)
        for var in kernel.variables:
            if _is_global(var):
                var.type = buffers.settled(var)


def _is_untraced(op: Op) -> bool:
    """Whether an op makes a pointer whose buffer is unknown.

    Raises:
        TargetError: the number is an array of the source, outside of the first buffer.
    """
    if isinstance(op, memory.Load):
        return isinstance(op.result.type, PointerType)
    if not isinstance(op, memory.FromAddress):
        return False
    number = op.value.op
    if isinstance(number, arith.Const) and located(int(number.value))[0]:
        raise TargetError(
            "an array that the kernel refers to is not in the first buffer of the device's memory: "
            "pass it as an argument, or allocate it before the others",
            op.loc,
        )
    return not isinstance(number, arith.Const)


def _is_global(item: Item) -> bool:
    own = item.type
    return isinstance(own, PointerType) and own.space in (Space.GENERIC, Space.GLOBAL)


class _Found(NamedTuple):
    """The place of a pointer's buffer, and the name of the parameter that it derives from."""

    place: int
    origin: str


class _Buffers:
    """The buffer of each pointer of a kernel."""

    def __init__(self, kernel: Function, places: tuple[int, ...]) -> None:
        params = [p.value for p in kernel.params if isinstance(p.value.type, PointerType)]
        if len(params) != len(places):
            message = f"{kernel.name} has {len(params)} pointers, and buffers are given for"
            raise TargetError(f"{message} {len(places)}")
        self.known: dict[Item, _Found] = {
            value: _Found(place, value.name.partition(".")[0])
            for value, place in zip(params, places)
        }
        for op in kernel.body.walk():
            if isinstance(op, memory.FromAddress):
                self.known[op.results[0]] = _Found(0, "an array of the source")
        ops = [op for op in kernel.body.walk() if any(map(_is_global, sources(op)))]
        while any([self._visit(op) for op in ops]):
            pass

    def settled(self, item: Item) -> PointerType:
        """The type of a pointer, with its buffer."""
        own = item.type
        assert isinstance(own, PointerType)
        buffer = self.known.get(item)
        return pointer(own.element, own.space, buffer.place) if buffer else own

    def _visit(self, op: Op) -> bool:
        """Record the buffer that an op implies; whether it is new."""
        items: list[Item] = [op.var] if isinstance(op, memory.WriteVar) else list(op.results)
        targets = [item for item in items if _is_global(item)]
        buffers = [self.known[item] for item in (*targets, *sources(op)) if item in self.known]
        if isinstance(op, memory.Store):
            buffers = []  # the stored pointer may be in another buffer than its place
        for other in buffers[1:]:
            if other.place != buffers[0].place:
                raise TargetError(
                    f"a pointer may be to {buffers[0].origin!r} and to {other.origin!r}, which are "
                    f"in two buffers; {_ADVICE}",
                    op.loc,
                )
        new = [item for item in targets if item not in self.known] if buffers else []
        self.known.update(dict.fromkeys(new, buffers[0]) if new else {})
        return bool(new)


def _settle(region: Region, buffers: _Buffers) -> None:
    """Replace the types of a region's pointers, and the nulls among an op's operands."""
    ops: list[Op] = []
    for op in region.ops:
        if isinstance(op, CHOICES):
            ops += nulls(op, buffers.settled)
        for value in op.results:
            if _is_global(value):
                value.type = buffers.settled(value)
        own = getattr(op, "type", None)
        if isinstance(own, PointerType):
            op.type = op.results[0].type  # type: ignore[attr-defined]  # it has one
        ops.append(op)
        for inner in op.regions():
            _settle(inner, buffers)
    region.ops = ops
