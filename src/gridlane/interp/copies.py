"""The meaning of ``ir.ops.copies``. A copy is done as late as possible, at the wait that covers it,
so that a missing wait shows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gridlane.interp.in_flight import Started
from gridlane.interp.state import Frame
from gridlane.interp.values import Array
from gridlane.ir.op import Op
from gridlane.ir.ops import copies


def _copy(frame: Frame, op: copies.AsyncCopy, mask: Array, target: Array, source: Array) -> None:
    block = frame.block
    for addresses in (target, source):
        block.launch.memory.check(addresses[mask], op.bytes, op.bytes)
    lanes = np.flatnonzero(mask)
    group = block.copies.committed[lanes]
    started = Started(op.bytes, lanes, target[mask], source[mask], group)
    block.copies.started.append(started)


def _commit(frame: Frame, op: Op, mask: Array) -> None:
    frame.block.copies.committed[mask] += 1


def _wait(frame: Frame, op: copies.AsyncWait, mask: Array) -> None:
    frame.block.copies.wait(frame.block.launch.memory, mask, op.pending)


OBSERVE: dict[type[Op], Callable[..., None]] = {
    copies.AsyncCopy: _copy,
    copies.AsyncCommit: _commit,
    copies.AsyncWait: _wait,
}
