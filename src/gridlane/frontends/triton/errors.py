"""Errors of a tile program's compilation, by Triton's names."""

from __future__ import annotations

from gridlane.core.errors import CompileError
from gridlane.core.source import UNKNOWN, Loc, describe


class CompilationError(CompileError):
    """A tile program cannot be compiled. Its text ends with the message, as Triton's does;
    ``place`` is the line and column in the function's own text."""

    def __init__(
        self,
        message: str,
        loc: Loc = UNKNOWN,
        related: tuple[tuple[str, Loc], ...] = (),
        place: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message, loc, related)
        self.place = place

    @property
    def error_message(self) -> str:
        """The message, by Triton's name for it."""
        return self.message

    def __str__(self) -> str:
        parts = [] if self.place is None else [f"at {self.place[0]}:{self.place[1]}:"]
        return "\n".join([*parts, *filter(None, [describe(self.loc)]), self.message])

    def __reduce__(self) -> tuple[type[CompilationError], tuple[object, ...]]:
        return type(self), (self.message, self.loc, self.related, self.place)


class CompileTimeAssertionFailure(CompilationError):
    """A ``static_assert`` that does not hold."""


class UnsupportedLanguageConstruct(CompilationError, NotImplementedError):
    """A construct of Python that tile programs do not have."""
