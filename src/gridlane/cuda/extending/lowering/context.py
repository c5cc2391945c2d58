"""The part of numba's target context that is translated: types, constants, calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.argtypes import ArgType, ComplexType, NoneType, ScalarType, Signature
from gridlane.core.errors import UnsupportedError
from gridlane.cuda.extending.lowering.builder import Builder
from gridlane.cuda.extending.lowering.proxies import StructProxy, zero
from gridlane.cuda.extending.lowering.types import llvm_of
from gridlane.cuda.extending.lowering.values import Lowered, constant_of, operand_as
from gridlane.frontends.python.calls.device import call_device
from gridlane.frontends.python.calls.dispatch import call
from gridlane.frontends.python.constants import operand_of
from gridlane.frontends.python.conversion import cast_to
from gridlane.frontends.python.device_function import DeviceFunction, device_function_of
from gridlane.frontends.python.operands import NONE, Operand, Static, TupleOperand
from gridlane.frontends.python.translator import Translator


class Context:
    """The compiler's services for code that a program emits."""

    def __init__(self, t: Translator) -> None:
        self._t = t

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._t.fail(
            UnsupportedError,
            f"context.{name} is of numba's compiler and is not translated; write the code in "
            "Python: context.compile_internal(builder, function, signature, args), or @overload",
        )

    # ---- types and constants

    def get_value_type(self, kind: ArgType) -> Any:
        """The type of llvmlite of a value."""
        return llvm_of(kind)

    get_argument_type = get_return_type = get_value_type

    def get_data_type(self, kind: ArgType) -> Any:
        """The type of llvmlite of a value in memory."""
        return llvm_of(kind)

    def get_constant(self, kind: ArgType, value: Any) -> Lowered:
        """A constant of a type."""
        if isinstance(kind, ScalarType):
            return Lowered(self._t, constant_of(self._t, kind.dtype, value))
        if isinstance(kind, ComplexType):
            return Lowered(self._t, cast_to(self._t, operand_of(self._t, complex(value)), kind))
        raise self._t.fail(UnsupportedError, f"a constant of type {kind} is not translated")

    def get_constant_generic(self, builder: Builder, kind: ArgType, value: Any) -> Lowered:
        """A constant of a type."""
        return self.get_constant(kind, value)

    def get_constant_null(self, kind: ArgType) -> Lowered:
        """The value of a type whose numbers are all zero."""
        return Lowered(self._t, zero(self._t, kind))

    get_constant_undef = get_constant_null

    def get_dummy_value(self) -> Lowered:
        """The value of a type without data."""
        return Lowered(self._t, NONE)

    # ---- values

    def cast(self, builder: Builder, value: Any, fromty: ArgType, toty: ArgType) -> Lowered:
        """A value converted as Python's code converts it."""
        return Lowered(self._t, cast_to(self._t, operand_as(self._t, value, fromty), toty))

    def make_tuple(self, builder: Builder, kind: Any, values: Any) -> Lowered:
        """A tuple."""
        items = [operand_as(self._t, each, own) for each, own in zip(values, kind.items)]
        return Lowered(self._t, TupleOperand(tuple(items), kind.fields, kind.cls))

    def make_helper(
        self, builder: Builder, kind: ArgType, value: Any = None, ref: Any = None
    ) -> StructProxy:
        """A struct with attributes."""
        if ref is not None:
            raise self._t.fail(UnsupportedError, "a struct behind a pointer is not translated")
        return StructProxy(self._t, kind, value)

    make_complex = make_helper

    # ---- calls

    def compile_internal(
        self, builder: Builder, function: Any, signature: Signature, args: Any
    ) -> Lowered:
        """Call a Python function, which is compiled for the types of the signature."""
        device = device_function_of(function) or DeviceFunction(function)
        returned = call_device(self._t, device, self._operands(signature, args), {})
        if isinstance(signature.return_type, NoneType):
            return self.get_dummy_value()
        return Lowered(self._t, self._returned(returned, signature))

    call_internal = compile_internal

    def get_function(self, function: Any, signature: Signature) -> Callable[..., Lowered]:
        """A function that emits a call of a function of the dialect, as ``operator.add``."""

        def emit(builder: Builder, args: Any) -> Lowered:
            operands = self._operands(signature, args)
            returned = call(self._t, Static(function), operands, {})
            return Lowered(self._t, self._returned(returned, signature))

        return emit

    def _returned(self, operand: Operand, signature: Signature) -> Operand:
        kind = signature.return_type
        return operand if kind is None else cast_to(self._t, operand, kind)

    def _operands(self, signature: Signature, args: Any) -> list[Operand]:
        pairs = zip(args, signature.args, strict=True)
        return [operand_as(self._t, each, kind) for each, kind in pairs]
