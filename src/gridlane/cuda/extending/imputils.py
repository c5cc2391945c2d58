"""``numba.cuda.core.imputils`` and ``numba.cuda.cudaimpl``: the registration of code."""

from __future__ import annotations

from typing import Any

from gridlane.cuda.extending.lowers import (
    Registry,
    lower_builtin,
    lower_cast,
    lower_constant,
    lower_getattr,
    lower_getattr_generic,
    lower_setattr,
    lower_setattr_generic,
)
from gridlane.cuda.names import missing

registry = builtin_registry = Registry("cuda")
lower = lower_builtin
lower_attr = lower_getattr


def impl_ret_borrowed(context: Any, builder: Any, retty: Any, ret: Any) -> Any:
    """The value itself: nothing counts references."""
    return ret


impl_ret_new_ref = impl_ret_untracked = impl_ret_borrowed


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "cuda.core.imputils")


__all__ = [
    "Registry", "builtin_registry", "impl_ret_borrowed", "impl_ret_new_ref", "impl_ret_untracked",
    "lower", "lower_attr", "lower_builtin", "lower_cast", "lower_constant", "lower_getattr",
    "lower_getattr_generic", "lower_setattr", "lower_setattr_generic", "registry",
]  # fmt: skip
