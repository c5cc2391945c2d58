"""What parameters and variables need of the translation of a function; ``Values`` has it."""

from __future__ import annotations

from typing import NoReturn, Protocol

from gridlane.core.dtypes import DType
from gridlane.frontends.ptx.declarations import Declared
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.values import Value


class Loading(Protocol):
    """Parameters that are read; see parameters.py."""

    def load(self, t: Translating, param: Declared, offset: int, dtype: DType) -> Value:
        """The value at an offset of a parameter."""
        ...


class Translating(Protocol):
    """The translation of an instruction; see values.py."""

    b: Builder

    @property
    def parameters(self) -> Loading:
        """The parameters of the function, and of its calls."""
        ...

    def fail(self, message: str) -> NoReturn:
        """Raise PtxError at the instruction."""
        ...

    def as_type(self, value: Value, dtype: DType, narrows: bool = False) -> Value:
        """The bits of a value as a type; an address as the integer."""
        ...

    def bits(self, value: Value) -> Value:
        """A scalar as an unsigned integer of its width."""
        ...

    def address_of_variable(self, variable: Declared) -> Value:
        """The address of a variable, as a pointer or as a number."""
        ...

    def emit(self, op: Op) -> Value:
        """Append an op and return its result."""
        ...

    def offset(self, value: Value, count: int) -> Value:
        """A pointer some bytes further."""
        ...
