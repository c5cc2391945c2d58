"""Units of PTX in host objects, as nvcc -c -rdc=true writes them, and in archives of these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from gridlane.abi import images
from gridlane.abi.archives import members
from gridlane.abi.failure import INVALID_IMAGE, NO_BINARY_FOR_GPU, Failure, fail
from gridlane.abi.fatbin.choice import ADVICE
from gridlane.abi.library.elf import Elf
from gridlane.abi.library.program import regions_in
from gridlane.core.errors import ArgumentError
from gridlane.frontends.ptx import PtxModule
from gridlane.frontends.ptx.calls import is_of_language
from gridlane.frontends.ptx.linking.symbols import symbols_of
from gridlane.runtime.protocol import Device


def units_of_object(data: bytes, name: str, device: Device) -> list[PtxModule]:
    """The PTX of an object, one module for each fatbin in it.

    Raises:
        Failure: INVALID_IMAGE, it is no object; NO_BINARY_FOR_GPU, it has no PTX for the device.
        PtxError: the PTX is malformed.
    """
    ptx_modules = [images.module((each,), device, name) for each in _regions(data, name)]
    if not ptx_modules:
        fail(NO_BINARY_FOR_GPU, f"{name or 'the object'} has no code for a device: {ADVICE}")
    return ptx_modules


def _regions(data: bytes, name: str) -> list[bytes]:
    try:
        return regions_in(Elf(Path(name or "the object"), data))
    except ArgumentError as error:
        fail(INVALID_IMAGE, str(error))


class Library:
    """An archive of objects; a link takes those that define the symbols it lacks.

    Raises:
        Failure: INVALID_IMAGE, it is no archive.
    """

    def __init__(self, data: bytes, name: str, device: Device) -> None:
        self.name, self.device = name, device
        self._waiting = members(data)
        self._units: list[PtxModule] | None = None

    def taken(self, wanted: set[str]) -> PtxModule | None:
        """Take the first unit that defines one of the names; None if no more of them does."""
        if self._units is None:
            self._units = list(self._read())
        for unit in self._units:
            if wanted & defined(unit):
                self._units.remove(unit)
                return unit
        return None

    def _read(self) -> Iterator[PtxModule]:
        for each in self._waiting:
            name = f"{self.name}({each.name})"
            for region in _regions(each.data, name):
                try:
                    yield images.module((region,), self.device, name)
                except Failure as failure:  # machine code alone: what needs it stays undefined
                    if failure.number != NO_BINARY_FOR_GPU:
                        raise


def defined(unit: PtxModule) -> set[str]:
    """The names that a unit defines for others."""
    symbols = symbols_of(0, unit).values()
    return {each.name for each in symbols if each.definition is not None and each.linking}


def undefined(units: Iterable[PtxModule]) -> set[str]:
    """The names that units declare and none of them defines, but those of CUDA's language."""
    wanted: set[str] = set()
    have: set[str] = set()
    for unit in units:
        have |= defined(unit)
        wanted |= {name for name, each in symbols_of(0, unit).items() if each.definition is None}
    return {name for name in wanted - have if not is_of_language(name)}
