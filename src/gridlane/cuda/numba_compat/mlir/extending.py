"""``numba_cuda_mlir.extending``: functions and types that programs add to kernels.

There each registration names the registry that receives it. Here one table has all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from gridlane.core.errors import MissingError
from gridlane.cuda import extending, types
from gridlane.cuda.numba_compat.internals import ROOT, template_of_compiler
from gridlane.cuda.numba_compat.mlir.placeholder_modules import face


class _Registry:
    """A registry, to be named by decorators. What it does itself is the compiler's."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingError(template_of_compiler(f"{ROOT}.extending.{self._name}.{name}"))

    def __repr__(self) -> str:
        return self._name


typing_registry, lowering_registry = _Registry("typing_registry"), _Registry("lowering_registry")


def refresh_registries(
    *, typing: bool = True, target: bool = True, include_uninitialized_cuda: bool = True
) -> None:
    """Do nothing: what is registered is known to all kernels at once."""


def _registering(decorator: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that takes the registries by name."""

    @wraps(decorator)
    def register(
        *args: Any, typing_registry: Any = None, lowering_registry: Any = None, **options: Any
    ) -> Any:
        for each in (typing_registry, lowering_registry):
            if not isinstance(each, _Registry | None):
                raise TypeError(
                    f"{decorator.__name__}: {ROOT}.extending has the registries, and {each!r} is "
                    "none of them"
                )
        return decorator(*args, **options)

    return register


overload = _registering(extending.overload)
overload_attribute = _registering(extending.overload_attribute)
overload_method = _registering(extending.overload_method)
overload_classmethod = _registering(extending.overload_classmethod)
register_jitable = _registering(extending.register_jitable)
type_callable = _registering(extending.type_callable)

__getattr__ = face("extending", extending)
__all__ = [
    "lowering_registry", "overload", "overload_attribute", "overload_classmethod",
    "overload_method", "refresh_registries", "register_jitable", "type_callable", "types",
    "typing_registry",
]  # fmt: skip
