"""Compile MSL as C++ and run its kernels, with traps where C++ is undefined."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from gridlane.core.endings import at_end
from gridlane.emulation.metal.text import HEAD, Kernel, as_cpp

HERE = Path(__file__).parent
COMPILER, LIBRARY = "g++", "metal_stdlib"
FLAGS = (
    "-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-fno-strict-aliasing", "-ffp-contract=off",
    "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,float-cast-overflow",
    "-fsanitize-undefined-trap-on-error",
)  # fmt: skip
SLOTS = 31
"""The limit on buffers, and on threadgroup arguments, of a kernel."""

Shape = tuple[int, int, int]
_Slots = ctypes.c_void_p * SLOTS
_Lengths = ctypes.c_uint32 * SLOTS
_Three = ctypes.c_uint32 * 3
_lock = threading.Lock()


class FailedCompilationError(Exception):
    """The text does not compile; the message is the compiler's."""


class FailedRunError(Exception):
    """A kernel did what Metal leaves undefined; ``address`` is that of an invalid access, if
    any."""

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
    """The directory of compiled code, for this process."""
    path = Path(tempfile.mkdtemp(prefix="gridlane-msl-"))
    at_end(shutil.rmtree, path, ignore_errors=True)
    return path


def compiled(source: str) -> Path:
    """Compile C++ to a shared library.

    Raises:
        FailedCompilationError: g++ refuses it, or is missing.
    """
    path = _made(source)
    if not path.exists():
        _run(str(_written(source)), "-o", str(path))
    return path


def _made(source: str) -> Path:
    return folder() / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}.so"


def _written(source: str) -> Path:
    path = _made(source).with_suffix(".cpp")
    path.write_text(source)
    return path


@cache
def _library_ahead() -> None:
    """Compile <metal_stdlib> itself, which is most of g++'s work for a text."""
    _run("-x", "c++-header", str(HERE / LIBRARY), "-o", str(folder() / f"{LIBRARY}.gch"))


def _run(*arguments: str) -> None:
    command = [COMPILER, *FLAGS, f"-I{folder()}", f"-I{HERE}", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise FailedCompilationError(f"the stand-in for Metal needs g++: {error}") from None
    if done.returncode:
        raise FailedCompilationError(done.stderr[:4000])


@cache
def runtime() -> ctypes.CDLL:
    """The library of fibers."""
    path = compiled((HERE / "runtime.cpp").read_text())
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    library.run_grid.restype = ctypes.c_char_p
    return library


def kernels_of(text: str) -> dict[str, Kernel]:
    """The kernels of a valid text, by name, without compiling it to machine code.

    Raises:
        FailedCompilationError, RefusedTextError.
    """
    code, kernels = as_cpp(text, "k0")
    if text not in _ahead and text not in _accepted:
        with _lock:
            _library_ahead()
            _run("-fsyntax-only", str(_written(f"{HEAD}\n{code}")))
        _accepted.add(text)
    return _by_name(kernels)


def _by_name(kernels: list[Kernel]) -> dict[str, Kernel]:
    return {kernel.name: kernel for kernel in kernels}


class Program:
    """Texts that are compiled together.

    Attributes:
        kernels: of each text, by name.
        path, first: the shared library, and the number of the first text in it.
        compilations: the number of compilations to machine code in this process.
    """

    compilations = 0

    def __init__(self, texts: Sequence[str]) -> None:
        if len(texts) == 1 and texts[0] in _ahead:
            whole, number = _ahead[texts[0]]
            self._open(whole.path, number, [whole.kernels[number]])
            return
        results = [as_cpp(text, f"k{number}") for number, text in enumerate(texts)]
        source = "\n".join((HEAD, *(code for code, _ in results)))
        with _lock:
            _library_ahead()
            Program.compilations += not _made(source).exists()
            path = compiled(source)
        self._open(path, 0, [_by_name(kernels) for _, kernels in results])

    @classmethod
    def of_code(cls, text: str, path: Path, first: int) -> Program:
        """A text whose machine code exists."""
        program = cls.__new__(cls)
        program._open(path, first, [_by_name(as_cpp(text, f"k{first}")[1])])
        return program

    def _open(self, path: Path, first: int, kernels: list[dict[str, Kernel]]) -> None:
        self.path, self.first, self.kernels = path, first, kernels
        with _lock:
            runtime()
            self._library = ctypes.CDLL(str(path))

    def sizes(self, kernel: Kernel) -> list[int]:
        """The bytes that each buffer of a kernel must have; 0 if its type does not say."""
        array = (ctypes.c_ulong * max(1, len(kernel.buffers))).in_dll(
            self._library, f"{kernel.entry}_sizes"
        )
        return list(array)[: len(kernel.buffers)]

    def static_bytes(self, number: int) -> int:
        """The size of the threadgroup arrays that the text with this number declares itself."""
        name = f"k{self.first + number}_static"
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
                entry,
                slots,
                _Three(*grid),
                _Three(*block),
                lengths,
                int(kernel.waits),
                ctypes.c_uint32(seed),
                ctypes.byref(touched),
            )
        if went:
            raise FailedRunError(f"kernel {kernel.name}: {went.decode()}", touched.value)


_accepted: set[str] = set()
"""Valid texts."""
_ahead: dict[str, tuple[Program, int]] = {}
"""Texts that were compiled with others, and their numbers among these."""


def compile_ahead(sources: Sequence[str]) -> None:
    """Compile texts together, in a fraction of the time. A Program of one of them then compiles
    nothing."""
    program = Program(list(dict.fromkeys(sources)))
    _ahead.clear()  # or a long run would keep all code
    _ahead.update({text: (program, n) for n, text in enumerate(dict.fromkeys(sources))})
