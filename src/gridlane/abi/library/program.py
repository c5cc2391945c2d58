"""The runtime of CUDA in a program or library, and the images of its kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gridlane.abi import fatbin
from gridlane.abi.failure import Failure
from gridlane.abi.library.elf import Elf
from gridlane.core.errors import ArgumentError

SECTIONS = {".nv_fatbin": "", "__nv_relfatbin": "parts of -rdc=true"}
"""The sections where nvcc puts fatbins, and their meanings."""
LINK_AGAIN = (
    "link it again with nvcc -cudart shared, or with gridlane's runtime inside (nvcc -cudart none "
    "... -lcudart_gridlane, or gridlane cc), or leave its symbols in"
)
"""The remedy for a program whose runtime cannot be found."""
_STEP = 8


@dataclass(frozen=True, slots=True)
class Images:
    """The fatbins of a section.

    Attributes:
        section: its name.
        images: of all of its fatbins.
        damage: why the rest of it cannot be read; "" if all was read.
    """

    section: str
    images: tuple[fatbin.Image, ...]
    damage: str = ""


def images_in(elf: Elf) -> list[Images]:
    """The images of each section with fatbins."""
    found: list[Images] = []
    for name in SECTIONS:
        section = elf.section(name)
        if section is None:
            continue
        try:
            found.append(_images(name, elf.contents(section)))
        except ArgumentError as error:
            found.append(Images(name, (), str(error)))
    return found


def _images(section: str, data: bytes) -> Images:
    made: list[fatbin.Image] = []
    try:
        for region in _regions(data):
            made += fatbin.images(region)
    except Failure as failure:
        return Images(section, tuple(made), failure.what)
    return Images(section, tuple(made))


def regions_in(elf: Elf) -> list[bytes]:
    """The fatbins of all sections.

    Raises:
        Failure: INVALID_IMAGE, one is damaged.
        ArgumentError: the file is cut off.
    """
    sections = (elf.section(name) for name in SECTIONS)
    return [region for each in sections if each for region in _regions(elf.contents(each))]


def _regions(data: bytes) -> Iterator[bytes]:
    """The fatbins of a section, with zeros between them."""
    at = 0
    while at < len(data):
        if not any(data[at : at + _STEP]):
            at += _STEP
            continue
        size = fatbin.region_size(data[at : at + fatbin.HEAD].ljust(fatbin.HEAD, b"\0"))
        yield data[at : at + size]
        at += -(-size // _STEP) * _STEP
