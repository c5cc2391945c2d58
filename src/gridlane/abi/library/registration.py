"""Records of nvcc's host code, published by C: fatbins, kernels and variables of the program.

Each record is six 64-bit words; see ``registration.c``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gridlane.abi import images, raw
from gridlane.abi.failure import NOT_SUPPORTED, Failure, fail
from gridlane.abi.state import notices, registered, threads
from gridlane.abi.state.libraries import Image
from gridlane.core.errors import GridlaneError
from gridlane.frontends.ptx import PtxModule
from gridlane.runtime.protocol import Device

WITHDRAWN, BINARY, FUNCTION, VARIABLE, MANAGED, TEXTURE, SURFACE, GONE = range(8)
_WORDS = 6

_images: dict[int, int] = {}
"""The number of the image of each fatbin, by its handle in C."""


@dataclass(frozen=True, slots=True)
class _Managed:
    """A managed variable: the program reads its address at ``pointer``."""

    pointer: int
    name: str
    size: int


_managed: dict[int, list[_Managed]] = {}


_taken: dict[int, int] = {}
"""The number of accepted records of each library."""

_taking = threading.Lock()


def register(library: int, first: int, address: int, count: int) -> int:
    """Accept records of C; skip those that another thread accepted.

    Args:
        library: a number that identifies the library.
        first: the number of the first record.
        address: of the first; they live until the return.
    """
    with _taking:
        for number, record in enumerate(_records(address, count), first):
            if number >= _taken.get(library, 0):
                _taken[library] = number + 1
                _take(*record)
    return 0


def _take(kind: int, binary: int, host: int, name: int, size: int, _: int) -> None:
    if kind == BINARY:
        _images[binary] = registered.add_image(_loader(host))
    elif kind == GONE:
        registered.remove_image(_images.pop(binary))
        _managed.pop(binary, None)
    elif kind == FUNCTION:
        registered.add_kernel(host, _images[binary], raw.text(name).decode())
    elif kind in (VARIABLE, TEXTURE, SURFACE):  # a reference is a variable that holds a handle
        registered.add_variable(host, size, _images[binary], raw.text(name).decode())
    elif kind == MANAGED:
        managed = _Managed(host, raw.text(name).decode(), size)
        _managed.setdefault(binary, []).append(managed)


def _loader(wrapper: int) -> Image:
    """A reader of the image that a fatbin's wrapper points to. It prints a failure once: programs
    seldom read the errors of launches."""
    reported: set[str] = set()

    def load(device: Device) -> PtxModule:
        try:
            return images.module(images.at(wrapper), device)
        except (Failure, GridlaneError) as error:
            what = error.what if isinstance(error, Failure) else str(error).partition("\n")[0]
            notices.note_image(_file_of(wrapper), what, error, what not in reported)
            reported.add(what)
            raise

    return load


def _file_of(address: int) -> str:
    """The program or library that contains an address of this process."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines():
            span, *_, path = line.split(maxsplit=5)
            start, _, end = span.partition("-")
            if path.startswith("/") and int(start, 16) <= address < int(end, 16):
                return path
    return "this program"


def _records(address: int, count: int) -> Iterator[tuple[int, ...]]:
    numbers = raw.words(address, _WORDS * count)
    for start in range(0, len(numbers), _WORDS):
        yield numbers[start : start + _WORDS]


def initialise(binary: int) -> int:
    """Allocate the managed variables of a fatbin in the device's memory, which the program uses as
    well.

    Raises:
        Failure: NOT_SUPPORTED, the device's memory is not the host's.
    """
    waiting = _managed.pop(binary, [])
    if not waiting:
        return 0
    context = threads.ready()
    if not context.device.host_visible:
        fail(
            NOT_SUPPORTED,
            f"managed variables: the device {context.device.name} has memory of its own",
        )
    for each in waiting:
        memory = registered.image_variable(_images[binary], each.name, context)
        raw.put_words(each.pointer, (memory.address,))
        registered.add_variable(memory.address, each.size, _images[binary], each.name)
    return 0
