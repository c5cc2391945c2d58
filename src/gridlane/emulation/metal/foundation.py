"""What ``import Foundation`` gives on a Mac, as far as Metal's methods take and return it."""

from __future__ import annotations

from gridlane.emulation.metal import bridge
from gridlane.emulation.metal.bridge import Object


class NSError(Object):
    """What went wrong."""

    def __init__(self, domain: str, code: int, text: str) -> None:
        super().__init__()
        self._domain, self._code, self._text = domain, code, text

    def domain(self) -> str:
        return self._domain

    def code(self) -> int:
        return self._code

    def localizedDescription(self) -> str:
        return self._text


class NSURL(Object):
    """Where a file is."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    @classmethod
    def fileURLWithPath_(cls, path: str) -> NSURL:
        """The URL of a file, which goes with the innermost pool."""
        made = cls(path)
        bridge.autorelease(made._ownership)
        return made
