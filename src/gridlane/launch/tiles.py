"""The blocks of programs over tiles."""

from __future__ import annotations

from gridlane.compiler.programs import block_of

__all__ = ["block_of"]
