"""PTX to IR: the text of a module, and a kernel of it as a KernelSource; see README.md."""

from __future__ import annotations

from gridlane.frontends.ptx.data import ModuleData
from gridlane.frontends.ptx.module import PtxModule, parse_ptx
from gridlane.frontends.ptx.source import PtxSource

__all__ = ["ModuleData", "PtxModule", "PtxSource", "parse_ptx"]
