"""The part of ``import Foundation`` that Metal's methods take and return."""

from __future__ import annotations

from gridlane.emulation.metal import bridge
from gridlane.emulation.metal.bridge import Object


class NSError(Object):
    """An error."""

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
    """The location of a file."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    @classmethod
    def fileURLWithPath_(cls, path: str) -> NSURL:
        """The URL of a file, which the innermost pool owns."""
        result = cls(path)
        bridge.autorelease(result._ownership)
        return result
