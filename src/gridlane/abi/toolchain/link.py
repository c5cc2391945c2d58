"""The link of a program: its objects with gridlane's runtime.

Objects of relocatable code each refer to a function of their own, ``__cudaRegisterLinkedBinary…``,
which nvcc's device link defines. Here it adds the object's part to one list; the parts are linked
when the program first uses a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

from gridlane.abi.library.elf import Elf
from gridlane.abi.toolchain.hosts import Host
from gridlane.abi.toolchain.options import Command
from gridlane.core.errors import ArgumentError

_ASKED = re.compile(r"__cudaRegisterLinkedBinary\w+")
_ARCHIVE = b"!<arch>\n"
_MEMBER = 60

_TEXT = """\
#include <stdlib.h>
void **__cudaRegisterFatBinary(void *), __cudaRegisterFatBinaryEnd(void **);
void __cudaUnregisterFatBinary(void **);
struct wrapper { int magic, version; const void *data; void *others; };
enum { PARTS = %d };
static const void *parts[PARTS + 1]; /* a null pointer ends them */
static struct wrapper whole = { 0x466243b1, 2, 0, parts };
static void **binary;
static int count;
static void end(void) { __cudaUnregisterFatBinary(binary); }
static void add(void (*names)(void **), const struct wrapper *part)
{
    if (!binary) {
        binary = __cudaRegisterFatBinary(&whole);
        __cudaRegisterFatBinaryEnd(binary);
        atexit(end);
    }
    parts[count++] = part->data;
    names(binary);
}
#define PART(name) \\
    void name(void (*names)(void **), const struct wrapper *part, void *number, void *other) \\
    { \\
        add(names, part); \\
    }
"""


def asked(paths: Sequence[Path]) -> dict[Path, tuple[str, ...]]:
    """The functions to which the files of relocatable code refer; other files are omitted.

    Raises:
        ArgumentError: a file is damaged.
        OSError: a file cannot be read.
    """
    names_by_path = {path: tuple(_asked(path)) for path in paths}
    return {path: names for path, names in names_by_path.items() if names}


def registration(names: Iterable[str]) -> str:
    """The C text of functions to which files of relocatable code refer."""
    each = dict.fromkeys(names)
    return _TEXT % len(each) + "".join(f"PART({name})\n" for name in each)


def archives(options: Sequence[str]) -> Iterator[Path]:
    """The static libraries that ``-l`` names: the first that the folders of ``-L`` have, unless a
    shared one is beside it."""
    folders = [Path(word[2:]) for word in options if word.startswith("-L")]
    for word in dict.fromkeys(options):
        files = [folder / f"lib{word[2:]}.a" for folder in folders if word.startswith("-l")]
        file = next((each for each in files if each.is_file()), None)
        if file is not None and not file.with_suffix(".so").is_file():
            yield file


_LIBRARIES = "blas|sparse|solver|fft|rand|tensor|dnn|nccl|npp|jpeg|JitLink|ml"
_ABSENT = re.compile(
    rf"cannot find -l((?:cu|nv|nvidia-)?(?:{_LIBRARIES})\w*)"
    rf"|undefined reference to `[^']*?\b((?:cu|nv)(?:{_LIBRARIES})\w+|(?:thrust|cub)::[\w:]+)"
)


def advice(message: str) -> str:
    """What to say behind a linker's message that names a library of CUDA's beside the runtime."""
    match = _ABSENT.search(message)
    if match is None:
        return ""
    return (
        "\ngridlane has the driver, the runtime and NVRTC, and no cuBLAS, cuFFT, cuRAND or the "
        f"like, nor cub's for the host: {match[1] or match[2]} is of one; call a "
        "kernel, or a library of the host, instead"
    )


def _asked(path: Path) -> Iterator[str]:
    data = path.read_bytes()
    objects = _members(data, path) if data.startswith(_ARCHIVE) else [data]
    for each in objects:
        if each.startswith(b"\x7fELF"):
            yield from filter(_ASKED.fullmatch, Elf(path, each).undefined)


def _members(data: bytes, path: Path) -> Iterator[bytes]:
    """The files in a static library."""
    position = len(_ARCHIVE)
    while position + _MEMBER <= len(data):
        size = data[position + 48 : position + 58].strip()
        if not size.isdigit():
            raise ArgumentError(f"{path} is a damaged static library")
        yield data[position + _MEMBER : position + _MEMBER + int(size)]
        position += _MEMBER + int(size) + int(size) % 2


def words(
    command: Command,
    host: Host,
    objects: Sequence[Path],
    parts: Container[Path],
    path: Path,
    lib: Path,
) -> list[str]:
    """The command that links.

    Args:
        parts: the files of relocatable code. Of a static library among them all is linked, as no
            symbol of the host's names what kernels use.
        lib: the folder of gridlane's libraries.
    """
    runtime = {"static": ["-lcudart_gridlane"], "shared": ["-lcudart"], "none": []}
    return [
        *host.link,
        *(["-shared"] if command.is_shared else []),
        *(word for each in objects for word in _input(each, each in parts)),
        # Before the user's folders, which may have NVIDIA's libraries of these names.
        "-o",
        str(path),
        f"-L{lib}",
        *command.linker,
        *runtime[command.runtime],
        *_found(command, lib),
        *(["-fopenmp"] if command.is_parallel else []),
        "-ldl",
        "-lpthread",
        "-lm",
    ]


def _input(path: Path, is_part: bool) -> list[str]:
    if is_part and path.suffix == ".a":
        return ["-Wl,--whole-archive", str(path), "-Wl,--no-whole-archive"]
    return [str(path)]


def _found(command: Command, lib: Path) -> list[str]:
    """The path by which a program finds gridlane's shared libraries, if it is linked with any."""
    own = {"-lcuda", "-lcudart", "-lnvrtc"} & set(command.linker)
    return [f"-Wl,-rpath,{lib}"] if own or command.runtime == "shared" else []
