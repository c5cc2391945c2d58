"""Every environment variable that gridlane reads, in one place."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from gridlane.core import processors
from gridlane.core.frozen import frozen
from gridlane.core.options import FLOATS, FP64

METAL = ("", "emulated")
DUMPED = frozenset(("ir", "llvm", "asm"))
"""The stages that GRIDLANE_DUMP prints."""
TOOLKITS = ("CUDA_HOME", "CUDA_PATH")


@frozen
class Config:
    """The settings of this process.

    Attributes:
        device: GRIDLANE_DEVICE, the device that ``cuda`` means: ``cpu`` (default),
            ``interp``, ``cuda``, ``vulkan``, ``webgpu``, ``opengl``, ``metal`` or, of several GPUs,
            ``cuda:1`` and the like.
        trace: GRIDLANE_TRACE=1 prints a line for each launch and for each call of CUDA's own
            interface; all launches take the slow path then.
        check: GRIDLANE_CHECK=1 compiles checks of each access to memory into kernels.
        quiet: GRIDLANE_QUIET=1 turns off the line that the first refused launch and each kernel
            that fails print in programs of CUDA's own interface, and the one at the end.
        error_history: GRIDLANE_ERROR_HISTORY, how many of its last errors a process keeps; 1000 by
            default.
        error_file: GRIDLANE_ERRORS, the file that each error is appended to; None (default) for
            none.
        cpu: GRIDLANE_CPU, the processor that the CPU target compiles for, ``NAME[,+feature,
            -feature]``; "" (default) is the one that Python runs on.
        threads: GRIDLANE_THREADS, worker threads of the CPU device; 0 means one per core.
        cache: GRIDLANE_CACHE=0 turns the disk cache off.
        cache_dir: GRIDLANE_CACHE_DIR, where compiled kernels are kept, or else the folder
            ``gridlane`` of NUMBA_CACHE_DIR; None for the user's cache.
        verify: GRIDLANE_VERIFY=1 runs the IR verifier after every pass (the tests do).
        native: GRIDLANE_NATIVE=0 launches GPU kernels without the C extension, and every
            call of the C libraries enters Python then.
        libdevice: GRIDLANE_LIBDEVICE, the libdevice.10.bc to use for NVIDIA GPUs. Without one
            (and where this names no file) they compute with gridlane's own functions.
        toolkits: CUDA_HOME and CUDA_PATH, where NVIDIA's own programs look for its toolkit.
        fp64: GRIDLANE_FP64, how kernels without ``fp64=`` compute float64 on a device
            that has none: ``emulate`` (default), ``exact``, ``narrow`` or ``refuse``.
        floats: GRIDLANE_FLOATS, the type of Python floats in kernels without ``floats=``:
            ``float64`` (default) or ``float32``.
        metal: GRIDLANE_METAL=emulated makes ``metal`` a stand-in that runs on the CPU.
        metal_seed: GRIDLANE_METAL_SEED, of the order in which that runs threads and command
            buffers.
        triton_backend: GRIDLANE_TRITON_BACKEND, the backend that programs of Triton's language
            read of the device; "" (default) is ``cuda`` on NVIDIA GPUs and else ``cpu``.
        compile_timeout: GRIDLANE_COMPILE_TIMEOUT, the seconds after which a compiler of CUDA C++
            is ended; 60 by default.
        spin_limit: GRIDLANE_SPIN_LIMIT, the seconds for which a thread of a kernel waits in a loop
            for other threads, on devices that may not run these; 10 by default, 0 for ever.
        timeout: GRIDLANE_TIMEOUT, the seconds after which a launch on ``cpu`` and ``interp`` is
            stopped with an error; 0 (default) is never. Other devices are refused then.
        stack: GRIDLANE_STACK, the bytes of each thread's stack for functions that call
            themselves, and again for their local variables; 16384 by default.
        heap: GRIDLANE_HEAP, the bytes of each device that ``malloc`` of kernels in PTX and CUDA
            C++ takes its blocks of; 8 MiB by default.
        visible_devices: CUDA_VISIBLE_DEVICES, which devices CUDA's own interface has, and in which
            order, as numbers and UUIDs; None (default) is all. NVIDIA's driver reads it itself.
        telemetry: GRIDLANE_TELEMETRY=1 has runtimes of actors publish their counters, for
            ``gridlane actors top`` of the same user.
        full_tracebacks: GRIDLANE_FULL_TRACEBACKS=1 keeps gridlane's own frames in the tracebacks
            of launches.
        cuda_ipc: GRIDLANE_CUDA_IPC=1 allocates arrays on NVIDIA GPUs by cuMemAlloc, not of a pool,
            so that other processes can open them.
        memory_trace: GRIDLANE_MEMORY_TRACE=1 notes where the program allocates memory of devices,
            for ``cuda.memory.explain()``.
        memory_manager: NUMBA_CUDA_MEMORY_MANAGER, the module whose ``_numba_memory_manager``
            allocates the memory of devices; "" or ``default`` for their own.
        dump: GRIDLANE_DUMP=ir,llvm,asm prints these stages of each compilation to stderr.
        dump_folder: GRIDLANE_DUMP=DIR, any other value, writes every stage of each compilation
            there; the caches are off.
        override: GRIDLANE_OVERRIDE, a folder with changed files of GRIDLANE_DUMP=DIR, each of which
            replaces its stage; the caches are off.
    """

    device: str
    cpu: str
    trace: bool
    check: bool
    quiet: bool
    error_history: int
    error_file: Path | None
    threads: int
    cache: bool
    cache_dir: Path | None
    verify: bool
    native: bool
    libdevice: Path | None
    toolkits: tuple[Path, ...]
    fp64: str
    floats: str
    metal: str
    metal_seed: int
    triton_backend: str
    compile_timeout: float
    spin_limit: float
    timeout: float
    stack: int
    heap: int
    visible_devices: str | None
    telemetry: bool
    full_tracebacks: bool
    cuda_ipc: bool
    memory_trace: bool
    memory_manager: str
    dump: frozenset[str]
    dump_folder: Path | None
    override: Path | None

    @property
    def spin_nanoseconds(self) -> int:
        """``spin_limit`` in nanoseconds."""
        return round(self.spin_limit * 1e9)

    @property
    def spin_milliseconds(self) -> int:
        """``spin_limit`` in milliseconds, 24 days at the most."""
        return min(-(-self.spin_nanoseconds // 10**6), 2**31 - 1)


def is_seconds(text: str) -> bool:
    """Whether a text is a number of seconds."""
    return re.fullmatch(r"\d*\.?\d+", text) is not None


def of_others(names: Iterable[str]) -> dict[str, str | None]:
    """Variables that other programs read, such as compilers of C++; None for those not set."""
    return {name: os.environ.get(name) for name in names}


def beginning_with(prefix: str) -> dict[str, str]:
    """Variables whose names have a prefix: those of another program, or of one room's settings."""
    return {name: value for name, value in os.environ.items() if name.startswith(prefix)}


def further_backends() -> tuple[str, ...]:
    """GRIDLANE_BACKENDS: the modules, with commas between, that register backends of other
    packages. The list of backends needs it where other settings may still be invalid."""
    modules = map(str.strip, os.environ.get("GRIDLANE_BACKENDS", "").split(","))
    return tuple(filter(None, modules))


@contextmanager
def set_for_others(name: str, value: str) -> Generator[None]:
    """Set a variable that another library reads, for a while, where it is unset or empty."""
    before = os.environ.get(name)
    if before:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def read(environment: Mapping[str, str] = os.environ) -> Config:
    """The configuration that an environment sets.

    >>> read({"GRIDLANE_DEVICE": "interp"}).device
    'interp'
    """
    get = environment.get
    is_on, checked = partial(_is_on, environment), partial(_checked, environment)
    libdevice = get("GRIDLANE_LIBDEVICE")
    dump, dump_folder, override = _stages(environment)
    # No cache may have code of a changed stage, nor keep one from being compiled.
    by_files = dump_folder is not None or override is not None
    return Config(
        device=get("GRIDLANE_DEVICE", "cpu"),
        cpu=_processor(get("GRIDLANE_CPU", "")),
        trace=is_on("GRIDLANE_TRACE"),
        check=is_on("GRIDLANE_CHECK"),
        quiet=is_on("GRIDLANE_QUIET"),
        error_history=int(checked("GRIDLANE_ERROR_HISTORY")),
        error_file=Path(file).absolute() if (file := get("GRIDLANE_ERRORS")) else None,
        threads=int(checked("GRIDLANE_THREADS")),
        cache=is_on("GRIDLANE_CACHE", "1") and not by_files,
        cache_dir=_cache_dir(get("GRIDLANE_CACHE_DIR"), get("NUMBA_CACHE_DIR")),
        verify=is_on("GRIDLANE_VERIFY"),
        native=is_on("GRIDLANE_NATIVE", "1"),
        libdevice=Path(libdevice) if libdevice else None,
        toolkits=tuple([Path(home) for name in TOOLKITS if (home := get(name))]),
        fp64=checked("GRIDLANE_FP64"),
        floats=checked("GRIDLANE_FLOATS"),
        metal=checked("GRIDLANE_METAL"),
        metal_seed=int(checked("GRIDLANE_METAL_SEED")),
        triton_backend=get("GRIDLANE_TRITON_BACKEND", ""),
        compile_timeout=float(checked("GRIDLANE_COMPILE_TIMEOUT")),
        spin_limit=float(checked("GRIDLANE_SPIN_LIMIT")),
        timeout=float(checked("GRIDLANE_TIMEOUT") or 0),
        stack=int(checked("GRIDLANE_STACK")),
        heap=int(checked("GRIDLANE_HEAP")),
        visible_devices=get("CUDA_VISIBLE_DEVICES"),
        telemetry=is_on("GRIDLANE_TELEMETRY"),
        full_tracebacks=is_on("GRIDLANE_FULL_TRACEBACKS"),
        cuda_ipc=is_on("GRIDLANE_CUDA_IPC"),
        memory_trace=is_on("GRIDLANE_MEMORY_TRACE"),
        memory_manager=get("NUMBA_CUDA_MEMORY_MANAGER", "").replace("default", ""),
        dump=dump,
        dump_folder=dump_folder,
        override=override,
    )


def _processor(text: str) -> str:
    if text:
        try:
            processors.parse(text)
        except ValueError as error:
            raise ValueError(f"GRIDLANE_CPU={text!r}: {error}") from None
    return text


def _is_within(text: str, least: int, most: int) -> bool:
    return text.isdigit() and least <= int(text) <= most


_CHECKED: dict[str, tuple[str, Callable[[str], bool], str]] = {
    "GRIDLANE_ERROR_HISTORY": (
        "1000", lambda text: _is_within(text, 1, 10**6), "a number of errors from 1 to 1000000"
    ),
    "GRIDLANE_THREADS": ("0", str.isdigit, "a number of threads, or 0 for one a core"),
    "GRIDLANE_FP64": (FP64[0], FP64.__contains__, f"one of {', '.join(FP64)}"),
    "GRIDLANE_FLOATS": (FLOATS[0], FLOATS.__contains__, f"one of {', '.join(FLOATS)}"),
    "GRIDLANE_METAL": ("", METAL.__contains__, "emulated, or nothing for the real one"),
    "GRIDLANE_METAL_SEED": ("1", str.isdigit, "a number"),
    "GRIDLANE_COMPILE_TIMEOUT": (
        "60", lambda text: is_seconds(text) and float(text) > 0, "a number of seconds above 0"
    ),
    "GRIDLANE_SPIN_LIMIT": ("10", is_seconds, "a number of seconds, or 0 for ever"),
    "GRIDLANE_TIMEOUT": (
        "0", lambda text: not text or is_seconds(text), "a number of seconds, or 0 for any time"
    ),
    "GRIDLANE_STACK": (
        "16384", lambda text: _is_within(text, 64, 1 << 17), "a number of bytes from 64 to 131072"
    ),
    "GRIDLANE_HEAP": (
        str(8 << 20), lambda text: _is_within(text, 1 << 12, 1 << 30),
        "a number of bytes from 4096 to 2^30",
    ),
}  # fmt: skip
"""Variables whose values are checked: the default, what is valid, and that in words."""


def _checked(environment: Mapping[str, str], name: str) -> str:
    default, is_valid, what = _CHECKED[name]
    text = environment.get(name, default)
    if not is_valid(text):
        raise ValueError(f"{name}={text!r}: {what}")
    return text


def _is_on(environment: Mapping[str, str], name: str, default: str = "0") -> bool:
    return environment.get(name, default) not in ("", "0")


def _stages(environment: Mapping[str, str]) -> tuple[frozenset[str], Path | None, Path | None]:
    """The stages of compilations that are printed, and the folders to write them to and to read
    changed ones from."""
    text, folder = environment.get("GRIDLANE_DUMP", ""), environment.get("GRIDLANE_OVERRIDE")
    dump = frozenset(filter(None, text.split(",")))
    dump_folder = None if dump <= DUMPED else Path(text).absolute()
    if dump_folder is not None and (dump & DUMPED or dump_folder.is_file()):
        raise ValueError(
            f"GRIDLANE_DUMP={text!r}: a folder, or some of ir, llvm and asm with commas between"
        )
    override = Path(folder).absolute() if folder else None
    if override is not None and not override.is_dir():
        raise ValueError(f"GRIDLANE_OVERRIDE={folder!r}: there is no such folder")
    return dump & DUMPED, dump_folder, override


def _cache_dir(own: str | None, numbas: str | None) -> Path | None:
    # A folder inside: others may write to numba's own, and gridlane reads no such folder.
    # Absolute, as programs change their directory.
    folder = Path(own) if own else Path(numbas, "gridlane") if numbas else None
    return folder and folder.absolute()


@cache
def config() -> Config:
    """The configuration of this process, read once."""
    return read()


def cache_folder(name: str = "") -> Path | None:
    """The directory of the caches, or one in it; None when GRIDLANE_CACHE=0 turned them off."""
    settings = config()
    if not settings.cache:
        return None
    if settings.cache_dir is not None:
        return settings.cache_dir / name
    from platformdirs import user_cache_dir  # not needed where the directory is given

    return Path(user_cache_dir("gridlane", appauthor=False), name)
