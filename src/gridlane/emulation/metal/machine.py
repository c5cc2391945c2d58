"""Compiles MSL as C++ and runs its kernels, with traps where C++ would be undefined."""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from gridlane.emulation.metal.text import HEAD, Kernel, as_cpp

HERE = Path(__file__).parent
COMPILER = "g++"
FLAGS = (
    *("-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-fno-strict-aliasing", "-ffp-contract=off"),
    "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow",
    "-fsanitize-undefined-trap-on-error",
)
SLOTS = 31
"""Buffers, and threadgroup arguments, that a kernel can have."""

Shape = tuple[int, int, int]
_Slots = ctypes.c_void_p * SLOTS
_Lengths = ctypes.c_uint32 * SLOTS
_Three = ctypes.c_uint32 * 3
_lock = threading.Lock()


class FailedCompilationError(Exception):
    """The text is no program; the message is the compiler's."""


class FailedRunError(Exception):
    """A kernel did what Metal leaves undefined; with ``address``, touched what it may not."""

    def __init__(self, text: str, address: int = 0) -> None:
        super().__init__(text)
        self.address = address


@cache
def compiler() -> str | None:
    """A g++ with _Float16 and __float128, or None."""
    command = [COMPILER, "-x", "c++", "-fsyntax-only", "-"]
    probe = "_Float16 x; __float128 y;"
    try:
        done = subprocess.run(command, input=probe, text=True, capture_output=True)
    except OSError:
        return None
    return None if done.returncode else COMPILER


@cache
def folder() -> Path:
    """Where compiled code goes, for this process."""
    path = Path(tempfile.mkdtemp(prefix="gridlane-msl-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def compiled(source: str) -> Path:
    """A shared library of C++.

    Raises:
        FailedCompilationError: g++ refuses it, or is missing.
    """
    name = hashlib.sha256(source.encode()).hexdigest()[:16]
    path, made = folder() / f"{name}.cpp", folder() / f"{name}.so"
    if made.exists():
        return made
    path.write_text(source)
    command = [COMPILER, *FLAGS, f"-I{HERE}", str(path), "-o", str(made)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise FailedCompilationError(f"the stand-in for Metal needs g++: {error}") from None
    if done.returncode:
        raise FailedCompilationError(done.stderr[:4000])
    return made


@cache
def runtime() -> ctypes.CDLL:
    """The fibers."""
    path = compiled((HERE / "runtime.cpp").read_text())
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    library.run_grid.restype = ctypes.c_char_p
    return library


class Program:
    """Texts, compiled together.

    Attributes:
        kernels: of each text, by name.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._first = 0
        if len(texts) == 1 and texts[0] in _ahead:
            whole, self._first = _ahead[texts[0]]
            self._library, self.kernels = whole._library, [whole.kernels[self._first]]
            return
        with _lock:
            runtime()
            made = [as_cpp(text, f"k{number}") for number, text in enumerate(texts)]
            path = compiled("\n".join((HEAD, *(code for code, _ in made))))
            self._library = ctypes.CDLL(str(path))
        self.kernels = [{kernel.name: kernel for kernel in kernels} for _, kernels in made]

    def sizes(self, kernel: Kernel) -> list[int]:
        """The bytes that each buffer of a kernel must have; 0 where its type does not say."""
        array = (ctypes.c_ulong * max(1, len(kernel.buffers))).in_dll(
            self._library, f"{kernel.entry}_sizes"
        )
        return list(array)[: len(kernel.buffers)]

    def static_bytes(self, number: int) -> int:
        """Of the threadgroup arrays that the text with this number declares itself."""
        name = f"k{self._first + number}_static"
        return ctypes.c_ulong.in_dll(self._library, name).value

    def run(
        self,
        kernel: Kernel,
        buffers: Mapping[int, int],
        grid: Shape,
        block: Shape,
        groups: Mapping[int, int] | None = None,
        seed: int = 1,
    ) -> None:
        """Run a grid to its end.

        Args:
            buffers: the address in each slot.
            groups: the bytes of each threadgroup argument.
            seed: of the order in which threads run.

        Raises:
            FailedRunError.
        """
        slots, lengths = _Slots(), _Lengths()
        for slot, address in buffers.items():
            slots[slot] = address
        for slot, length in (groups or {}).items():
            lengths[slot] = length
        touched = ctypes.c_ulong()
        with _lock:
            entry = ctypes.cast(self._library[kernel.entry], ctypes.c_void_p)
            went = runtime().run_grid(
                *(entry, slots, _Three(*grid), _Three(*block), lengths, int(kernel.waits)),
                ctypes.c_uint32(seed),
                ctypes.byref(touched),
            )
        if went:
            raise FailedRunError(f"kernel {kernel.name}: {went.decode()}", touched.value)


_ahead: dict[str, tuple[Program, int]] = {}
"""Texts that were compiled with others, and their places among these."""


def compile_ahead(texts: Sequence[str]) -> None:
    """Compile texts together, which takes a fraction of the time. A Program of one of them then
    has no need to."""
    program = Program(list(dict.fromkeys(texts)))
    _ahead.clear()  # or a long run would keep all code
    _ahead.update({text: (program, n) for n, text in enumerate(dict.fromkeys(texts))})
