"""CUDA C++ to PTX, by a compiler that is installed; see README.md."""

from __future__ import annotations

from gridlane.frontends.cuda_cpp.choice import choose
from gridlane.frontends.cuda_cpp.compiled import Compiled, CppCompiler, CppSource
from gridlane.frontends.cuda_cpp.source_and_ptx import defines, unknown

__all__ = ["Compiled", "CppCompiler", "CppSource", "choose", "defines", "unknown"]
