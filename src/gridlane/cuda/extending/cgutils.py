"""numba's helpers for code that a program emits: ``numba.cuda.cgutils``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridlane.core.argtypes import ArgType
from gridlane.core.errors import MissingError
from gridlane.cuda.extending.lowering.builder import Builder
from gridlane.cuda.extending.lowering.context import Context
from gridlane.cuda.extending.lowering.proxies import StructProxy


def create_struct_proxy(fe_type: ArgType, kind: str = "value") -> Callable[..., StructProxy]:
    """What makes a struct with attributes: ``create_struct_proxy(type)(context, builder)``."""

    def make(context: Context, builder: Builder, value: Any = None, ref: Any = None) -> StructProxy:
        return context.make_helper(builder, fe_type, value, ref)

    return make


def unpack_tuple(builder: Builder, tup: Any, count: int | None = None) -> list[Any]:
    """The members of a tuple."""
    if count is None:
        count = len(tup.type.elements)
    return [builder.extract_value(tup, number) for number in range(count)]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise MissingError(
        f"cgutils.{name} is not translated; write the code in Python: "
        "context.compile_internal(builder, function, signature, args), or @overload"
    )
