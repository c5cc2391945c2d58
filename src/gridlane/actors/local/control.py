"""The control block of an actor, for Python."""

from __future__ import annotations

import ctypes
from typing import Any

from gridlane.actors.layouts.blocks import ControlBlock
from gridlane.actors.layouts.python import ctype


class Control:
    """The fields of a control block by their names.

    Args:
        block: its memory.
    """

    __slots__ = ("_block", "_keep")

    def __init__(self, block: memoryview) -> None:
        kind: Any = ctype(ControlBlock)
        self._keep = block
        self._block = kind.from_buffer(block)
        assert ctypes.sizeof(kind) == len(block)

    def __getattr__(self, name: str) -> int:
        return getattr(self._block, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Control.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(self._block, name, value)
