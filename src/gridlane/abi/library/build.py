"""Compile the C libraries, for the Python that runs this."""

from __future__ import annotations

import hashlib
import shutil
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from gridlane.abi.library.mark import mark
from gridlane.abi.library.stubs import stubs
from gridlane.core.cuda_table.functions import Api
from gridlane.core.cuda_text import numbers
from gridlane.core.error_table import NAMES
from gridlane.core.errors import CompileError
from gridlane.core.extras import install
from gridlane.native.text import HEADERS, QUEUES, ROOM, SOURCES

_ROOM = Path(__file__).parent
_PACKAGE = _ROOM.parents[1]


@dataclass(frozen=True, slots=True)
class Library:
    """A library to build.

    Attributes:
        api: the functions that it has; None for one that never enters Python.
        major: its version of CUDA.
        file: its name, which is its soname as well.
        sources: compiled with the stubs.
        versioned: whether its symbols have its name as their version.
    """

    api: Api | None
    major: int
    file: str
    sources: tuple[str, ...]
    versioned: bool = False


_ALL = "bridge.c", "errors.c"
_HOT = (
    *_ALL,
    "hot.c",
    "hot_memory.c",
    "hot_copies.c",
    "hot_launches.c",
    "hot_streams.c",
    "hot_events.c",
    "hot_order.c",
    *map(str, QUEUES),
)
_NATIVE = tuple(str(each) for each in SOURCES if each not in QUEUES)
"""The host device's thread pool, for processes without Python."""
_READY = *_NATIVE, "ready.c", "ready_key.c", "ready_file.c", "ready_object.c", "digest.c"
_RUNTIME = *_HOT, *_READY, "registration.c", "entry_point.c"
_ALIKE = sorted({*_RUNTIME} - {"bridge.c", "errors.c", "entry_point.c"})
"""Sources that are the same in each library."""
_FAILURES = (
    "CUDA_ERROR_DEINITIALIZED", "CUDA_ERROR_INVALID_VALUE", "CUDA_ERROR_NOT_FOUND",
    "CUDA_ERROR_NOT_INITIALIZED", "CUDA_ERROR_NOT_READY", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    "CUDA_ERROR_SYSTEM_NOT_READY", "CUDA_ERROR_UNKNOWN", "cudaErrorInsufficientDriver",
    "cudaErrorMissingConfiguration", "NVRTC_ERROR_INTERNAL_ERROR",
)  # fmt: skip
"""The failures that sources in C name."""
PRELOADED = "libgridlane_preload.so"
LIBRARIES = (
    Library("driver", 13, "libcuda.so.1", (*_HOT, "proc_address.c", "export_table.c")),
    Library("runtime", 12, "libcudart.so.12", _RUNTIME, versioned=True),
    Library("runtime", 13, "libcudart.so.13", _RUNTIME, versioned=True),
    Library("nvrtc", 12, "libnvrtc.so.12", _ALL, versioned=True),
    Library("nvrtc", 13, "libnvrtc.so.13", _ALL, versioned=True),
    Library(None, 13, PRELOADED, ("preload.c",)),
)


def digest() -> str:
    """The inputs of the libraries: their text, and the Python that they open."""
    hash_state = hashlib.sha256()
    for header in (*sorted(_ROOM.glob("*.h")), *HEADERS):
        hash_state.update(header.read_bytes())
    for each in LIBRARIES:
        hash_state.update(_text(each).encode())
        for name in each.sources:
            hash_state.update((_ROOM / name).read_bytes())
    for word in (
        _libpython(),
        _program(),
        _codecs(),
        _site(),
        _PACKAGE,
        _llvm(),
        sys.version_info[:2],
    ):
        hash_state.update(f"{word}\0".encode())
    return hash_state.hexdigest()


def _text(library: Library) -> str:
    return stubs(library.api, library.major) if library.api else ""


def numbered() -> list[str]:
    """The compiler's options that define the numbers of failures by their names."""
    (of_nvrtc,) = numbers("nvrtcResult")
    return [f"-D{name}={(NAMES | of_nvrtc)[name]}" for name in _FAILURES]


def compiler() -> list[str]:
    """The command of a C compiler: cc, else that of the ``ziglang`` package.

    Raises:
        CompileError: there is neither.
    """
    return _command("cc")


def archiver() -> list[str]:
    """The command that makes static libraries: ar, else that of the ``ziglang`` package.

    Raises:
        CompileError: there is neither.
    """
    return _command("ar")


def _command(name: str) -> list[str]:
    path = shutil.which(name)
    if path:
        return [path]
    try:
        import ziglang  # noqa: F401  # pyright: ignore  # an extra
    except ImportError:
        raise CompileError(f"no {name}: install it, or {install('cpp')}") from None
    return [sys.executable, "-m", "ziglang", name]


def build_all(folder: Path) -> list[Path]:
    """Compile the libraries into a folder and return their paths. Sources that several libraries
    share are compiled once.

    Raises:
        CompileError: the compiler's own messages, or that there is none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sysconfig.get_config_vars()  # made at the first call; other threads could see a part of it
    with TemporaryDirectory(dir=folder) as room, ThreadPoolExecutor() as pool:
        built = pool.map(lambda name: _object(name, Path(room)), _ALIKE)
        objects = dict(zip(_ALIKE, built, strict=True))
        return list(pool.map(lambda each: _built(each, folder, (), objects), LIBRARIES))


def build(library: Library, folder: Path, *options: str) -> Path:
    """Compile a library into a folder; return its path. ``options`` are the compiler's.

    Raises:
        CompileError: the compiler's own messages, or that there is none.
    """
    return _built(library, folder, options, {})


def _built(
    library: Library, folder: Path, options: Sequence[str], objects: Mapping[str, Path]
) -> Path:
    """A library in a folder. ``objects`` are sources that are compiled already."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / library.file
    with TemporaryDirectory(dir=folder) as room:  # a reader finds the old library or the new one
        built = Path(room) / library.file
        _compile(library, Path(room), built, options, objects)
        built.replace(path)
    return path


def _object(name: str, room: Path) -> Path:
    """The object of a source that is the same in each library."""
    path = room / f"{Path(name).name}.o"
    _run(name, [*_command_of({}), "-c", str(_ROOM / name), "-o", str(path)])
    return path


def _command_of(more: Mapping[str, str]) -> list[str]:
    """The compiler, its options and definitions, and further ones."""
    defined = {
        "GL_LIBPYTHON": _libpython(),
        "GL_PROGRAM": _program(),
        "GL_CODECS": _codecs(),
        "GL_VERSION": "{}.{}".format(*sys.version_info),
        "GL_SITE": str(_site()),
        "GL_PACKAGE": str(_PACKAGE),
        "GL_LLVM": str(_llvm()),
        "GL_MARK": mark(),
        **more,
    }
    return [
        *compiler(),
        "-std=gnu11",
        "-O2",
        "-fPIC",
        "-fvisibility=hidden",
        "-Wall",
        "-Wextra",
        "-Wno-missing-field-initializers",
        f"-I{_ROOM}",
        f"-I{ROOM}",
        *numbered(),
        *(f'-D{name}="{value}"' for name, value in defined.items()),
    ]


def _run(file: str, command: list[str]) -> None:
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if run.returncode:
        raise CompileError(f"{file} does not compile:\n{run.stderr}")


def _compile(
    library: Library,
    room: Path,
    path: Path,
    options: Sequence[str],
    objects: Mapping[str, Path],
) -> None:
    text, versions = room / "stubs.c", room / "versions"
    text.write_text(_text(library))
    versions.write_text(
        f"{library.file} {{ global: cuda*; __cuda*; nvrtc*; gl_process; local: *; }};\n"
    )
    command = [
        *_command_of({"GL_MAJOR": str(library.major)}),
        *([f"-DGL_OF_{library.api.upper()}"] if library.api else []),
        *(str(objects.get(each, _ROOM / each)) for each in library.sources),
        str(text),
        "-shared",
        "-o",
        str(path),
        f"-Wl,-soname,{library.file}",
        "-Wl,-z,nodelete",
        "-ldl",
        "-lpthread",
        "-lm",
        *options,
        *([f"-Wl,--version-script={versions}"] if library.versioned else []),
    ]
    _run(library.file, command)
    if library.file == PRELOADED:
        _initialise_first(path)


def _initialise_first(library: Path) -> None:
    """Mark a library so that its constructor runs before those of all others, which register their
    kernels. Not all linkers have the option, so the bit is set in the file's flags."""
    data = bytearray(library.read_bytes())
    flags_1, initfirst = struct.pack("<Q", 0x6FFFFFFB), 0x20
    offsets = [n for n in range(0, len(data) - 8, 8) if data.startswith(flags_1, n)]
    if len(offsets) != 1:
        raise CompileError(f"{library.name}: the linker wrote no flags of the dynamic section")
    data[offsets[0] + 8] |= initfirst
    library.write_bytes(data)


def _libpython() -> Path | str:
    """The shared libpython of this Python; its name where it has none."""
    folder, name = sysconfig.get_config_vars("LIBDIR", "INSTSONAME")
    path = Path(str(folder)) / str(name)
    return path if path.is_file() else str(name)


def _codecs() -> str:
    """A file without which this Python cannot start, and would end a C process; "" where the
    library of this Python is no folder of files."""
    path = Path(sysconfig.get_path("stdlib"), "encodings", "__init__.py")
    return str(path) if path.is_file() else ""


def _program() -> str:
    """This Python's program, outside of virtual environments."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def _llvm() -> Path:
    """The library of LLVM. Another version has another size and time."""
    spec = find_spec("llvmlite")
    assert spec is not None and spec.origin is not None
    return next(Path(spec.origin).parent.glob("binding/*llvmlite.*"))


def _site() -> Path:
    """The folder to import gridlane from: the folder of the packages that it needs."""
    return Path(sysconfig.get_paths()["purelib"])
