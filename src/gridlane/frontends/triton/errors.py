"""Errors of a tile program's compilation, by Triton's names."""

from __future__ import annotations

from gridlane.core.errors import CompileError


class CompilationError(CompileError):
    """A tile program cannot be compiled."""

    @property
    def error_message(self) -> str:
        """The message, by Triton's name for it."""
        return self.message


class CompileTimeAssertionFailure(CompilationError):
    """A ``static_assert`` that does not hold."""


class UnsupportedLanguageConstruct(CompilationError, NotImplementedError):
    """A construct of Python that tile programs do not have."""
