"""The functions of native/queue.h by ctypes, where gridlane has no compiled module: the functions
of native/queue_module.c, which documents them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

from gridlane.runtime import host_code

_i32, _u32, _i64, _u64 = ctypes.c_int32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_uint64
_PLACE = ctypes.c_size_t  # an address: c_void_p returns None for null
_CALL, _PASS, _FOLLOW = 1, 4, 5
_RUN, _DROPPED, _FORGET = 1, 2, 6
_ITEM = 64
"""Its bytes; the parameters of a launch are behind them."""
_SLICE_NS, _LONGEST_NS = 1_000_000, 16_000_000
_TYPES: dict[str, tuple[Any, ...]] = {
    "queues": (_PLACE,),
    "queues_busy": (_u32, _PLACE, _PLACE, _u32),
    "queues_refuse": (None, _PLACE, _i32),
    "queue_new": (_PLACE, _PLACE),
    "queue_release": (None, _PLACE),
    "queue_append": (_i32, _PLACE, _PLACE),
    "queue_serve": (_i32, _PLACE),
    "queue_leave": (_i32, _PLACE),
    "queue_next": (_i32, _PLACE, ctypes.POINTER(_u64)),
    "queue_wait": (_i32, _PLACE, _PLACE, _PLACE, _u64, _i64, _PLACE),
    "queues_turn": (_PLACE, _PLACE),
    "queue_begin_wait": (_i32, _PLACE, _PLACE),
    "queue_end_wait": (None, _PLACE),
    "queue_waits_for": (_PLACE, _PLACE),
    "queue_of": (_PLACE, _PLACE, _PLACE),
    "queue_failure": (_PLACE, _PLACE),
    "queue_set": (None, _PLACE, _i32, _i32),
    "queue_get": (_u64, _PLACE, _i32),
    "queue_lost": (_u64, _PLACE),
    "queues_forget": (_u64, _PLACE),
    "launch_item": (_PLACE, _u32, _PLACE, ctypes.c_size_t),
    "item": (_PLACE, _u32, _u32, _u64),
    "mark": (_PLACE,),
    "mark_release": (None, _PLACE, _PLACE),
    "event": (_PLACE,),
    "event_release": (None, _PLACE, _PLACE),
    "event_record": (_i32, _PLACE, _PLACE, _PLACE),
    "event_mark": (_PLACE, _PLACE, _PLACE),
    "event_time": (_i64, _PLACE, _PLACE),
    "event_capture": (None, _PLACE, _PLACE),
    "map": (_PLACE, _PLACE, _i32),
    "map_release": (None, _PLACE, _PLACE),
    "range_add": (_i32, _PLACE, _PLACE, _u64, _u64, _u32),
    "range_remove": (None, _PLACE, _PLACE, _u64),
    "range_find": (_i32, _PLACE, _PLACE, _u64, _u64, ctypes.POINTER(_u64)),
    "range_meets": (_i32, _PLACE, _PLACE, _u64, _u64),
    "range_size": (_u64, _PLACE, _PLACE, _u64),
    "ranges": (ctypes.c_size_t, _PLACE, _PLACE, _PLACE, ctypes.c_size_t),
    "block_adopt": (_i32, _PLACE, _u64, _PLACE),
    "block_release": (None, _PLACE, _u64),
    "large_free": (None, _u64, _u64),
}
_WITHOUT_GIL = frozenset(["queue_next", "queue_wait"])
_IS_PASSED = 4
"""Its offset in ``struct gl_mark``."""
SIZES = 8
"""``GL_SIZES``."""
_SPACE = 8
"""Its offset in ``struct gl_queues``."""
_LAST = (1 << 64) - 1


def _owned(piece: object) -> int:
    """The number of a piece, with a reference that the item owns."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(piece))
    return id(piece)


def _taken(number: int) -> object:
    """The piece with a number, whose item is over."""
    piece = cast("object", ctypes.cast(number, ctypes.py_object).value)
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(piece))
    return piece


class _Launch(ctypes.Structure):
    """``struct gl_launch``."""

    _fields_ = (
        *((name, _u64) for name in ("launch", "native", "plan", "users")),
        ("grid", _u32 * 3),
        ("shared", _u32),
    )


class _Busy:
    """Whose truth is whether any queue has unfinished work."""

    unfinished: ctypes.c_uint64 | None = None

    def __bool__(self) -> bool:
        return self.unfinished is not None and self.unfinished.value != 0


class Queues:
    """The functions; see ``native_queues.Functions``."""

    def __init__(self) -> None:
        self.BUSY = _Busy()
        self._all = 0
        self._once = threading.RLock()

    @cached_property
    def _calls(self) -> dict[str, Callable[..., Any]]:
        code, made = host_code.code(), dict[str, Callable[..., Any]]()
        for name, types in _TYPES.items():
            kind = ctypes.CFUNCTYPE if name in _WITHOUT_GIL else ctypes.PYFUNCTYPE
            made[name] = kind(*types)(code[f"gridlane_{name}"])
        return made

    def _call(self, name: str, *given: Any) -> Any:
        return self._calls[name](*given)

    def _made(self, name: str, *given: Any) -> int:
        """The address of what a function makes."""
        made: int = self._call(name, *given)
        if not made:
            raise MemoryError
        return made

    def _use(self, address: int) -> None:
        self._all, self.BUSY.unfinished = address, _u64.from_address(address)

    def state(self) -> int:
        with self._once:
            if not self._all:
                self._use(self._made("queues"))
        return self._all

    def adopt(self, address: int, /) -> None:
        if self._all not in (0, address):
            raise RuntimeError("this process has queues already")
        self._use(address)

    def new_queue(self) -> int:
        return self._made("queue_new", self.state())

    def release_queue(self, queue: int, /) -> None:
        self._call("queue_release", queue)

    def append(self, queue: int, piece: object, flags: int, /) -> bool:
        return self.extend(queue, (piece,), (flags,))

    def append_launch(
        self,
        queue: int,
        piece: object,
        flags: int,
        launch: int,
        native: int,
        params: bytes,
        gx: int,
        gy: int,
        gz: int,
        shared: int,
        /,
    ) -> bool:
        item = self._item((piece, launch, native, params, gx, gy, gz, shared), flags)
        return bool(self._call("queue_append", queue, item))

    def _item(self, piece: Any, flags: int) -> int:
        """An item of a piece, or of a launch; see ``extend``."""
        if not isinstance(piece, tuple):
            return self._made("item", _CALL, flags, _owned(piece))
        owner, launch, native, params, gx, gy, gz, shared = cast("tuple[Any, ...]", piece)
        how = _Launch(launch, native, id(owner), 0, (gx, gy, gz), shared)
        item = self._made("launch_item", flags, ctypes.addressof(how), len(params))
        ctypes.memmove(item + _ITEM, params, len(params))
        _owned(owner)
        return item

    def _forget(self) -> None:
        """Forget the pieces of launches that are over."""
        while number := self._call("queues_forget", self._all):
            _taken(number)

    def append_mark(self, queue: int, mark: int, follows: bool, /) -> bool:
        item = self._made("item", _FOLLOW if follows else _PASS, 1, mark)
        return bool(self._call("queue_append", queue, item))

    def extend(self, queue: int, pieces: tuple[object, ...], flags: tuple[int, ...], /) -> bool:
        first = 0
        for piece, flag in zip(reversed(pieces), reversed(flags), strict=True):
            item = self._item(piece, flag)
            _PLACE.from_address(item).value, first = first, item
        return bool(first and self._call("queue_append", queue, first))

    def serve(self, queue: int, /) -> bool:
        return bool(self._call("queue_serve", queue))

    def leave(self, queue: int, /) -> bool:
        return bool(self._call("queue_leave", queue))

    def next(self, queue: int, /) -> Any:
        while True:
            number = _u64()
            code: int = self._call("queue_next", queue, ctypes.byref(number))
            if code == _RUN:
                return _taken(number.value)
            if code == _DROPPED:
                _taken(number.value)
            elif code != _FORGET:
                return code
            self._forget()

    def wait(self, queue: int, mark: int, count: int, own: int, /) -> bool:
        ns, code = _SLICE_NS, 0
        try:
            while not code:
                code = self._call("queue_wait", self.state(), queue, mark, count, ns, own)
                ns = min(2 * ns, _LONGEST_NS)
        except BaseException:  # of a handler
            if own:
                self._call("queue_end_wait", own)
            raise
        self._forget()
        return code > 0

    def turn(self) -> int:
        return self._made("queues_turn", self.state())

    def begin_wait(self, own: int, queue: int, /) -> bool:
        return bool(self._call("queue_begin_wait", own, queue))

    def end_wait(self, own: int, /) -> None:
        self._call("queue_end_wait", own)

    def waits_for(self, queue: int, /) -> int:
        return self._call("queue_waits_for", queue)

    def queue_of(self, mark: int, /) -> int:
        return self._call("queue_of", self._all, mark)

    def set(self, queue: int, what: int, value: bool, /) -> None:
        self._call("queue_set", queue, what, value)

    @property
    def end(self) -> Callable[[int, object], object]:
        return self._end

    @cached_property
    def _end(self) -> Callable[[int, object], object]:
        # The function itself: a method of Python may be interrupted.
        kind = ctypes.PYFUNCTYPE(None, _PLACE, ctypes.py_object)
        return kind(host_code.code()["gridlane_queue_end"])

    def sizes(self) -> tuple[int, ...]:
        return tuple((_u32 * SIZES).from_address(host_code.code()["gridlane_sizes"]))

    def get(self, queue: int, what: int, /) -> int:
        found: int = self._call("queue_get", queue, what)
        self._forget()
        return found

    def failure(self, queue: int, /) -> int:
        return self._call("queue_failure", queue)

    def lost(self, queue: int, /) -> int:
        self._forget()
        return self._call("queue_lost", queue)

    def busy(self) -> tuple[int, ...]:
        if not self.BUSY:
            return ()
        most: int = self._call("queues_busy", self._all, 0, 0)
        made = (_PLACE * most)()
        count: int = self._call("queues_busy", self._all, ctypes.addressof(made), most)
        return tuple(made[: min(count, most)])

    def count_refusals(self, change: int, /) -> None:
        self._call("queues_refuse", self.state(), change)

    def new_mark(self) -> int:
        self.state()
        return self._made("mark")

    def release_mark(self, mark: int, /) -> None:
        self._call("mark_release", self._all, mark)

    def is_passed(self, mark: int, /) -> bool:
        return _i32.from_address(mark + _IS_PASSED).value != 0

    def new_event(self) -> int:
        self.state()
        return self._made("event")

    def release_event(self, event: int, /) -> None:
        self._call("event_release", self._all, event)

    def record(self, event: int, queue: int, /) -> bool:
        needs_worker: int = self._call("event_record", self._all, event, queue)
        if needs_worker < 0:
            raise MemoryError
        return needs_worker != 0

    def mark_of(self, event: int, /) -> int:
        return self._call("event_mark", self._all, event)

    def time_of(self, event: int, /) -> int:
        return self._call("event_time", self._all, event)

    def note_captured(self, event: int, /) -> None:
        self._call("event_capture", self._all, event)

    # --- memory ---

    @cached_property
    def _space(self) -> int:
        """The address of ``struct gl_space``."""
        return _u64.from_address(self.state() + _SPACE).value

    def new_map(self, of: int, /) -> int:
        return self._made("map", self._space, of)

    def release_map(self, map: int, /) -> None:
        self._call("map_release", self._space, map)

    def add_range(self, map: int, start: int, size: int, kind: int, /) -> None:
        if not 0 <= start <= start + size <= _LAST:
            raise OverflowError("the range ends behind the last address")
        if not self._call("range_add", self._space, map, start, size, kind):
            raise MemoryError

    def remove_range(self, map: int, start: int, /) -> None:
        self._call("range_remove", self._space, map, start)

    def find_range(self, map: int, address: int, size: int, /) -> int | None:
        if not (0 <= address <= _LAST and 0 <= size <= _LAST):
            return None
        start = _u64()
        found = self._call(
            "range_find", self._space, map, int(address), int(size), ctypes.byref(start)
        )
        return start.value if found else None

    def range_meets(self, map: int, address: int, size: int, /) -> bool:
        return bool(self._call("range_meets", self._space, map, address, size))

    def range_size(self, map: int, start: int, /) -> int:
        return self._call("range_size", self._space, map, start)

    def ranges(self, map: int, /) -> list[tuple[int, int]]:
        most: int = self._call("ranges", self._space, map, 0, 0)
        made = (_u64 * (2 * most))()
        count: int = self._call("ranges", self._space, map, ctypes.addressof(made), most)
        return list(zip(made[::2], made[1::2], strict=True))[: min(count, most)]

    def adopt_block(self, address: int, /) -> tuple[int, int, int] | None:
        made = (_u64 * 3)()
        if not 0 <= address <= _LAST:
            return None
        found = self._call("block_adopt", self._space, int(address), ctypes.addressof(made))
        return (made[0], made[1], made[2]) if found else None

    def release_block(self, start: int, /) -> None:
        self._call("block_release", self._space, start)

    def free_large(self, start: int, size: int, /) -> None:
        self._call("large_free", start, size)
