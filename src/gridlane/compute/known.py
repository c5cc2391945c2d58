"""Launches of calls that have been made before: the same arrays and numbers have the same ones."""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from gridlane.compute.ordering import SideStream, in_order_of, side_stream_of_tensors
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.interop.dlpack_read import IS_TENSOR, host_view
from gridlane.cuda.kernels.batches import Repetition, repetition
from gridlane.launch import geometry, launcher
from gridlane.launch.geometry import address_of
from gridlane.runtime.protocol import Device

_FIRST, _EACH = 3, 32
"""Calls that may show that a launch is native: the first ones, which make its profile, and each so
many-th."""
_MOST_STEPS = 4096
"""Launches of one call that are kept."""
_MOST = 16_384
"""Launches that are kept of all calls of a function."""


def key_of(
    device: Device, args: tuple[Any, ...], in_order: bool = True
) -> tuple[Hashable, ...] | None:
    """What the launches of a call depend on: where arrays are, their shapes, and whole numbers.

    Args:
        device: where it runs.
        in_order: whether torch's current stream is a part, if it is not the default one.

    Returns:
        None if an argument is no array of a device, nor a number of Python's, nor an array of
        NumPy's or a GPU's tensor of torch's that the device takes as it is.
    """
    parts: list[Hashable] = [device]
    has_tensor = False
    for each in args:
        kind = each.__class__
        if kind is np.ndarray:
            if not device.host_visible:
                return None  # it is copied
            may_write = each.flags.writeable
            parts.append((address_of(each), each.shape, each.strides, each.dtype, may_write))
        elif kind is DeviceNDArray:
            parts.append(each.__gridlane_launch__)  # its type, and address, shape and strides
        elif IS_TENSOR[kind]:
            part = _tensor(each, device)
            if part is None:
                return None
            parts.append(part)
            has_tensor = True
        elif kind is int:
            parts.append(each)
        elif kind is float:
            parts.append(kind)  # its value is a kernel's alone
        else:
            return None
    side = side_stream_of_tensors(device) if has_tensor and in_order else None
    if side is not None:
        parts.append(side)  # the last one: see running.py
    return tuple(parts)


def _tensor(tensor: Any, device: Device) -> tuple[Hashable, ...] | None:
    """The part of a key that is a tensor of torch's on a GPU; None if it is copied, or computed at
    its use, or no array."""
    if device.route != "native" or not tensor.is_cuda or tensor.requires_grad:
        return None
    if tensor.is_neg() or tensor.is_conj():
        return None
    where = tensor.get_device(), tensor.data_ptr()
    return *where, tensor.shape, tensor.stride(), tensor.dtype


def on_host(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with arrays of NumPy's over the memory of torch's tensors, where these are
    plain ones of the host."""
    own: list[Any] | None = None
    for place, each in enumerate(args):
        view = host_view(each) if IS_TENSOR[each.__class__] else None
        if view is not None:
            own = own or [*args]
            own[place] = view
    return args if own is None else tuple(own)


_FLOAT = struct.Struct("=d").pack


class Repeatable:
    """A launch, or a call that may be one, which is made again natively once it has been seen to be
    a native launch: with the same bytes, without a look at its arguments."""

    __slots__ = ("_count", "_kept", "has_memory", "together", "turn")

    def __init__(self) -> None:
        self.turn = 0  # of calls that it is the first launch of
        self.together: Together | None = None  # with the launches behind it
        self.has_memory = False
        # One object, as threads may set it at once: the call's floats, and the launch.
        self._kept: tuple[tuple[float, ...], Any] | None = None
        self._count = 0

    def ready_for(self, args: tuple[Any, ...]) -> Any:
        """The launch that is ready, if a call with arguments has its bytes; else None."""
        kept = self._kept
        if kept is None:
            return None
        floats, ready = kept
        return ready if not floats or _are_same(floats, args) else None

    def run(self, args: tuple[Any, ...]) -> None:
        """Launch it with the arguments of a call. Hot."""
        ready = self.ready_for(args)
        if ready is not None:
            if ready():
                return
            self._kept, self._count = None, 0  # of another state of the program
        self._count += 1
        if self._kept is not None or (self._count > _FIRST and self._count % _EACH):
            self._launch(args)
            return
        notes: list[Any] = []
        before = launcher.note_in(notes)
        try:
            self._launch(args)
        finally:
            launcher.note_in(before)
        if len(notes) == 1 and notes[0] is not None and self._suits(notes[0], args):
            self._kept = tuple([each for each in args if each.__class__ is float]), notes[0]

    def _launch(self, args: tuple[Any, ...]) -> None:
        raise NotImplementedError

    def _suits(self, ready: Any, args: tuple[Any, ...]) -> bool:
        """Whether a native launch is all that a call with these arguments does."""
        raise NotImplementedError


def _are_same(floats: tuple[float, ...], args: tuple[Any, ...]) -> bool:
    """Whether a call has the bytes of one with these floats, whose values are no part of its
    key."""
    values = [each for each in args if each.__class__ is float]
    return all(one == other != 0 for one, other in zip(floats, values))


class Step(Repeatable):
    """A launch.

    Args:
        launch: a kernel of ``cuda.jit`` with its grid and block.
        places: of its arguments among those of the call, or -1.
        values: of the others.
    """

    __slots__ = ("_kernel", "_pick", "_places", "_values")

    def __init__(self, launch: Any, places: tuple[int, ...], values: tuple[Any, ...]) -> None:
        super().__init__()
        self._kernel, self._places, self._values = launch, places, values
        self.has_memory = any(each.__class__ is DeviceNDArray for each in values)
        self._pick = itemgetter(*places) if len(places) > 1 and min(places) >= 0 else None

    def _launch(self, args: tuple[Any, ...]) -> None:
        if self._pick is not None:
            self._kernel(*self._pick(args))
            return
        self._kernel(*self.launched(args)[1])

    def launched(self, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """What it launches, and the arguments of that."""
        pairs = zip(self._places, self._values)
        return self._kernel, tuple([v if place < 0 else args[place] for place, v in pairs])

    def _suits(self, ready: Any, args: tuple[Any, ...]) -> bool:
        return True


class Together:
    """The launches of a call on a device of the host, which one call of C makes where the floats of
    the call are those of the call before.

    Args:
        steps: the launches.
        args: of the call.

    Attributes:
        is_alone: whether each is to be made alone.
    """

    __slots__ = ("_floats", "_kept", "_steps", "is_alone")

    def __init__(self, steps: Sequence[Step], args: tuple[Any, ...]) -> None:
        self._steps = tuple(steps)
        self._floats = tuple([n for n, each in enumerate(args) if each.__class__ is float])
        self.is_alone = False
        # One object, as threads may set it at once: the bits of the last call's floats, and what
        # makes its launches.
        self._kept: tuple[bytes | None, Repetition | None] = None, None

    def has_run(self, args: tuple[Any, ...]) -> bool:
        """Make the launches with the arguments of a call of the same key, or return that each is
        to be made alone. Hot."""
        if self.is_alone:
            return False
        bits = self._bits(args)
        last, repeated = self._kept
        if bits != last:
            self._kept = bits, None
            return False
        if repeated is None:
            repeated = repetition([each.launched(args) for each in self._steps])
            self._kept = bits, repeated
            self.is_alone = repeated is None
        return repeated is not None and repeated.has_run()

    def run_for(self, args: tuple[Any, ...]) -> Callable[[], bool] | None:
        """What makes the launches with these arguments, and returns whether it has; None if each is
        to be made alone."""
        last, repeated = self._kept
        if repeated is None or self._bits(args) != last:
            return None
        return repeated.has_run

    def _bits(self, args: tuple[Any, ...]) -> bytes:
        return b"".join([_FLOAT(args[place]) for place in self._floats])


class LibraryCall(Repeatable):
    """A call that a function of the tile library computes.

    Args:
        run: computes it for the arguments of a call.
    """

    __slots__ = ("_run",)

    def __init__(self, run: Callable[[tuple[Any, ...]], None]) -> None:
        super().__init__()
        self._run = run

    def _launch(self, args: tuple[Any, ...]) -> None:
        self._run(args)

    def _suits(self, ready: Any, args: tuple[Any, ...]) -> bool:
        spans = [span for each in args if (span := _span(each)) is not None]
        # Other memory is that of a copy, which each call makes.
        return all(any(a <= each < z for a, z in spans) for each in ready.addresses if each)


def _span(array: Any) -> tuple[int, int] | None:
    """The addresses of the first byte of an array and of the end; None for numbers."""
    if array.__class__ is DeviceNDArray:
        size = array.dtype.itemsize
        low, high = geometry.extent_of(array.shape, array.strides, size)
        return array.address + low, array.address + high
    if not hasattr(array, "data_ptr"):
        return None
    size = array.element_size()
    strides = tuple([step * size for step in array.stride()])
    low, high = geometry.extent_of(tuple(array.shape), strides, size)
    return array.data_ptr() + low, array.data_ptr() + high


def run_again(
    key: tuple[Hashable, ...] | None,
    device: Device,
    steps: tuple[Repeatable, ...],
    args: tuple[Any, ...],
) -> None:
    """Make the launches of a call with a key. Hot."""
    if key and key[-1].__class__ is SideStream:
        run_in_order(key[-1], device, steps, args)
        return
    together = steps[0].together if steps and device.host_visible else None
    if together is not None and together.has_run(args):
        return
    for step in steps:
        step.run(args)


def run_in_order(
    side: Any, device: Device, steps: tuple[Repeatable, ...], args: tuple[Any, ...]
) -> None:
    """Make the launches of a call in the order of a stream of torch's, on which the tile library's
    are, and those of arrays of torch's alone that are ready."""
    is_library = bool(steps) and steps[0].__class__ is LibraryCall
    done = 0 if is_library or not are_torchs(steps, args) else count_again(steps, args, side.handle)
    if done == len(steps):
        return
    with in_order_of(side, device, not is_library):
        for step in steps[done:]:
            step.run(args)


def are_torchs(steps: Sequence[Repeatable], args: tuple[Any, ...]) -> bool:
    """Whether launches of a key's call are in memory of torch's alone, so that no stream waits for
    the default one, on which memory of others is allocated and freed."""
    is_own = any(each.__class__ is DeviceNDArray for each in args)
    return not is_own and not any(each.has_memory for each in steps)


def count_again(steps: Sequence[Repeatable], args: tuple[Any, ...], stream: int) -> int:
    """Make the launches of a call on a stream, if all are ready; return how many were made. Hot."""
    launches = [each.ready_for(args) for each in steps]
    if None in launches:
        return 0
    for number, ready in enumerate(launches):
        if not ready(stream):
            return number
    return len(launches)


class Steps:
    """The launches of a call, as they are made.

    Args:
        names: of the call's arguments.

    Attributes:
        is_whole: whether the same launches are those of every such call.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.places = {name: place for place, name in enumerate(names)}
        self.steps: list[Step] = []
        self.is_whole = True

    def add(self, launch: Any, names: Sequence[str], values: tuple[Any, ...]) -> None:
        """Add a launch; ``names`` are those of the values."""
        if not self.is_whole:
            return
        if len(self.steps) == _MOST_STEPS:
            self.refuse()
            return
        places = tuple([self.places.get(name, -1) for name in names])
        others = tuple([v if p < 0 else None for p, v in zip(places, values, strict=True)])
        self.steps.append(Step(launch, places, others))

    def refuse(self) -> None:
        """Keep none of them."""
        self.is_whole = False
        self.steps.clear()


class Known:
    """The launches of a function's calls."""

    def __init__(self) -> None:
        self._steps: dict[tuple[Hashable, ...], tuple[Repeatable, ...]] = {}
        self._count = 0

    def get(self, key: tuple[Hashable, ...] | None) -> tuple[Repeatable, ...] | None:
        """The launches of a call, if it is known."""
        return None if key is None else self._steps.get(key)

    def keep(self, key: tuple[Hashable, ...], steps: Steps, args: tuple[Any, ...]) -> None:
        """Keep the launches of a call with arguments."""
        if steps.is_whole and steps.steps:
            steps.steps[0].together = Together(steps.steps, args)
        if steps.is_whole:
            self._keep(key, tuple(steps.steps))

    def keep_call(self, key: tuple[Hashable, ...], call: LibraryCall) -> None:
        """Keep a call of the tile library."""
        self._keep(key, (call,))

    def _keep(self, key: tuple[Hashable, ...], steps: tuple[Repeatable, ...]) -> None:
        if self._count + len(steps) + 1 > _MOST:
            self._steps.clear()
            self._count = 0
        self._steps[key] = steps
        self._count += len(steps) + 1
