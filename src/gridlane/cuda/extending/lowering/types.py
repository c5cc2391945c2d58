"""Types of llvmlite and gridlane's, each from the other."""

from __future__ import annotations

from typing import Any

from gridlane.core import argtypes, dtypes
from gridlane.core.argtypes import ArgType
from gridlane.core.dtypes import DType
from gridlane.core.errors import UnsupportedError
from gridlane.frontends.python.extensions import EXTENSIONS, is_users

_FLOATS = {"half": dtypes.f16, "float": dtypes.f32, "double": dtypes.f64}


def llvm_of_dtype(dtype: DType) -> Any:
    """The type of llvmlite of a number."""
    from llvmlite import ir  # of programs that emit code

    if dtype.is_bool:
        return ir.IntType(1)
    if dtype.is_integer:
        return ir.IntType(dtype.bits)
    for name, make in (("half", ir.HalfType), ("float", ir.FloatType), ("double", ir.DoubleType)):
        if _FLOATS[name] is dtype:
            return make()
    raise UnsupportedError(f"LLVM IR of a program has no numbers of type {dtype}")


def llvm_of(kind: ArgType) -> Any:
    """The type of llvmlite of a value."""
    from llvmlite import ir

    if isinstance(kind, argtypes.ScalarType):
        return llvm_of_dtype(kind.dtype)
    if isinstance(kind, argtypes.ComplexType):
        return ir.LiteralStructType([llvm_of_dtype(kind.part)] * 2)
    if isinstance(kind, argtypes.TupleType):
        return ir.LiteralStructType([llvm_of(item) for item in kind.items])
    if isinstance(kind, argtypes.NoneType):
        return ir.IntType(8).as_pointer()
    if is_users(kind):
        return ir.LiteralStructType([llvm_of(item) for _, item in EXTENSIONS.structure(kind)])
    raise UnsupportedError(
        f"values of {kind} have no type in LLVM IR of a program; write the code in Python, with "
        "@overload, or as a function for context.compile_internal"
    )


def dtype_of_llvm(kind: Any) -> DType:
    """The number of a type of llvmlite; integers are signed.

    Raises:
        UnsupportedError: it is no number.
    """
    text = str(kind)
    if text == "i1":
        return dtypes.b1
    if text in ("i8", "i16", "i32", "i64"):
        return dtypes.by_name(text)
    if text in _FLOATS:
        return _FLOATS[text]
    raise UnsupportedError(f"a value of LLVM's type {text} is not translated; only numbers are")


def kind_of_llvm(kind: Any) -> ArgType:
    """The user's type of a number of llvmlite's."""
    return kind if isinstance(kind, ArgType) else argtypes.scalar_of(dtype_of_llvm(kind))
