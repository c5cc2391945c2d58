"""Native code in this process: object files linked by LLVM's JIT, and gridlane's own functions."""

from __future__ import annotations

import platform
import threading
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from typing import TypeAlias

import llvmlite
import llvmlite.binding as llvm

from gridlane.core.forks import fork_waits
from gridlane.core.processors import FAMILIES
from gridlane.native import compiled, text
from gridlane.runtime import driver_cache

_MAGIC = b"gl-code1"
LIBRARIES = ("libmvec.so.1", "libm.so.6")
"""Libraries with the mathematical functions of kernels, besides the process itself."""

_Addresses: TypeAlias = "Mapping[str, int] | Linked"

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


def code() -> _Addresses:
    """The addresses of native functions: those of the compiled module, else of its LLVM IR."""
    with fork_waits(), _once:
        return _code()


@cache
def _code() -> _Addresses:
    module = compiled()
    if module is not None:
        return module.addresses()
    symbols = (*text.SYMBOLS, text.TABLE, text.SIZES)
    return Linked("gridlane.pool", object_of(text.text()), symbols)
