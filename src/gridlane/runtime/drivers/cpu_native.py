"""The pool of the CPU device in this process."""

from __future__ import annotations

import ctypes
import os
import threading
from functools import cache

from gridlane.core.config import config
from gridlane.core.embedding import is_guest
from gridlane.core.forks import fork_waits
from gridlane.core.processors import available_processors
from gridlane.native import text
from gridlane.runtime.host_code import code

_PYTHON = (
    "PyGILState_Ensure",
    "PyGILState_Release",
    "PyErr_CheckSignals",
    "PyErr_Fetch",
    "PyLong_FromLongLong",
    "PyObject_CallFunctionObjArgs",
    "Py_DecRef",
)
"""Python functions that the native code calls: ``struct gl_python`` of native/pool.h."""

_once = threading.RLock()
"""Held while a thread creates the pool."""


class Pool:
    """The worker threads, and the native launch function.

    ``launch(plan, params, gx, gy, gz, shared, report)`` returns the error code, 0 for none.
    ``launch_all(launches, count, report)`` makes several launches.
    ``stop(thread, wish)`` asks the launch of a thread to stop; a wish of 0 withdraws the request.

    Attributes:
        code: the addresses of its functions by name.
        limit: the nanoseconds of a launch; 0 for any time.
    """

    def __init__(self, threads: int) -> None:
        self.code = code()
        self.limit = round(config().timeout * 1e9)
        pointer, number = ctypes.c_void_p, ctypes.c_int32
        launch = ctypes.CFUNCTYPE(
            number, pointer, ctypes.c_char_p, number, number, number, number, pointer
        )
        start = ctypes.CFUNCTYPE(number, pointer, number, ctypes.c_size_t, ctypes.c_int64)
        stop = ctypes.CFUNCTYPE(None, ctypes.c_size_t, number)
        size = ctypes.CFUNCTYPE(ctypes.c_size_t, number)(self.code["gridlane_bytes"])(threads)
        self.memory = ctypes.create_string_buffer(size + 64)
        self.address = -(-ctypes.addressof(self.memory) // 64) * 64
        table = (pointer * len(_PYTHON)).from_address(self.code[text.TABLE])
        for place, name in enumerate(_PYTHON):
            table[place] = ctypes.cast(getattr(ctypes.pythonapi, name), pointer)
        self.address_of_launch = self.code["gridlane_launch"]
        self.launch = launch(self.address_of_launch)
        launch_all = ctypes.CFUNCTYPE(number, pointer, number, pointer)
        self.launch_all = launch_all(self.code["gridlane_launch_all"])
        self.stop = stop(self.code["gridlane_stop"])
        self._start = start(self.code["gridlane_start"])
        self.threads = threads
        self.start()
        # Threads do not survive a fork; the first launches of the child start its own.
        os.register_at_fork(after_in_child=self.start)

    def start(self) -> None:
        """Start the workers: one fewer than the threads, since the caller works too. Also called in
        the child of a fork, whose first launches start them."""
        main = 0 if is_guest() else threading.main_thread().ident or 0
        self.workers = self._start(self.address, self.threads - 1, main, self.limit)


def pool() -> Pool:
    """The process's pool."""
    with fork_waits(), _once:
        return _pool()


@cache
def _pool() -> Pool:
    return Pool(config().threads or available_processors())
