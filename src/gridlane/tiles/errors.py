"""Errors of tile programs, by Triton's names."""

from __future__ import annotations

from gridlane.core.errors import GridlaneError, KernelError, TargetError
from gridlane.frontends.triton.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    UnsupportedLanguageConstruct,
)

__all__ = [
    "CompilationError",
    "CompileTimeAssertionFailure",
    "InterpreterError",
    "OutOfResources",
    "TritonError",
    "UnsupportedLanguageConstruct",
]

OutOfResources = TargetError
"""A block needs more of the device than it has."""

InterpreterError = KernelError
"""A program did what it may not, found by an interpreter: the device ``interp``."""

TritonError = GridlaneError
"""The base of all errors."""
