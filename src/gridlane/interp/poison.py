"""What depends on undefined values, bit by bit, and where it must not arrive.

A value that the program has not given (``Const.undefined``) is poison: each of its bits may be
anything. Each call of a function keeps, beside its values, the bits of them that depend on such
ones (``bits.py`` has the rules); memory of the thread's own keeps them too. Where they reach what
decides the way of a thread, or what others see, it is an error.

N. Nethercote and J. Seward, "How to Shadow Every Byte of Memory Used by a Program", VEE 2007, do
the same for machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from gridlane.core.errors import KernelError
from gridlane.core.frozen import frozen
from gridlane.core.source import describe
from gridlane.interp.access import pick, spread
from gridlane.interp.bits import RULES, Bits, anywhere, blank, marked
from gridlane.interp.memory import Fault
from gridlane.interp.shadow import ShadowMemory
from gridlane.interp.state import Block, Frame
from gridlane.interp.values import WARP, Array, merged
from gridlane.interp.warp import OBSERVE, packed
from gridlane.ir.op import Op
from gridlane.ir.ops import (
    arith,
    atomic,
    control,
    copies,
    grid,
    matrix,
    memory,
    memory_products,
    mma_memory,
    tensors,
    warp,
    warpgroups,
)
from gridlane.ir.types import Space
from gridlane.ir.values import Function, Module, Value, Var


@frozen
class Taint:
    """The bits of a value that are poison, and the undefined value that they depend on, or one of
    several."""

    bits: Bits
    source: Op


def has_undefined(module: Module) -> bool:
    """Whether a module has undefined values."""
    ops = (op for function in module.functions.values() for op in function.body.walk())
    return any(isinstance(op, arith.Const) and op.undefined for op in ops)


class Poison:
    """The poison of a call of a function.

    Args:
        memory: the poison of local memory, which all calls of the launch share.

    Attributes:
        of: that of values; also of lanes that an op's last run left out.
        results: that of the function's results.
    """

    def __init__(self, memory: ShadowMemory) -> None:
        self.memory = memory
        self.of: dict[Value, Taint] = {}
        self.variables: dict[Var, Taint] = {}
        self.results: dict[int, Taint] = {}

    def track(self, frame: Frame, op: Op, mask: Array) -> None:
        """Note what an op does with poison, before it runs.

        Raises:
            KernelError: poison reaches a branch, or what others see.
        """
        if self.of:
            for name, use in _SINKS.get(type(op), ()):
                self.refuse(frame.block, op, mask, getattr(op, name), use)
        rule = _RULES.get(type(op))
        if rule is not None:
            rule(self, frame, op, mask)
        elif self.of:
            self.compute(frame, op, mask)

    def entered(self, op: control.Call, callee: Function) -> Poison:
        """The poison of a call that begins: of its arguments."""
        poison = Poison(self.memory)
        for param, value in zip(callee.params, op.arguments, strict=True):
            if value in self.of:
                poison.of[param.value] = self.of[value]
        return poison

    def left(self, op: control.Call, inner: Poison, mask: Array) -> None:
        """Note the poison of what a call has returned."""
        for number, value in enumerate(op.results):
            _put(self.of, value, value, inner.results.get(number), mask)

    # --- errors

    def refuse(
        self, block: Block, op: Op, mask: Array, given: Value | tuple[Value, ...], message: str
    ) -> None:
        """Raise KernelError if an operand, or one of several, is poison in an active lane."""
        for value in given if isinstance(given, tuple) else (given,):
            taint = self.of.get(value)
            if taint is None or not (lanes := mask & anywhere(taint.bits)).any():
                continue
            name = taint.source.results[0].name
            which = f"%{name}, which is" if name else "what is"
            place = f"block {block.index}, thread {block.thread(int(lanes.argmax()))}"
            text = (
                f"{op.name}: {message} depends on {which} read before it is written, so it may be "
                f"anything (at {op.loc}; {place})"
            )
            raise KernelError("\n".join(filter(None, (text, describe(op.loc)))))

    # --- ops without a rule of their own

    def compute(self, frame: Frame, op: Op, mask: Array) -> None:
        """Propagate the poison of an op's operands to its results."""
        operands = list(op.operands())
        taint = next((self.of[value] for value in operands if value in self.of), None)
        if taint is None:
            self.clear(op, mask)
            return
        rule = RULES.get(type(op))
        result_bits = rule and rule(
            op,
            [frame.values[value] for value in operands],
            [self.bits(frame, value) for value in operands],
        )
        if result_bits is not None:
            _put(self.of, op.result, op.result, Taint(result_bits, taint.source), mask)
            return
        known = [self.of[value].bits for value in operands if value in self.of]
        hit = mask & np.logical_or.reduce([anywhere(bits) for bits in known])
        if not hit.any():
            self.clear(op, mask)
            return
        if op.barrier:
            hit = np.ones_like(hit)
        elif op.cross_lane:
            hit = _members(frame, op, mask) & packed(hit) != 0
        for value in op.results:
            _put(self.of, value, value, Taint(marked(value.type, hit), taint.source), mask)

    def clear(self, op: Op, mask: Array) -> None:
        """Note that the results of an op have no poison."""
        for value in op.results:
            _put(self.of, value, value, None, mask)

    def bits(self, frame: Frame, value: Value) -> Bits:
        """The bits of a value that are poison."""
        taint = self.of.get(value)
        return blank(value.type, frame.block.lanes) if taint is None else taint.bits


def _put(
    taints: dict[Any, Taint], key: Value | Var | int, like: Value, taint: Taint | None, mask: Array
) -> None:
    """Set the poison at a place in the active lanes, None for no poison; ``like`` has its type."""
    old = taints.get(key)
    if taint is None and old is None:
        return
    none = blank(like.type, len(mask))
    new_bits = merged(mask, taint.bits if taint else none, old.bits if old else none)
    kept = taint or old
    if kept is None or not anywhere(new_bits).any():
        taints.pop(key, None)
    else:
        taints[key] = Taint(new_bits, kept.source)


def _members(frame: Frame, op: Op, mask: Array) -> Array:
    """For each lane, the u32 of the lanes that take part with it in an op of the warp."""
    named: Value | None = getattr(op, "mask", None)
    active = packed(mask)
    return active if named is None else active & frame.values[named]


# --- ops with a rule of their own


def _const(poison: Poison, frame: Frame, op: arith.Const, mask: Array) -> None:
    if op.undefined:
        taint = Taint(marked(op.type, np.ones_like(mask)), op)
        _put(poison.of, op.result, op.result, taint, mask)


def _read(poison: Poison, frame: Frame, op: memory.ReadVar, mask: Array) -> None:
    _put(poison.of, op.result, op.result, poison.variables.get(op.var), mask)


def _write(poison: Poison, frame: Frame, op: memory.WriteVar, mask: Array) -> None:
    _put(poison.variables, op.var, op.value, poison.of.get(op.value), mask)


def _return(poison: Poison, frame: Frame, op: control.Return, mask: Array) -> None:
    for number, value in enumerate(op.values):
        _put(poison.results, number, value, poison.of.get(value), mask)


def _store(poison: Poison, frame: Frame, op: memory.Store, mask: Array) -> None:
    taint = poison.of.get(op.value)
    if memory.space_of(op.pointer) is not Space.LOCAL:
        poison.refuse(frame.block, op, mask, op.value, "the value stored")
        return
    if taint is not None:
        poison.memory.source = taint.source
    if poison.memory.source is None:
        return
    addresses, bits = frame.values[op.pointer], poison.bits(frame, op.value)
    assert isinstance(addresses, np.ndarray)
    with suppress(Fault):  # the op itself raises it, with its place
        poison.memory.write(addresses[mask], pick(mask, bits), op.value.type)


def _load(poison: Poison, frame: Frame, op: memory.Load, mask: Array) -> None:
    source, type_ = poison.memory.source, op.result.type
    if source is None or memory.space_of(op.pointer) is not Space.LOCAL:
        poison.clear(op, mask)
        return
    addresses = frame.values[op.pointer]
    assert isinstance(addresses, np.ndarray)
    with suppress(Fault):
        read = poison.memory.read(addresses[mask], type_)
        bits = spread(mask, read, blank(type_, frame.block.lanes))
        _put(poison.of, op.result, op.result, Taint(bits, source), mask)


def _shuffle(poison: Poison, frame: Frame, op: warp.Shuffle, mask: Array) -> None:
    """The poison of the lane that is read; everything where that lane is not known."""
    taints = [poison.of[value] for value in (op.value, op.lane, op.width) if value in poison.of]
    if not taints:
        poison.clear(op, mask)
        return
    values = [frame.values[value] for value in (op.mask, op.lane, op.width)]
    bits, lane, width = (poison.bits(frame, value) for value in (op.value, op.lane, op.width))
    moved = OBSERVE[warp.Shuffle](frame, op, mask, values[0], bits, *values[1:])
    assert moved is not None
    unknown = anywhere(lane) | anywhere(width)
    got, inside = op.results
    result_bits = merged(unknown, marked(got.type, unknown), moved[0])
    _put(poison.of, got, got, Taint(result_bits, taints[0].source), mask)
    _put(poison.of, inside, inside, Taint(unknown, taints[0].source), mask)


def _vote(poison: Poison, frame: Frame, op: warp.Vote, mask: Array) -> None:
    """Each bit of a ballot is of one lane."""
    taint = poison.of.get(op.predicate)
    if taint is None or op.mode is not warp.VoteMode.BALLOT:
        poison.compute(frame, op, mask)
        return
    assert isinstance(taint.bits, np.ndarray)
    bits = _members(frame, op, mask) & packed(taint.bits)
    _put(poison.of, op.result, op.result, Taint(bits, taint.source), mask)


def _warpgroup(poison: Poison, frame: Frame, op: warpgroups.WarpgroupMma, mask: Array) -> None:
    """Sums that the product is not added to count for nothing."""
    if op.in_memory:
        poison.refuse(frame.block, op, mask, op.a, "the address")
    scale = frame.values[op.scale]
    assert isinstance(scale, np.ndarray)
    known = [poison.of[v] for v in (*op.a, *(op.c if scale[mask].any() else ())) if v in poison.of]
    if not known:
        poison.clear(op, mask)
        return
    lanes = np.logical_or.reduce([anywhere(taint.bits) for taint in known]) & mask
    hit = np.repeat(lanes.reshape(-1, WARP).any(axis=1), WARP)
    for value in op.results:
        _put(poison.of, value, value, Taint(marked(value.type, hit), known[0].source), mask)


def _nothing(poison: Poison, frame: Frame, op: Op, mask: Array) -> None:
    """``left`` notes the results of a call."""


_RULES: dict[type[Op], Callable[[Poison, Frame, Any, Array], None]] = {
    arith.Const: _const,
    control.Call: _nothing,
    control.Return: _return,
    memory.Load: _load,
    memory.ReadVar: _read,
    memory.Store: _store,
    memory.WriteVar: _write,
    warp.Shuffle: _shuffle,
    warp.Vote: _vote,
    warpgroups.WarpgroupMma: _warpgroup,
}

_LANES = (("mask", "the mask of lanes"),)
_ATOMIC = "an operand of the atomic"
_PART = (("number", "the barrier's number"), ("count", "the barrier's count"))
_PRODUCT = tuple([(name, "the address") for name in ("left", "right", "sums")])
_FRAGMENT = "an operand of the warp's matrix"
_TENSOR = (("map", "the address"), ("box", "the address"), ("coordinates", "the place"))

_SINKS: dict[type[Op], tuple[tuple[str, str], ...]] = {
    control.If: (("condition", "the condition of the branch"),),
    control.Print: (("arguments", "what is printed"),),
    memory.Load: (("pointer", "the address"),),
    memory.Store: (("pointer", "the address"),),
    atomic.Atomic: (("pointer", "the address"), ("value", _ATOMIC)),
    atomic.AtomicCas: (("pointer", "the address"), ("expected", _ATOMIC), ("desired", _ATOMIC)),
    atomic.AtomicCasPair: (
        ("pointer", "the address"),
        *((name, _ATOMIC) for name in ("expected_low", "expected_high")),
        *((name, _ATOMIC) for name in ("desired_low", "desired_high")),
    ),
    copies.AsyncCopy: (("target", "the address"), ("source", "the address")),
    grid.BarrierPart: _PART,
    grid.BarrierArrive: _PART,
    grid.SyncWarp: _LANES,
    warp.Shuffle: _LANES,
    warp.Vote: _LANES,
    warp.MatchAny: _LANES,
    warp.MatchAll: _LANES,
    warp.WarpReduce: _LANES,
    matrix.FragmentFill: (("value", _FRAGMENT),),
    matrix.FragmentLoad: (("pointer", "the address"), ("stride", "the address")),
    matrix.FragmentStore: (("pointer", "the address"), ("stride", "the address")),
    matrix.FragmentScale: (("factor", _FRAGMENT),),
    memory_products.WarpProduct: _PRODUCT,
    mma_memory.MmaLoad: (("pointer", "the address"), ("stride", "the address")),
    mma_memory.MmaStore: (
        ("pointer", "the address"),
        ("stride", "the address"),
        ("values", "the value stored"),
    ),
    tensors.TensorLoad: (
        ("map", "the address"),
        ("box", "the address"),
        ("coordinates", "the place"),
    ),
    tensors.TensorStore: (
        ("map", "the address"),
        ("box", "the address"),
        ("coordinates", "the place"),
    ),
    tensors.TensorReduce: (
        ("map", "the address"),
        ("box", "the address"),
        ("coordinates", "the place"),
    ),
    warpgroups.WarpgroupMma: (
        ("b", "the address"),
        ("layout", "the address"),
        ("scale", "whether there is a sum"),
    ),
}
"""Operands that take no poison, and what the error calls them. Of a store also the value, unless it
is in local memory. A fragment is never poison: what it is made of takes none."""
