"""CUDA C++ to PTX, by a compiler that is installed; see README.md."""

from __future__ import annotations

from gridlane.frontends.cuda_cpp.nvrtc import Compiled, compile_cpp

__all__ = ["Compiled", "compile_cpp"]
