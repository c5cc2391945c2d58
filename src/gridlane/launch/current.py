"""The current device of a thread: GRIDLANE_DEVICE's, unless the thread has chosen another."""

from __future__ import annotations

import itertools
import threading
import weakref
from contextlib import ContextDecorator
from functools import cache
from typing import Any, Protocol

from gridlane.core.config import config
from gridlane.core.device_errors import INVALID_DEVICE, NOT_CAPTURED, fail, name_devices_by
from gridlane.launch import launcher
from gridlane.launch.devices import device_count, family, get_device, kind_of
from gridlane.runtime.protocol import Device
from gridlane.runtime.queues.graph import captures_here, check_default


class _Thread(threading.local):
    """The state of a thread. Attributes of the class are quicker to miss than those of none."""

    device: Device | None = None
    delays: Delays | None = None
    is_capturing = False
    """Whether this thread's launchers are those of threads that capture."""


_thread = _Thread()
_numbers: weakref.WeakKeyDictionary[Device, int] = weakref.WeakKeyDictionary()
"""A number for each chosen device; launchers identify devices by it."""
_delaying: weakref.WeakKeyDictionary[Device, int] = weakref.WeakKeyDictionary()
"""Numbers for threads that delay their launches, whose launchers call no driver."""
_capturing: weakref.WeakKeyDictionary[Device, int] = weakref.WeakKeyDictionary()
"""Numbers for threads that capture a stream, whose launchers prepare nothing: a launch is recorded,
or refused on the default stream."""
_next = itertools.count()


def device() -> Device:
    """The current device of this thread, opened at the first call."""
    chosen = _thread.device
    return chosen if chosen is not None else _first()


@cache
def _first() -> Device:
    return get_device(config().device)


def _is_first(device: Device) -> bool:
    """Whether a device is GRIDLANE_DEVICE's; the test opens none."""
    kind, ordinal = family(config().device)
    return device.name == (f"{kind}:{ordinal}" if ordinal else kind) and device is _first()


def name() -> str:
    """The name of this thread's device; the call opens no device.

    >>> name()
    'cpu'
    """
    chosen = _thread.device
    return config().device if chosen is None else chosen.name


name_devices_by(name)


def kind() -> str:
    """The kind of this thread's device; the call opens no device.

    >>> kind()
    'cpu'
    """
    chosen = _thread.device
    return family(config().device)[0] if chosen is None else kind_of(chosen)


def count() -> int:
    """The number of devices of the current kind."""
    return _count(kind())


@cache
def _count(of: str) -> int:
    return device_count(of)


def numbered(ordinal: int) -> Device:
    """A device of the current kind by its number.

    Raises:
        DeviceError: INVALID_DEVICE, the number is too large.
    """
    if not 0 <= ordinal < count():
        last = count() - 1
        there = f"there are devices 0 to {last}" if last else "there is device 0 only"
        fail(INVALID_DEVICE, f"device {ordinal}; {there}")
    return get_device(f"{kind()}:{ordinal}" if ordinal else kind())


def choose(chosen: Device | None) -> Device | None:
    """Make a device this thread's; None for the first choice. Returns the previous choice."""
    before = _thread.device
    _thread.device = chosen
    _select()
    # The current device of native launches changes as well.
    if chosen is not None:
        chosen.activate()
    elif before is not None and _first.cache_info().currsize:
        _first().activate()
    return before


def _select() -> None:
    """Select this thread's launchers."""
    chosen = _thread.device
    by = delays()
    if by is not None:
        here = device()
        is_own = here is by.device
        launcher.select(by.number if is_own else delaying_number(here))
        launcher.record(by.lists if is_own else None)
    elif refuses_native():
        launcher.select(_capturing.setdefault(device(), next(_next)))
    else:
        launcher.select(-1 if chosen is None else own_number(chosen))


def own_number(device: Device) -> int:
    """The number of a device's launchers."""
    return -1 if _is_first(device) else _numbers.setdefault(device, next(_next))


def delaying_number(device: Device) -> int:
    """The number of launchers of threads that delay their launches on a device."""
    return _delaying.setdefault(device, next(_next))


class Delays(Protocol):
    """What delays launches: ``launch.fusion.Fusion``.

    Attributes:
        device: of the launches that it delays.
        number: ``delaying_number`` of the device, or ``own_number`` where it is native.
        is_native: whether launchers of GPUs call the driver, as they do without it.
    """

    device: Device
    number: int
    is_native: bool

    @property
    def lists(self) -> tuple[Any, ...] | None:
        """What launchers append launches to; see ``launcher``. None if they do not."""
        ...

    def append(self, stream: Any, kernel: Any, launch: tuple[Any, ...], /) -> bool:
        """Delay a launch; False if it is launched by the caller."""
        ...

    def flush(self) -> None:
        """Submit what is delayed."""
        ...


def delays() -> Delays | None:
    """What delays this thread's launches; None where it launches at once."""
    return _thread.delays


def fusing() -> bool:
    """Whether this thread delays its launches, or sends them elsewhere than they name."""
    return delays() is not None


def is_native() -> bool:
    """Whether this thread's launchers of GPUs call the driver."""
    by = delays()
    return by is None or by.is_native


def delay(by: Delays | None) -> None:
    """Delay this thread's launches from now on, or launch at once again."""
    _thread.delays = by
    chosen = _thread.device
    if by is None:
        launcher.record(None)
    elif by.device is (_first() if chosen is None else chosen):  # hot
        launcher.select(by.number)
        launcher.record(by.lists)
        return
    if by is None and chosen is None and not _thread.is_capturing:
        launcher.select(-1)
    else:
        _select()


def submit_delayed() -> None:
    """Submit what this thread delays: other code is about to see memory."""
    by = delays()
    if by is not None:
        by.flush()


def note_capture() -> None:
    """Note that this thread began the capture of a stream, or that a capture may have ended. Never
    raises."""
    is_capturing = captures_here()
    if is_capturing != _thread.is_capturing:
        _thread.is_capturing = is_capturing
        _select()


def captures() -> bool:
    """Whether a stream is captured whose capture this thread began. Hot."""
    if _thread.is_capturing:
        note_capture()  # another thread may have ended it
    return _thread.is_capturing


def refuses_native() -> bool:
    """Whether this thread's launchers are those that prepare nothing: it captures a stream, and no
    stream of the device would see a prepared launch on the default one."""
    return _thread.is_capturing and _thread.delays is None and device().route != "queued"


def check_default_stream(of: Device) -> None:
    """Refuse work of a device's default stream that this thread delays while it captures one.

    Raises:
        DeviceError: STREAM_CAPTURE_IMPLICIT.
    """
    check_default(of)


def check_copy(of: Device) -> None:
    """Refuse a copy that the host waits for while this thread captures a stream of the device.

    Raises:
        DeviceError: NOT_CAPTURED.
    """
    if captures_here(of):
        fail(
            NOT_CAPTURED,
            "a copy that the host waits for",
            "make device arrays before the capture, and use them, not host arrays, as arguments",
        )


class Using(ContextDecorator):
    """Use another device, of any kind, on this thread in the with block.

    Blocks may end in another order than they began, as those of generators do: the current device
    is that of the latest block that has not ended.

    >>> with Using("interp") as device:
    ...     device.name
    'interp'

    Args:
        name: a value of GRIDLANE_DEVICE: ``"vulkan"``, ``"cuda:1"``.

    Raises:
        TypeError: the name is no string.
        DeviceError: NO_DEVICE or INVALID_DEVICE, there is no such device.
        UnsupportedBackend: devices of this kind cannot run kernels.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a device is named by a string, as 'vulkan' or 'cuda:1'; got {name!r}")
        self._name = name

    def __enter__(self) -> Device:
        device, blocks = get_device(self._name), _blocks()
        before = choose(device)
        if not blocks:
            _thread.outside = before
        blocks.append((self, device))
        return device

    def __exit__(self, *error: object) -> None:
        blocks = _blocks()
        own = [place for place, (owner, _) in enumerate(blocks) if owner is self]
        if not own:  # another thread, or the interpreter's exit, ends the block
            return
        latest = own[-1] == len(blocks) - 1
        del blocks[own[-1]]
        if latest:
            choose(blocks[-1][1] if blocks else _thread.outside)


def _blocks() -> list[tuple[Using, Device]]:
    """The with blocks that this thread is in."""
    blocks: list[tuple[Using, Device]] | None = getattr(_thread, "blocks", None)
    if blocks is None:
        blocks = _thread.blocks = []
    return blocks
