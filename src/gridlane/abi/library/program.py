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
    collected: list[Images] = []
    for name in SECTIONS:
        section = elf.section(name)
        if section is None:
            continue
        try:
            collected.append(_images(name, elf.contents(section)))
        except ArgumentError as error:
            collected.append(Images(name, (), str(error)))
    return collected


def _images(section: str, data: bytes) -> Images:
    images: list[fatbin.Image] = []
    try:
        for region in _regions(data):
            images += fatbin.images(region)
    except Failure as failure:
        return Images(section, tuple(images), failure.what)
    return Images(section, tuple(images))


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
    offset = 0
    while offset < len(data):
        if not any(data[offset : offset + _STEP]):
            offset += _STEP
            continue
        size = fatbin.region_size(data[offset : offset + fatbin.HEAD].ljust(fatbin.HEAD, b"\0"))
        yield data[offset : offset + size]
        offset += -(-size // _STEP) * _STEP
