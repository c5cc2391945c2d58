"""Calls like calls before, which C looks up and makes; see ``launch.launcher_calls``."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np

from gridlane.compute.known import LibraryCall, Repeatable, are_torchs
from gridlane.compute.ordering import in_order
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.interop.dlpack_read import IS_TENSOR
from gridlane.launch.launcher_calls import (
    DEVICE,
    GPU_TENSOR,
    INTEGER,
    NUMPY,
    REAL,
    TENSOR,
    Calls,
)
from gridlane.runtime.protocol import Device
from gridlane.tiles.streams import torchs_handles

_EACH = 16
"""Calls with one key of which one is kept: floats that differ make each call another one."""


def calls() -> Any:
    """A table of calls."""
    return Calls(np.ndarray, DeviceNDArray)


def keep(table: Any, device: Device, given: tuple[Any, ...], steps: tuple[Repeatable, ...]) -> None:
    """Keep a call that was made, if all that it does is known.

    Args:
        given: the arguments, as the caller passes them.
        steps: its launches.
    """
    first = steps[0]
    together = first.together
    if device.host_visible and (together is None or together.is_alone):
        return
    first.turn = (first.turn + 1) % _EACH
    kinds = _kinds_of(device, given) if first.turn == 1 else None
    if kinds is None:
        return
    if together is not None and device.host_visible:
        run = together.run_for(given)
        if run is None or not table.keep(given, kinds, run, None, None, False):
            first.turn = 0  # the next call may be known
        return
    launches = tuple([each.ready_for(given) for each in steps])
    if None in launches:
        first.turn = 0
        return
    streams = torchs_handles(sys.modules["torch"], device.ordinal) if GPU_TENSOR in kinds else None
    is_direct = first.__class__ is LibraryCall or are_torchs(steps, given)
    table.keep(given, kinds, launches, partial(_finish, steps), streams, is_direct)


def _finish(steps: tuple[Repeatable, ...], done: int, args: tuple[Any, ...]) -> None:
    """Make the launches of a call behind some that were made."""
    with in_order(args):
        for each in steps[done:]:
            each.run(args)


def _kinds_of(device: Device, given: tuple[Any, ...]) -> tuple[int, ...] | None:
    """The kinds of arguments; None if one is of none."""
    kinds: list[int] = []
    for each in given:
        kind = each.__class__
        if kind in _KINDS:
            kinds.append(_KINDS[kind])
        elif IS_TENSOR[kind]:
            kinds.append(TENSOR if device.host_visible else GPU_TENSOR)
        else:
            return None
    return tuple(kinds)


_KINDS = {np.ndarray: NUMPY, DeviceNDArray: DEVICE, int: INTEGER, float: REAL}
