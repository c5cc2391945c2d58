"""From a launch on the slow path to the profile of a native one; see launcher.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gridlane.core.artifact import ParamSlot
from gridlane.core.compact import LIMIT
from gridlane.core.dtypes import DType, f32, f64, i64
from gridlane.cuda.devicearray import DeviceNDArray
from gridlane.launch import launcher_foreign
from gridlane.launch.launcher import ARRAY, BOOLEAN, FOREIGN, INTEGER, NOTHING, NUMBER, REAL
from gridlane.runtime.protocol import NativeLaunch

if TYPE_CHECKING:
    from gridlane.cuda.launch import Configured
    from gridlane.launch.plan import Plan

Matcher = tuple[int, Any, Any, int, int]


def native_profile(
    launch: Configured, plan: Plan, args: tuple[Any, ...], given: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """What ``Launcher._install`` takes, or None where a launch needs more than it does: kernels
    that can raise, and arguments that are not simple. The driver refuses a launch on another GPU
    than the thread's current one.

    Args:
        args: of a launch, as the kernel got them.
        given: the same, as the caller has them.
    """
    native = getattr(plan.kernel, "native_launch", None)
    if native is None:
        return None
    entry = native(launch.stream.native)
    if entry is None:
        return None
    matchers = _matchers(plan, args, given, entry)
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


def _matchers(
    plan: Plan, args: tuple[Any, ...], given: tuple[Any, ...], entry: NativeLaunch
) -> tuple[Matcher, ...] | None:
    """One matcher an argument; None when an argument has none."""
    slots, matchers = plan.kernel.artifact.params, []
    limit = LIMIT if plan.variant.compact else None
    for number, (value, theirs) in enumerate(zip(args, given)):
        own = [slot for slot in slots if slot.argument == number]
        matcher = _matcher(own, value, limit)
        if theirs is not value and matcher is not None:
            matcher = _foreign(matcher, value, theirs, entry)
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


def _foreign(matcher: Matcher, value: Any, theirs: Any, entry: NativeLaunch) -> Matcher | None:
    """The matcher of another library's array that the kernel got as ``value``, of which
    ``matcher`` is."""
    kind, _, _, offset, size = matcher
    if kind != ARRAY or not entry.pointer_attribute or value.ndim > launcher_foreign.MOST_AXES:
        return None
    layout, cls = launcher_foreign.LAYOUTS.index(value._layout), type(theirs)
    facts = value.ndim, layout, value.itemsize, int(value.readonly)
    small = value._launch[0] is value._key
    place = LIMIT if small else -LIMIT, entry.pointer_attribute, entry.stream
    for way in (launcher_foreign.BY_TENSOR, launcher_foreign.BY_INTERFACE):
        expected = _expected(way, value, theirs)
        if expected is None:
            continue
        wanted = (way, expected, *facts, *place)
        # What reads an array of this class otherwise than the launch has is no way to read it.
        if launcher_foreign.octets(wanted, theirs) == value._packed:
            return FOREIGN, cls, wanted, offset, size
    return None


_OF_TENSORS = ("dtype", "is_cuda", "requires_grad", "is_neg", "is_conj", "shape", "stride")


def _expected(way: int, value: Any, theirs: Any) -> Any:
    """What an array's element type is recognised by; None where it is not read in this way."""
    have = [hasattr(type(theirs), name) for name in (*_OF_TENSORS, "data_ptr")]
    if way == launcher_foreign.BY_TENSOR:
        return theirs.dtype if all(have) else None
    # Records and bfloat16 share typestrs with others; an interface says nothing of lazy views.
    return None if value.dtype.kind == "V" or any(have[3:5]) else value.dtype.str


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
