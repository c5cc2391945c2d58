"""Objects that hold what is asked for."""

from __future__ import annotations

from gridlane.emulation.metal.bridge import Object, require

KNOWN_VERSIONS = (0x30000, 0x30001, 0x30002)


class _Made(Object):
    """Made by the class's own ``new``, which pyobjc gets right."""

    @classmethod
    def new(cls):
        """An object of its own."""
        return cls()


class MTLCompileOptions(_Made):
    """How to compile a text. Without a word it is the fast way."""

    def __init__(self) -> None:
        super().__init__()
        self._version, self._mode = 0, "fast"

    def setLanguageVersion_(self, version: int) -> None:
        require(version in KNOWN_VERSIONS, f"no such version of the language: {version:#x}")
        self._version = version

    def setMathMode_(self, mode: int) -> None:
        self._mode = ("safe", "relaxed", "fast")[mode]


class MTLResidencySetDescriptor(_Made):
    """What a residency set is to be like."""
