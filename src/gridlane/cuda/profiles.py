"""From a launch that went the slow way to the profile of a native one; see launcher.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.core.artifact import ParamSlot
from gridlane.core.compact import LIMIT
from gridlane.core.dtypes import DType, f32, f64, i64
from gridlane.cuda.devicearray import DeviceNDArray
from gridlane.cuda.launcher import ARRAY, BOOLEAN, INTEGER, NOTHING, NUMBER, REAL

if TYPE_CHECKING:
    from gridlane.cuda.launch import Launching, Plan

Matcher = tuple[int, Any, Any, int, int]


def native_profile(launch: Launching, plan: Plan, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What ``Launcher._install`` takes, or None where a launch needs more than it does: kernels
    that can raise, and arguments that are not simple. The driver refuses a launch on another GPU
    than the thread's current one."""
    native = getattr(plan.kernel, "native_launch", None)
    if native is None:
        return None
    entry = native(launch.stream.native)
    if entry is None:
        return None
    matchers = _matchers(plan, args)
    if matchers is None:
        return None
    x, y, z = launch.griddim
    geometry = (x // plan.kernel.artifact.coarse, y, z, *launch.blockdim)
    return (
        matchers,
        entry.param_size,
        entry.address,
        entry.function,
        geometry,
        launch.sharedmem,
        entry.stream,
        entry.flag,
        entry.sound,
        (entry.keep, launch.stream),
    )


def _matchers(plan: Plan, args: tuple[Any, ...]) -> tuple[Matcher, ...] | None:
    """One matcher an argument; None when an argument has none."""
    slots, matchers = plan.kernel.artifact.params, []
    limit = LIMIT if plan.variant.compact else None
    for number, value in enumerate(args):
        own = [slot for slot in slots if slot.argument == number]
        matcher = _matcher(own, value, limit)
        if matcher is None:
            return None
        matchers.append(matcher)
    return tuple(matchers)


def _matcher(slots: list[ParamSlot], value: Any, limit: int | None) -> Matcher | None:
    if value is None:
        return NOTHING, None, None, 0, 0
    if type(value) is DeviceNDArray:
        start = slots[0].offset if slots else 0
        dense = [slot.offset for slot in slots] == [start + 8 * n for n in range(len(slots))]
        if not dense or len(slots) != 1 + 2 * value.ndim:
            return None
        return ARRAY, DeviceNDArray, value._launch[0], start, 8 * len(slots)
    if len(slots) != 1 or slots[0].dtype is None or slots[0].path:
        return None
    return _number(slots[0].offset, slots[0].dtype, value, limit)


def _number(offset: int, dtype: DType, value: Any, limit: int | None) -> Matcher | None:
    """The matcher of a scalar, where its bytes are the parameter's."""
    bound = limit if dtype is i64 else None
    if type(value) is bool:
        plain = dtype.is_bool or dtype.is_integer
        return (BOOLEAN, None, None, offset, dtype.size) if plain else None
    if type(value) is int:
        plain = dtype.is_integer and -(2**63) <= value < 2**63
        return (INTEGER, None, bound, offset, dtype.size) if plain else None
    if type(value) is float:
        return (REAL, None, None, offset, dtype.size) if dtype in (f32, f64) else None
    if isinstance(value, np.generic) and value.dtype == dtype.numpy:
        return NUMBER, type(value), bound, offset, dtype.size
    return None
