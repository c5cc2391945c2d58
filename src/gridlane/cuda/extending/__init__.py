"""``numba.cuda.extending``: functions, methods, attributes and types that a program adds to
kernels. See docs/extending.md."""

from __future__ import annotations

from typing import Any

from gridlane.cuda.extending import models
from gridlane.cuda.extending import models as core_models
from gridlane.cuda.extending.intrinsics import Intrinsic, intrinsic
from gridlane.cuda.extending.lowers import (
    lower_builtin,
    lower_cast,
    lower_getattr,
    lower_getattr_generic,
    lower_setattr,
    lower_setattr_generic,
)
from gridlane.cuda.extending.models import make_attribute_wrapper, register_model
from gridlane.cuda.extending.overloads import (
    overload,
    overload_attribute,
    overload_classmethod,
    overload_method,
    register_jitable,
)
from gridlane.cuda.extending.templates import infer, infer_getattr, type_callable
from gridlane.cuda.kernels.argument_types import as_numba_type, typeof_impl
from gridlane.cuda.names import missing

_Intrinsic = Intrinsic
lower = lower_builtin


def box(kind: Any) -> Any:
    """Accept a conversion for the host without effect: kernels return nothing."""
    return lambda function: function


unbox = reflect = box


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "cuda.extending")


__all__ = [
    "as_numba_type", "box", "core_models", "infer", "infer_getattr", "intrinsic", "lower",
    "lower_builtin", "lower_cast", "lower_getattr", "lower_getattr_generic", "lower_setattr",
    "lower_setattr_generic", "make_attribute_wrapper", "models", "overload", "overload_attribute",
    "overload_classmethod", "overload_method", "reflect", "register_jitable", "register_model",
    "type_callable", "typeof_impl", "unbox",
]  # fmt: skip
