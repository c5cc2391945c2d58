"""What parameters and variables need of the translation of a function; ``Values`` has it."""

from __future__ import annotations

from typing import NoReturn, Protocol

from gridlane.core.dtypes import DType
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.values import Value


class Translating(Protocol):
    """The translation of an instruction; see values.py."""

    b: Builder

    def fail(self, message: str) -> NoReturn:
        """Raise PtxError at the instruction."""
        ...

    def as_type(self, value: Value, dtype: DType, narrows: bool = False) -> Value:
        """The bits of a value as a type; an address as the integer."""
        ...

    def bits(self, value: Value) -> Value:
        """A scalar as an unsigned integer of its width."""
        ...

    def emit(self, op: Op) -> Value:
        """Append an op and return its result."""
        ...

    def offset(self, value: Value, count: int) -> Value:
        """A pointer some bytes further."""
        ...
