"""Errors of tile programs, by Triton's names."""

from __future__ import annotations

from gridlane.core.errors import ArgumentError, GridlaneError, KernelError, TargetError
from gridlane.frontends.triton.errors import (
    CompilationError,
    CompileTimeAssertionFailure,
    UnsupportedLanguageConstruct,
)

__all__ = [
    "AutotunerError",
    "CompilationError",
    "CompileTimeAssertionFailure",
    "IntegerOverflow",
    "InterpreterError",
    "OutOfResources",
    "TritonError",
    "UnsupportedDtype",
    "UnsupportedLanguageConstruct",
    "WrongOption",
    "WrongTuning",
]

OutOfResources = TargetError
"""A block needs more of the device than it has."""


class IntegerOverflow(ArgumentError, OverflowError):
    """An integer argument has more than 64 bits."""


class WrongTuning(ArgumentError, ValueError):
    """What ``autotune`` gets contradicts the program or the launch."""


class AutotunerError(WrongTuning):
    """No configuration is left to tune."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Autotuner error: {message}")


class WrongOption(ArgumentError, AssertionError):
    """An option of a launch has a value that no block can have."""


class UnsupportedDtype(ArgumentError, RuntimeError):
    """Nothing is known of a dtype on a GPU."""


InterpreterError = KernelError
"""A program did what it may not, found by an interpreter: the device ``interp``."""

TritonError = GridlaneError
"""The base of all errors."""
