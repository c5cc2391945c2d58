"""The meaning of ``ir.ops.mbarriers``: the threads change the word one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.core.frozen import frozen
from gridlane.interp.state import Frame
from gridlane.interp.values import Array, Lanes
from gridlane.ir.op import Op
from gridlane.ir.ops import mbarriers
from gridlane.ir.ops.mbarriers import BYTE_BITS, BYTES, COUNT_BITS, PENDING, PHASE

_WORD = np.dtype(np.uint64)


@frozen
class _State:
    """A barrier."""

    expected: int
    pending: int
    bytes: int
    phase: int

    @staticmethod
    def of(word: int) -> _State:
        count = (1 << COUNT_BITS) - 1
        bytes_ = word >> BYTES & (1 << BYTE_BITS) - 1
        return _State(word & count, word >> PENDING & count, bytes_, word >> PHASE)

    @property
    def word(self) -> int:
        return self.expected | self.pending << PENDING | self.bytes << BYTES | self.phase << PHASE

    def after(self, arrived: int, more: int, dropped: int = 0) -> _State:
        """The barrier after some arrivals, and so many more expected bytes."""
        count = 1 << COUNT_BITS
        expected = (self.expected - dropped) % count
        pending, bytes_ = (self.pending - arrived) % count, (self.bytes + more) % (1 << BYTE_BITS)
        if pending or bytes_:
            return _State(expected, pending, bytes_, self.phase)
        return _State(expected, expected, 0, 1 - self.phase)


def _each(
    frame: Frame, mask: Array, pointer: Array, change: Callable[[int, _State], _State]
) -> Array:
    """Change the word of each active lane; what it was."""
    memory, old = frame.block.launch.memory, np.zeros(len(mask), np.uint64)
    for lane in np.flatnonzero(mask):
        place = pointer[lane : lane + 1]
        old[lane] = memory.gather(place, _WORD)[0]
        word = change(int(lane), _State.of(int(old[lane]))).word
        memory.scatter(place, np.array([word], np.uint64))
    return old


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _init(
    frame: Frame, op: mbarriers.MbarrierInit, mask: Array, pointer: Array, count: Array
) -> None:
    _each(frame, mask, pointer, lambda lane, _: _State(int(count[lane]), int(count[lane]), 0, 0))


def _arrive(
    frame: Frame,
    op: mbarriers.MbarrierArrive,
    mask: Array,
    pointer: Array,
    count: Array,
    bytes_: Array,
) -> Array:
    def change(lane: int, state: _State) -> _State:
        arrived = int(count[lane])
        return state.after(arrived, _signed(int(bytes_[lane])), arrived if op.drops else 0)

    return _each(frame, mask, pointer, change)


def arrive(frame: Frame, mask: Array, pointer: Array, count: Array) -> None:
    """Count arrivals at the barrier of each active lane."""
    _each(frame, mask, pointer, lambda lane, state: state.after(int(count[lane]), 0))


def _expect(
    frame: Frame, op: mbarriers.MbarrierExpect, mask: Array, pointer: Array, bytes_: Array
) -> None:
    expect(frame, mask, pointer, bytes_)


def expect(frame: Frame, mask: Array, pointer: Array, bytes_: Array) -> None:
    """Expect more bytes at the barrier of each active lane."""
    _each(frame, mask, pointer, lambda lane, state: state.after(0, _signed(int(bytes_[lane]))))


def _complete(
    frame: Frame, op: mbarriers.MbarrierComplete, mask: Array, pointer: Array, bytes_: Array
) -> None:
    complete(frame, mask, pointer, bytes_)


def complete(frame: Frame, mask: Array, pointer: Array, bytes_: Array) -> None:
    """Record that bytes have arrived at the barrier of each active lane."""
    _each(frame, mask, pointer, lambda lane, state: state.after(0, -_signed(int(bytes_[lane]))))


def _passed(
    frame: Frame, op: mbarriers.MbarrierPassed, mask: Array, pointer: Array, state: Array
) -> Array:
    now = np.zeros(len(mask), np.uint64)
    now[mask] = frame.block.launch.memory.gather(pointer[mask], _WORD)
    then = state & np.uint32(1) if op.by_parity else state >> np.uint64(PHASE)
    return (now >> np.uint64(PHASE)) != then.astype(np.uint64)


def _pending(frame: Frame, op: mbarriers.MbarrierPending, mask: Array, state: Array) -> Array:
    return (state >> np.uint64(PENDING) & np.uint64((1 << COUNT_BITS) - 1)).astype(np.uint32)


OBSERVE: dict[type[Op], Callable[..., Lanes | None]] = {
    mbarriers.MbarrierInit: _init,
    mbarriers.MbarrierArrive: _arrive,
    mbarriers.MbarrierExpect: _expect,
    mbarriers.MbarrierComplete: _complete,
    mbarriers.MbarrierPassed: _passed,
    mbarriers.MbarrierPending: _pending,
}
