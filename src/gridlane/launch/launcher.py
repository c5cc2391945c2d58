"""The launch path without Python's cost: ``_native.c``, and its equivalent in Python.

A Launcher is for the current device of the thread that created it. A thread with another current
device is redirected to the result of ``_elsewhere()``, once for each device.

It holds up to ``MOST_PROFILES`` profiles (``MOST_OVER`` of a tile program), the most recently used
first. A profile is the arguments of ``_install``:

    matchers    for each argument (kind, class, wanted, offset, size): the test of it, and which
                ``size`` bytes at ``offset`` of the parameter block it gives. Wanted is the key of
                an array, a launcher_external_arrays.py record for one of another library, or the
                largest magnitude of an integer of 64 bits or None
    size        bytes of the parameter block
    launch      address of a function with cuLaunchKernel's signature
    function    the CUfunction
    geometry    (grid x, y, z, block x, y, z)
    shared      bytes of dynamic shared memory
    stream      the CUstream
    flag        address of a byte to set at each launch, or 0
    sound       address of a byte that is 0 once the profile has expired, or 0
    keep        an object that owns the memory at these addresses

A call that matches no profile goes to the hot function that ``_go`` was given, with the launcher
and the tuple of arguments, or, if there is none, to ``_launch_slowly(args)``. A call that the
driver refuses, and so has not launched, goes to ``_failed(code, args)`` (without arguments where
the grid is the call's, as the slow path follows), and one with keywords to
``_launch_by_name(args, keywords)``. A subclass has these methods.

A profile with a function of streams is of torch's tensors. Where torch's current stream is captured
(``_query_captures`` has the driver's function for that), the profile matches nothing: the graph has
to keep what the launch uses. Else a tile program is launched on that stream, and any other kernel
on the profile's.

A thread that delays its launches sets ``_record`` to (keys, numbers, launches, own, most, submit).
A profile with a target then appends the target and the parameter block to keys, the arguments to
launches. Its result is the offsets and sizes of numbers, which go to the second list; the block has
zeros there. It matches no array whose packed bytes are not the very object that the dict own has
for them. At ``most`` launches it calls ``submit``. Without a record such a profile matches nothing.

A thread that notes its launches sets ``_note`` to a list, and gets the one before. Each launch
without a part of Python's appends a ``Ready``, all others None. A ``Ready`` is callable: it makes
the launch again, with the same bytes for its parameters and on the stream that such a launch has
now, or on the one of a number, and returns whether it has; False where its profile has expired or
was dropped, on a thread with another device, and while launches are noted. It keeps no argument
alive; ``addresses`` are those of the arrays among them.

A thread with ``_redirect`` set to a stream's number launches there, whatever stream is named.

launcher_tiles.py has what launches of tile programs need beside this.
"""

from __future__ import annotations

import ctypes
import struct
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gridlane.core.config import config
from gridlane.launch import launcher_external_arrays, launcher_tiles
from gridlane.launch.launcher_tiles import FIT, HOST, OWN, PARTS, TENSOR, Names, Over, selects

MOST_PROFILES = 32
MOST_OVER = 256
"""Of a tile program, which has one launcher for all grids."""
INTERFACE = 12
"""That of the native launcher with this file; it changes with the arguments of any of its methods,
and with what a matcher wants."""

ARRAY, INTEGER, REAL, BOOLEAN, NOTHING, NUMBER, FOREIGN = range(7)
"""Kinds of matchers: a device array (its ``__gridlane_launch__`` is (key, bytes)), Python's int,
float, bool and None, a numpy scalar, another library's array."""

_ARRAYS = ARRAY, FOREIGN, OWN, HOST, TENSOR

_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    *(ctypes.c_uint,) * 7,
    *(ctypes.c_void_p,) * 3,
)


_QUERY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))
_query: Callable[..., int] | None = None
_thread = threading.local()


def _is_captured(handle: int) -> bool:
    status = ctypes.c_int()
    if handle <= 2 or _query is None:
        return False
    return _query(handle, ctypes.byref(status)) == 0 and bool(status.value)


def _selected() -> int:
    return getattr(_thread, "selected", -1)


class PythonLauncher:
    """The Python equivalent of ``_native.Launcher``."""

    def __init__(self) -> None:
        self._profiles: list[tuple[Any, ...]] = []
        self._selected = _selected()
        self._others: dict[int, Any] = {}
        self._hot: Callable[[Any, tuple[Any, ...]], None] | None = None
        self._names: Names | None = None
        self._guards: tuple[tuple[Any, str | None, Any], ...] = ()

    def _install(
        self,
        matchers: tuple[tuple[int, Any, Any, int, int], ...],
        size: int,
        launch: int,
        function: int,
        geometry: tuple[int, int, int, int, int, int],
        shared: int,
        stream: int,
        flag: int,
        sound: int,
        keep: Any,
        target: Callable[..., Any] | None = None,
        result: Any = None,
        streams: Callable[[], int] | None = None,
        maps: tuple[Any, ...] | None = None,
    ) -> None:
        """Add a profile."""
        call = target or _FUNCTION(launch)
        mark = (ctypes.c_ubyte * 1).from_address(flag) if flag else None
        alive = (ctypes.c_ubyte * 1).from_address(sound) if sound else b"\1"
        place = function, *geometry, shared, stream
        has_target = target is not None
        filler = None if maps is None else launcher_tiles.filler_of(maps)
        ways = call, place, mark, alive, keep, has_target, result, streams, filler
        profile = matchers, size, *ways
        most = MOST_PROFILES if self._names is None else MOST_OVER
        self._profiles = [profile, *self._profiles[: most - 1]]

    def _forget(self) -> None:
        """Drop every profile."""
        self._profiles = []

    def _go(self, hot: Callable[[Any, tuple[Any, ...]], None]) -> None:
        """Set the function for calls that match no profile."""
        self._hot = hot

    @staticmethod
    def _select(number: int) -> None:
        """Set this thread's device for launchers, -1 for the default one."""
        _thread.selected = number

    def __call__(self, *args: Any, **keywords: Any) -> None:
        if keywords:
            self._launch_by_name(args, keywords)
            return
        here = self.here()
        if here is not self:
            here(*args)
            return
        profile, block = self._matching(args)
        stream = None if profile is None else self._stream_of(profile)
        if profile is not None and profile[7]:
            note(None)
            _submit_where_full()
        elif profile is not None and stream is not None:
            code = _run(profile, block, (*profile[3][:8], stream))
            note(None if code else Ready(self, profile, block, profile[3][1:4]))
            if code:
                self._failed(code, args)
        else:
            note(None)
            if self._hot is not None:
                self._hot(self, args)
            else:
                self._launch_slowly(args)

    def _stream_of(self, profile: tuple[Any, ...]) -> int | None:
        """The stream of a launch; None where the launch is the slow path's."""
        own, streams = profile[3][8], profile[9]
        redirect = getattr(_thread, "redirect", None)
        if redirect is not None or streams is None:
            return own if redirect is None else redirect
        handle = streams()
        if _is_captured(handle):
            return None
        return own if self._names is None else handle

    @staticmethod
    def _query_captures(address: int) -> None:
        """Set the address of cuStreamIsCapturing, or 0."""
        global _query  # one driver for all threads
        _query = _QUERY(address) if address else None

    def _matching(self, values: Sequence[Any]) -> tuple[Any, bytearray]:
        """The profile that matches arguments, or None, and their parameter block."""
        for number, profile in enumerate(self._profiles):
            block = _block(profile[0], profile[1], values) if profile[5][0] else None
            if block is None:
                continue
            if profile[7] and self._names is None and not _recorded(profile, block, values):
                continue
            if number:
                rest = [other for other in self._profiles if other is not profile]
                self._profiles = [profile, *rest]
            return profile, block
        return None, bytearray()

    @staticmethod
    def _record(lists: tuple[Any, ...] | None) -> None:
        """Set what this thread's delayed launches are appended to."""
        _thread.record = lists

    @staticmethod
    def _note(launches: list[Any] | None) -> list[Any] | None:
        """Set what this thread's launches are noted in."""
        before = getattr(_thread, "noted", None)
        _thread.noted = launches
        return before

    @staticmethod
    def _redirect(stream: int | None) -> int | None:
        """Set the stream of this thread's launches, None for those that they name."""
        before = getattr(_thread, "redirect", None)
        _thread.redirect = stream
        return before

    def again(
        self,
        profile: tuple[Any, ...],
        block: bytes,
        grid: tuple[int, ...],
        stream: int | None = None,
    ) -> bool:
        """Make a launch again; see ``Ready``."""
        names = self._names
        if getattr(_thread, "noted", None) is not None or _selected() != self._selected:
            return False
        if names is not None and (names.hooks or not launcher_tiles.holds(self._guards)):
            return False
        place = profile[3]
        if stream is None:
            stream = self._stream_of(profile)
        elif _is_captured(stream):
            return False
        if stream is None:
            return False
        if not (profile[5][0] and any(each is profile for each in self._profiles)):
            return False
        return _run(profile, bytearray(block), (place[0], *grid, *place[4:8], stream)) == 0

    def here(self) -> Any:
        """The same launch on the device that this thread has selected."""
        selected = _selected()
        if selected == self._selected:
            return self
        if selected not in self._others:
            self._others[selected] = self._elsewhere()
        return self._others[selected]

    # ---- tile programs

    def _name(self, *facts: Any) -> None:
        """Set the names of a tile program's launch."""
        self._names = Names(*facts)

    def _guard(self, guards: tuple[tuple[Any, str | None, Any], ...]) -> None:
        """Set what profiles hold for."""
        self._guards = guards

    def _over(self, grid: Any) -> Over:
        """The tile program over a grid."""
        return Over(self, grid)

    def call_over(self, grid: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Launch a tile program over a grid."""
        names = self._names
        ready = self._profiles and names and not names.hooks
        values = names.bind(args, keywords) if ready and names else None
        if names is None or values is None or not launcher_tiles.holds(self._guards):
            return self._over_slowly(grid, args, keywords)
        profile, block = self._matching(values)
        if profile is None:
            return self._over_slowly(grid, args, keywords)
        if callable(grid):
            grid = grid(names.arguments(values))
        numbers = launcher_tiles.read_grid(grid, profile[3][1:4])
        if numbers is None:
            return self._over_slowly(grid, args, keywords)
        if not all(numbers):
            return profile[8]
        if profile[7]:
            note(None)
            given = bytes(block[: profile[1]])
            done = profile[2](given, *numbers, tuple(values)) is not NotImplemented
        elif (stream := self._stream_of(profile)) is None or (
            profile[10] is not None and not profile[10].fill(block)
        ):
            done = False
        else:
            place = profile[3]
            code = _run(profile, block, (place[0], *numbers, *place[4:8], stream))
            done = code == 0
            if done:
                note(Ready(self, profile, block, numbers))
            else:
                self._failed(code, None)
        return profile[8] if done else self._over_slowly(grid, args, keywords)

    def _over_slowly(self, grid: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        note(None)
        return self._launch_over(grid, args, keywords)

    def _launch_over(self, grid: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        raise NotImplementedError

    def _elsewhere(self) -> Any:
        raise NotImplementedError

    def _launch_slowly(self, args: tuple[Any, ...]) -> None:
        raise NotImplementedError

    def _launch_by_name(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        raise NotImplementedError

    def _failed(self, code: int, args: tuple[Any, ...] | None) -> None:
        raise NotImplementedError


class Ready:
    """A launch that is made again; see above."""

    def __init__(
        self, owner: Any, profile: tuple[Any, ...], block: bytearray, grid: tuple[int, ...]
    ) -> None:
        self._owner, self._profile, self._grid = owner, profile, grid
        self._block = bytes(block)

    def __call__(self, *stream: int) -> bool:
        if len(stream) > 1 or not all(isinstance(each, int) for each in stream):
            raise TypeError("a launch that is ready has a stream, or no argument")
        return self._owner.again(self._profile, self._block, self._grid, *stream)

    @property
    def addresses(self) -> list[int]:
        """Those of the arrays of the launch."""
        return _addresses(self._profile[0], self._block)


def _addresses(matchers: Sequence[Any], block: bytes) -> list[int]:
    found: list[int] = []
    for kind, _, wanted, offset, size in matchers:
        if kind == PARTS:
            found += _addresses(wanted[1], block)
        elif kind in _ARRAYS and size >= 8:
            place = offset + (wanted.places[0] if kind == FOREIGN else 0)
            found.append(int.from_bytes(block[place : place + 8], "little"))
    return found


def note(launch: Ready | None) -> None:
    """Note a launch of this thread; None for one that Python has a part in."""
    noted = getattr(_thread, "noted", None)
    if noted is not None:
        noted.append(launch)


def _recorded(profile: tuple[Any, ...], block: bytearray, args: Sequence[Any]) -> bool:
    """Append a launch to this thread's lists; False where none are recorded here."""
    lists = getattr(_thread, "record", None)
    if lists is None:
        return False
    keys, numbers, launches, own = lists[:4]
    for (kind, *_), value in zip(profile[0], args):
        if kind == ARRAY:
            packed = value.__gridlane_launch__[1]
            if own.get(packed) is not packed:
                return False
    for offset, size in zip(profile[8][::2], profile[8][1::2]):
        numbers.append(bytes(block[offset : offset + size]))
        block[offset : offset + size] = bytes(size)
    keys += (profile[2], bytes(block[: profile[1]]))
    launches.append(args)
    return True


def _submit_where_full() -> None:
    lists = _thread.record
    if lists is not None and len(lists[2]) >= lists[4]:
        lists[5]()


def _run(profile: tuple[Any, ...], block: bytearray, target: tuple[Any, ...]) -> int:
    size, call, _, mark = profile[1:5]
    memory = (ctypes.c_ubyte * max(1, size)).from_buffer(block)
    length = ctypes.c_size_t(size)
    start = ctypes.addressof(memory)
    extra = (ctypes.c_void_p * 5)(1, start, 2, ctypes.addressof(length), 0)
    if mark is not None:
        mark[0] = 1
    if profile[10] is not None:
        offsets = profile[10].offsets
        params = (ctypes.c_void_p * len(offsets))(*[start + offset for offset in offsets])
        return call(*target, ctypes.addressof(params), None)
    return call(*target, None, ctypes.addressof(extra) if size else None)


def _block(matchers: Sequence[Any], size: int, args: Sequence[Any]) -> bytearray | None:
    """The parameter block, or None if an argument does not match."""
    if len(args) != len(matchers):
        return None
    block = bytearray(max(1, size))
    return block if all(_fill(block, *each) for each in zip(matchers, args)) else None


def _fill(block: bytearray, matcher: tuple[Any, ...], value: Any) -> bool:
    """Whether an argument matches; its bytes go to the block."""
    kind, cls, wanted, offset, length = matcher
    if kind == PARTS:
        names, inner = wanted
        items = launcher_tiles.parts_of(cls, names, len(inner), value)
        return items is not None and all(_fill(block, *each) for each in zip(inner, items))
    if kind == FIT:
        return selects(block, offset, wanted)
    octets = _octets(kind, cls, wanted, length, value)
    if octets is None or len(octets) < length:
        return False
    block[offset : offset + length] = octets[:length]
    return True


def block_of(matchers: Sequence[Any], size: int, values: Sequence[Any]) -> bytes | None:
    """The parameter block that matchers make of arguments; None if one does not match."""
    block = _block(matchers, size, values)
    return None if block is None else bytes(block[:size])


def _octets(kind: int, cls: Any, wanted: Any, length: int, value: Any) -> bytes | None:
    """The bytes of an argument in little-endian order; None if it does not match."""
    if kind >= launcher_tiles.CONSTANT:
        return launcher_tiles.octets(kind, cls, wanted, length, value)
    if kind == ARRAY:
        if type(value) is not cls:
            return None
        key, packed = value.__gridlane_launch__
        return packed if key is wanted and len(packed) == length else None
    if kind == INTEGER:
        fits = type(value) is int and -(2**63) <= value < 2**63 and _within(value, wanted)
        return struct.pack("<q", value) if fits else None
    if kind == REAL:
        if type(value) is not float:
            return None
        with np.errstate(over="ignore"):
            return np.float32(value).tobytes() if length == 4 else struct.pack("<d", value)
    if kind == BOOLEAN:
        return struct.pack("<q", value) if type(value) is bool else None
    if kind == NOTHING:
        return b"" if value is None else None
    if type(value) is not cls:
        return None
    if kind == FOREIGN:
        return launcher_external_arrays.octets(wanted, value)
    if wanted is not None and not _within(int(value), wanted):
        return None
    octets = bytes(memoryview(value).cast("B")) if value.ndim else value.tobytes()
    return octets if len(octets) == length else None


def _within(value: int, most: int | None) -> bool:
    return most is None or -most <= value <= most


def _chosen() -> Any:
    """The native class if it was built from this source and GRIDLANE_NATIVE does not disable it."""
    if not config().native:
        return PythonLauncher
    try:
        from gridlane.launch import _native
    except ImportError:
        return PythonLauncher
    if getattr(_native, "INTERFACE", 0) != INTERFACE:
        warnings.warn(
            "gridlane's native launcher was built from another version of its source, so launches "
            "take longer; build it again, as by `pip install -e .`",
            RuntimeWarning,
            stacklevel=1,
        )
        return PythonLauncher
    return _native.Launcher


Launcher: Any = _chosen()


record: Callable[[tuple[Any, ...] | None], None] = Launcher._record
"""Set what this thread's delayed launches are appended to; see above."""
select: Callable[[int], None] = Launcher._select
"""Set this thread's device for launchers, by its number; -1 for the first choice."""
redirect: Callable[[int | None], int | None] = Launcher._redirect
"""Set the stream of this thread's launches; see above. Returns the one before."""
query_captures: Callable[[int], None] = Launcher._query_captures
"""Set the address of the driver's cuStreamIsCapturing for launches of torch's tensors; 0 for none.
"""
note_in: Callable[[list[Any] | None], list[Any] | None] = Launcher._note
"""Set what this thread's launches are noted in; returns what they were noted in before."""
