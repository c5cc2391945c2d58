"""Run a function that emits code, on the operands of a call."""

from __future__ import annotations

from typing import Any

from gridlane.core.argtypes import NoneType, Signature
from gridlane.core.errors import CompileError, TypingError
from gridlane.core.source import UNKNOWN
from gridlane.cuda.extending.lowering.builder import Builder
from gridlane.cuda.extending.lowering.context import Context
from gridlane.cuda.extending.lowering.values import Lowered, operand_as
from gridlane.frontends.python.extensions import Emit
from gridlane.frontends.python.operands import NONE, Operand
from gridlane.frontends.python.translator import Translator


def emission(codegen: Any) -> Emit:
    """What emits a call by ``codegen(context, builder, signature, arguments)``."""

    def emit(t: Translator, signature: Signature, operands: list[Operand]) -> Operand:
        args = [Lowered(t, operand) for operand in operands]
        return _run(t, codegen, signature, (signature, args))

    return emit


def attribute_emission(codegen: Any) -> Emit:
    """What emits an attribute by ``codegen(context, builder, type, value)``."""

    def emit(t: Translator, signature: Signature, operands: list[Operand]) -> Operand:
        return _run(t, codegen, signature, (signature.args[0], Lowered(t, operands[0])))

    return emit


def constant_emission(codegen: Any, value: Any) -> Emit:
    """What emits a captured object by ``codegen(context, builder, type, value)``."""

    def emit(t: Translator, signature: Signature, operands: list[Operand]) -> Operand:
        return _run(t, codegen, signature, (signature.return_type, value))

    return emit


def _run(t: Translator, codegen: Any, signature: Signature, rest: tuple[Any, Any]) -> Operand:
    name = getattr(codegen, "__qualname__", str(codegen))
    try:
        result = codegen(Context(t), Builder(t), *rest)
    except CompileError as error:
        error.loc = t.b.loc if error.loc is UNKNOWN else error.loc
        raise
    except Exception as error:
        raise t.fail(CompileError, f"{name}() raised {type(error).__name__}: {error}") from error
    if isinstance(signature.return_type, NoneType):
        return NONE
    if result is None:
        raise t.fail(
            TypingError, f"{name}(): non-void function returns None, and {signature} is declared"
        )
    if signature.return_type is None:
        raise t.fail(TypingError, f"{name}(): {signature} has no return type; void is one")
    return operand_as(t, result, signature.return_type)
