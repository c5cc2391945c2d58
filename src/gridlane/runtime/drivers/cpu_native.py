"""Native code in this process: object files linked by LLVM's JIT, and the pool."""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import TypeAlias

import llvmlite
import llvmlite.binding as llvm

from gridlane.core.config import config
from gridlane.core.embedding import is_guest
from gridlane.core.forks import fork_waits
from gridlane.core.processors import FAMILIES, available_processors
from gridlane.native import text
from gridlane.runtime import driver_cache

_MAGIC = b"gl-code1"
LIBRARIES = ("libmvec.so.1", "libm.so.6")
"""Libraries with the mathematical functions of kernels, besides the process itself."""

_Addresses: TypeAlias = "Mapping[str, int] | Linked"

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

_lock = threading.RLock()
_once = threading.RLock()
"""Held while a thread creates one of the process-wide objects."""


_LINKS = 64
"""How many libraries a linker makes. LLVM keeps some 10 KB of each that has ended, and frees them
with the linker: when the last of its libraries ends."""


@cache
def _initialise() -> None:
    """Register this processor and the libraries of mathematical functions with LLVM."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for name in LIBRARIES:
        try:
            llvm.load_library_permanently(name)
        except RuntimeError:
            continue  # The compiler uses the libraries it finds; a missing symbol fails to link.


def _new_linker() -> llvm.LLJIT:
    """A linker of object code."""
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2
    )
    # RuntimeDyld ends the process where the sections of an object lie more than 2 GB apart, as they
    # may in a process with much memory; JITLink places them together.
    return llvm.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)


class _Linkers:
    """The linker of new code, and the number of libraries that it still accepts; guarded by the
    lock."""

    linker: llvm.LLJIT | None = None
    left = 0

    @classmethod
    def take(cls) -> llvm.LLJIT:
        """The linker of one more library."""
        if cls.linker is None or not cls.left:
            cls.linker, cls.left = _new_linker(), _LINKS
        cls.left -= 1
        return cls.linker


class Linked:
    """Code that is linked into the process for the lifetime of this object."""

    def __init__(self, name: str, code: bytes, symbols: tuple[str, ...]) -> None:
        builder = llvm.JITLibraryBuilder().add_current_process().add_object_img(code)
        for symbol in symbols:
            builder = builder.export_symbol(symbol)
        with fork_waits(), _once:
            _initialise()
        with _lock:
            self.library = builder.link(_Linkers.take(), name)

    def __getitem__(self, symbol: str) -> int:
        """The address of an exported symbol."""
        return self.library[symbol]


@cache
def own_features() -> frozenset[str]:
    """The architecture and the features of this processor."""
    with fork_waits(), _once:
        _initialise()
    host_cpu_features = llvm.get_host_cpu_features()
    architecture = FAMILIES.get(platform.machine().lower(), platform.machine())
    return frozenset([architecture, *(name for name, there in host_cpu_features.items() if there)])


def missing(needs: tuple[str, ...]) -> list[str]:
    """The features that code needs and this processor lacks; another architecture is reported
    alone."""
    if not needs or needs[0] not in own_features():
        return [f"the architecture {name}" for name in needs[:1]]
    return [name for name in needs if name not in own_features()]


def object_of(llvm_text: str) -> bytes:
    """Compile LLVM IR to machine code, unoptimised, in a few milliseconds: for functions that spend
    their time in their callees. Later processes read it from the cache."""
    with fork_waits(), _once:
        _initialise()
    key_parts = llvm.get_default_triple(), llvmlite.__version__, *llvm.llvm_version_info, llvm_text
    folder = driver_cache.directory("cpu")
    path = folder and folder / f"{sha256(repr(key_parts).encode()).hexdigest()}.object"
    code = driver_cache.load(path, _MAGIC) if path else b""
    if not code:
        machine = llvm.Target.from_default_triple().create_target_machine(opt=0, reloc="pic")
        code = machine.emit_object(llvm.parse_assembly(llvm_text))
        if path:
            driver_cache.store(path, _MAGIC, code)
    return code


def _addresses() -> _Addresses:
    """The addresses of the pool's functions: those of the compiled module, else of its LLVM IR."""
    try:
        from gridlane.native import _pool
    except ImportError:  # installed without a C compiler
        return Linked("gridlane.pool", object_of(text.text()), (*text.SYMBOLS, text.TABLE))
    return _pool.addresses()


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
        self.code = _addresses()
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
        # Threads do not survive a fork; the child's pool starts its own.
        os.register_at_fork(after_in_child=self.start)

    def start(self) -> None:
        """Start the workers: one fewer than the threads, since the caller works too."""
        main = 0 if is_guest() else threading.main_thread().ident or 0
        self.workers = self._start(self.address, self.threads - 1, main, self.limit)


def pool() -> Pool:
    """The process's pool."""
    with fork_waits(), _once:
        return _pool()


@cache
def _pool() -> Pool:
    return Pool(config().threads or available_processors())
