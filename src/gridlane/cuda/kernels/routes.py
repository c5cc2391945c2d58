"""The hot functions of a launch with a known plan, one per kind of device.

Each takes the launch and its arguments, and sends a call without a plan to ``_launch_slowly``. A
device names its route (``runtime.protocol.Device.route``).
"""

# pyright: reportPrivateUsage=false
# The routes are a part of the kernel that they launch.

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from gridlane.core.compact import ANY, COARSE, MANY_BLOCKS, Variant
from gridlane.core.device_errors import KernelStop
from gridlane.core.frozen import frozen
from gridlane.cuda.interop.dlpack_read import IS_TENSOR, host_view
from gridlane.cuda.kernels.argument_types import KEYS
from gridlane.cuda.kernels.profiles import delayed_profile, native_profile
from gridlane.cuda.kernels.reading import Launch, Reading
from gridlane.launch import compact, current
from gridlane.launch.packing import Packer
from gridlane.launch.plan import Plan
from gridlane.runtime.protocol import Device, Limits
from gridlane.runtime.queues.default_stream_lock import TURNS
from gridlane.runtime.queues.host_queue import BUSY, turn, wait_for_ordered
from gridlane.runtime.queues.host_stream import LEFT, is_behind_waiting

Arguments = tuple[Any, ...]


class Views:
    """Which arguments of a launch are torch's tensors of the host."""

    __slots__ = ("places",)

    def __init__(self, places: tuple[int, ...]) -> None:
        self.places = places

    def of(self, args: Arguments) -> Arguments:
        """The arguments as the kernel takes them: arrays over the memory of tensors. Those that
        have no such array stay as they are, and no reading is for them. Hot."""
        own = [*args]
        for place in self.places:
            view = host_view(args[place]) if IS_TENSOR[args[place].__class__] else None
            if view is not None:
                own[place] = view
        return tuple(own)


def views_of(args: Arguments, given: Arguments) -> Views | None:
    """The views of a launch; None if its other arguments are no views of the host's memory.

    Args:
        args: as the kernel gets them.
        given: as the caller passes them.
    """
    of_array = KEYS[np.ndarray]
    places: list[int] = []
    for place, (arg, theirs) in enumerate(zip(args, given, strict=True)):
        if arg is theirs:
            continue
        view = host_view(theirs) if IS_TENSOR[theirs.__class__] else None
        if view is None or arg.__class__ is not np.ndarray or of_array(arg) != of_array(view):
            return None
        places.append(place)
    return Views(tuple(places)) if places else None


@frozen
class Route:
    """How launches run on devices of a kind.

    Attributes:
        hot: the function for launches with a known plan; None if the driver is called without
            Python.
        variant: the code to use, as far as unconverted arguments show it.
        remember: makes the next launch with arguments like these a hot one, if possible. It gets
            them in the kernel's form, and as the caller passes them.
        prepare: the function that launches a plan by its parameter block and grid, of launches
            whose grid is the call's: the target of a profile; None if the driver is called without
            Python.
    """

    hot: Callable[[Any, Arguments], None] | None
    variant: Callable[[Any, Arguments, Limits], Variant]
    remember: Callable[[Any, Hashable, Any, Arguments, Arguments], None]
    prepare: Callable[[Packer, Plan], Callable[..., Any]] | None


# --- host devices, whose default stream runs on the caller ---


_IN_VIEWS = object()
"""The first item of a key of ``Views``."""


def _at_once(launch: Launch, args: Arguments) -> None:
    """Compute a key, read the arguments, then call the device's own launch."""
    given, fast = args, launch._fast
    key = tuple([KEYS[arg.__class__](arg) for arg in args])
    reading = fast.get(key)
    if reading is None:
        views = fast.get((_IN_VIEWS, key))
        if views is not None:
            args = views.of(given)
            reading = fast.get(tuple([KEYS[arg.__class__](arg) for arg in args]))
        if reading is None:
            launch._launch_slowly(given)
            return
    lock = TURNS.lock
    if BUSY:
        if LEFT or is_behind_waiting():
            launch._launch_slowly(given)
            return
        wait_for_ordered()
        lock = turn()
    try:
        with lock:
            reading.launch(reading.read(*args), launch.gx, launch.gy, launch.gz, launch.sharedmem)
    except KernelStop as error:
        raise launch.dispatcher.user_exception(error) from None


def _any(launch: Launch, args: Arguments, limits: Limits) -> Variant:
    return ANY


def _remember_inline(
    launch: Launch, key: Hashable, reading: Reading, args: Arguments, given: Arguments
) -> None:
    _remember_reading(launch, key, reading)
    views = views_of(args, given) if key in launch._fast else None
    if views is not None:
        launch._fast[_IN_VIEWS, tuple([KEYS[arg.__class__](arg) for arg in given])] = views


def _remember_reading(launch: Launch, key: Hashable, reading: Reading) -> None:
    if launch.stream.inline and not reading.plan.kernel.artifact.spins:
        launch._fast[key] = reading


def _prepare_inline(read: Packer, plan: Plan) -> Callable[..., Any]:
    reading = Reading(read, plan, (), True)

    def launch(params: bytes, x: int, y: int, z: int, values: Arguments) -> Any:
        lock = TURNS.lock
        if BUSY:
            if LEFT or is_behind_waiting():
                return NotImplemented
            wait_for_ordered()
            lock = turn()
        with lock:
            reading.launch(params, x, y, z, 0)
        return None

    return launch


# --- host-driven devices, whose streams queue work ---

_IN_BUFFERS = object()
"""The first item of a key that ends with the buffers of a launch's pointers."""


def _later(launch: Launch, args: Arguments) -> None:
    """Compute a key, read the arguments, then call the stream's own launch."""
    key = tuple([KEYS[arg.__class__](arg) for arg in args])
    reading = launch._fast.get(key)
    if reading is None:
        launch._launch_slowly(args)
        return
    params = reading.read(*args)
    if reading.holds is not None and not reading.holds(params):
        reading = launch._fast.get((_IN_BUFFERS, key, reading.plan.buffers_of(params)))
        if reading is None or (reading.holds is not None and not reading.holds(params)):
            launch._launch_slowly(args)
            return
    append = (launch._own or current.device().default_stream).launch
    append(reading.plan.kernel, params, launch.gx, launch.gy, launch.gz, launch.sharedmem, args)


def _remember_queued(
    launch: Launch, key: Hashable, reading: Reading, args: Arguments, given: Arguments
) -> None:
    # The slow path looks up streams that are named by number, and refuses unknown ones.
    if reading.waits or (launch._own is None and launch.stream.handle != 0):
        return
    plan = reading.plan
    if plan.variant.compact or not compact.grid_holds(launch.griddim, launch.blockdim):
        launch._fast[key] = reading = replace(reading, holds=plan.holds)
        if plan.device.several_buffers:  # launches may take turns with others
            launch._fast[_IN_BUFFERS, key, plan.variant.buffers] = reading
    # Else the arguments were large this time, and may be smaller the next.


def _prepare_queued(read: Packer, plan: Plan) -> Callable[..., Any]:
    device, kernel, holds = plan.device, plan.kernel, plan.holds

    def launch(params: bytes, x: int, y: int, z: int, values: Arguments) -> Any:
        if holds is not None and not holds(params):
            return NotImplemented
        device.default_stream.launch(kernel, params, x, y, z, 0, values)
        return None

    return launch


# --- GPUs whose driver is called with packed arguments ---


def _remember_native(
    launch: Launch, key: Hashable, reading: Reading, args: Arguments, given: Arguments
) -> None:
    profile = native_profile(launch, reading.plan, args, given)
    if profile is not None:
        launch._install(*profile)


def _compact_where_small(launch: Launch, args: Arguments, limits: Limits) -> Variant:
    if not compact.grid_holds(launch.griddim, launch.blockdim):
        return ANY
    if not compact.arguments_seem_small(args):
        return ANY
    many = MANY_BLOCKS * limits.multiprocessors
    coarse = launch.gx % COARSE == 0 and launch.gx * launch.gy * launch.gz >= many
    return Variant(True, coarse)


ROUTES = {
    "inline": Route(_at_once, _any, _remember_inline, _prepare_inline),
    "queued": Route(_later, _compact_where_small, _remember_queued, _prepare_queued),
    "native": Route(None, _compact_where_small, _remember_native, None),
}


# --- threads that delay their launches ---


def _remember_delayed(
    launch: Launch, key: Hashable, reading: Reading, args: Arguments, given: Arguments
) -> None:
    if reading.plan.device.route == "inline":
        _remember_reading(launch, key, reading)
    else:
        _remember_queued(launch, key, reading, args, given)
    profile = delayed_profile(launch, reading.plan, args, given) if not reading.waits else None
    if profile is not None:
        launch._install(*profile)


def _remember_nothing(
    launch: Launch, key: Hashable, reading: Reading, args: Arguments, given: Arguments
) -> None:
    """Leave each launch of a thread that captures a stream on the slow path."""


def route_of(device: Device) -> Route:
    """How this thread launches on a device."""
    route = ROUTES[device.route]
    if current.refuses_native():
        return Route(None, route.variant, _remember_nothing, None)
    if current.is_native():
        return route
    return Route(_later, route.variant, _remember_delayed, route.prepare)
