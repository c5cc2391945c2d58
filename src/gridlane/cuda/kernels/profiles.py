"""Convert a launch on the slow path to the profile of a native one; see launcher.py."""

# pyright: reportPrivateUsage=false
# What arrays hide is hidden from users, not from gridlane.cuda.

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from gridlane.core.compact import LIMIT
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.interop.torch_streams import Handles, handles_of_tensors
from gridlane.cuda.kernels.reading import Launch
from gridlane.launch import launcher_external_arrays
from gridlane.launch.launcher import query_captures
from gridlane.launch.launcher_external_arrays import Wanted
from gridlane.launch.matchers import Matcher, foreign_matcher, matcher
from gridlane.launch.parameters import array_layout
from gridlane.runtime.protocol import NativeLaunch

if TYPE_CHECKING:
    from gridlane.launch.plan import Plan


def native_profile(
    launch: Launch, plan: Plan, args: tuple[Any, ...], given: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """The arguments of ``Launcher._install``, or None if a launch needs more: for kernels that can
    raise, and arguments that are not simple. The driver refuses a launch on another GPU than the
    thread's current one.

    Args:
        args: of a launch, as the kernel gets them.
        given: the arguments as the caller passes them.
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
        None,
        None,
        _streams(launch, given, plan, entry),
    )


def _streams(
    launch: Launch, given: tuple[Any, ...], plan: Plan, entry: NativeLaunch
) -> Handles | None:
    """What returns torch's current stream, where a launch with its tensors on the default stream is
    in the graph that torch captures there; else None."""
    if entry.stream not in (0, 1):
        return None
    query_captures(entry.capture_query)
    return handles_of_tensors(given, plan.device)


def delayed_profile(
    launch: Launch, plan: Plan, args: tuple[Any, ...], given: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """The arguments of ``Launcher._install`` by which a launch is appended to those that a thread
    delays; None if that needs more: on a user's stream, by kernels that can raise, where memory is
    several buffers, and for other libraries' arrays. See ``native_profile``."""
    from gridlane.launch.fusion.members import found_of  # not needed before the first block

    artifact, device = plan.kernel.artifact, plan.device
    if launch._own is not None or launch.stream.handle != 0 or artifact.raises or artifact.spins:
        return None
    if device.several_buffers is not None or any(a is not b for a, b in zip(args, given)):
        return None
    matchers: list[Matcher] = []
    for number, value in enumerate(args):
        test = matcher(plan.parameters, number, value, plan.variant.compact)
        if test is None:
            return None
        matchers.append(test)
    form = found_of(device).form_of(plan.kernel, launch.griddim, launch.sharedmem, True)
    numbers = tuple(chain.from_iterable(form.numbers))
    none = 0, 0, (0,) * 6, 0, 0, 0, 0
    return tuple(matchers), artifact.param_bytes, *none, None, form, numbers


def _matchers(
    plan: Plan, args: tuple[Any, ...], given: tuple[Any, ...], entry: NativeLaunch
) -> tuple[Matcher, ...] | None:
    """One matcher per argument; None if an argument has none."""
    matchers: list[Matcher] = []
    for number, (value, theirs) in enumerate(zip(args, given)):
        test = matcher(plan.parameters, number, value, plan.variant.compact)
        if theirs is not value and test is not None:
            test = _foreign(test, value, theirs, entry)
        if test is None:
            return None
        matchers.append(test)
    return tuple(matchers)


def _foreign(
    own: Matcher, value: DeviceNDArray, theirs: Any, entry: NativeLaunch
) -> Matcher | None:
    """The matcher of another library's array that the kernel gets as ``value``, with ``own``."""
    if not entry.pointer_attribute:
        return None
    small = value.__gridlane_launch__[0] is value._key
    wanted = [
        Wanted(
            way,
            expected,
            value.ndim,
            launcher_external_arrays.LAYOUTS.index(value._layout),
            value.itemsize,
            int(value.readonly),
            LIMIT if small else -LIMIT,
            entry.pointer_attribute,
            entry.stream,
            array_layout(value.ndim).places,
        )
        for way in (launcher_external_arrays.BY_TENSOR, launcher_external_arrays.BY_INTERFACE)
        if (expected := _expected(way, value, theirs)) is not None
    ]
    return foreign_matcher(own, value, theirs, wanted)


_OF_TENSORS = ("dtype", "is_cuda", "requires_grad", "is_neg", "is_conj", "shape", "stride")


def _expected(way: int, value: Any, theirs: Any) -> Any:
    """The expected element type of an array in a matcher; None if it cannot be read in this way."""
    have = [hasattr(type(theirs), name) for name in (*_OF_TENSORS, "data_ptr")]
    if way == launcher_external_arrays.BY_TENSOR:
        return theirs.dtype if all(have) else None
    # Records and bfloat16 share typestrs with others; an interface does not reveal lazy views.
    return None if value.dtype.kind == "V" or any(have[3:5]) else value.dtype.str
