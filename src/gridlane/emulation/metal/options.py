"""Option and descriptor objects of Metal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from gridlane.emulation.metal.bridge import Object, require

if TYPE_CHECKING:
    from gridlane.emulation.metal.foundation import NSURL
    from gridlane.emulation.metal.machine import Program
    from gridlane.emulation.metal.text import Kernel

KNOWN_VERSIONS = (0x30000, 0x30001, 0x30002)


class _Made(Object):
    """An object of the class's own ``new``, whose ownership pyobjc gets right."""

    @classmethod
    def new(cls):
        """Create an object."""
        return cls()


class MTLCompileOptions(_Made):
    """The options of a compilation. The default is fast math."""

    def __init__(self) -> None:
        super().__init__()
        self._version, self._mode = 0, "fast"

    def setLanguageVersion_(self, version: int) -> None:
        require(version in KNOWN_VERSIONS, f"no such version of the language: {version:#x}")
        self._version = version

    def setMathMode_(self, mode: int) -> None:
        self._mode = ("safe", "relaxed", "fast")[mode]


class MTLResidencySetDescriptor(_Made):
    """The description of a residency set."""


class MTLBinaryArchiveDescriptor(_Made):
    """The description of an archive: the file that it begins with, by default none."""

    def __init__(self) -> None:
        super().__init__()
        self._url: NSURL | None = None

    def setUrl_(self, url: NSURL) -> None:
        self._url = url


class MTLFunction(Object):
    """A kernel of a library."""

    def __init__(self, text: str, kernel: Kernel) -> None:
        super().__init__()
        self._text, self._kernel = text, kernel

    def name(self) -> str:
        return self._kernel.name


class Archive(Protocol):
    """Machine code of functions."""

    def _program(self, function: MTLFunction) -> Program | None: ...


class MTLComputePipelineDescriptor(_Made):
    """The description of a pipeline."""

    def __init__(self) -> None:
        super().__init__()
        self._function: MTLFunction | None = None
        self._archives: list[Archive] = []

    def setComputeFunction_(self, function: MTLFunction) -> None:
        self._function = function

    def setBinaryArchives_(self, archives: Sequence[Archive]) -> None:
        self._archives = list(archives)
