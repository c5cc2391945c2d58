"""Functions whose code in kernels a Python function emits."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from gridlane.core.argtypes import Signature
from gridlane.cuda.extending.lowering.emission import emission
from gridlane.cuda.extending.typing_context import TYPING_CONTEXT
from gridlane.frontends.python.extensions import EXTENSIONS, Emit, Lowered, check_target


class Intrinsic:
    """What ``intrinsic`` makes: a name for kernels to call."""

    def __init__(
        self, name: str, defn: Any, prefer_literal: bool = False, target: str = "cuda"
    ) -> None:
        functools.update_wrapper(self, defn)
        self._name, self._defn = name, defn
        EXTENSIONS.add(self, Lowered(self._choose, prefer_literal, check_target(target)))

    def _choose(self, *types: Any, **named: Any) -> tuple[Signature, Emit] | None:
        choice = self._defn(TYPING_CONTEXT, *types, **named)
        if choice is None:
            return None
        signature, codegen = choice
        return signature, emission(codegen)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{self!r} is not usable in pure-python: kernels call it")

    def __repr__(self) -> str:
        return f"<intrinsic {self._name}>"

    def __deepcopy__(self, memo: Any) -> Intrinsic:
        return self

    def __reduce__(self) -> Any:
        return _by_name, (self._defn.__module__, self._defn.__qualname__)


def _by_name(module: str, name: str) -> Any:
    """An intrinsic of a module, in another process."""
    attribute: Any = importlib.import_module(module)
    for part in name.split("."):
        attribute = getattr(attribute, part)
    return attribute


def intrinsic(*args: Any, **options: Any) -> Any:
    """Decorate a function that types a call and returns what emits its code.

    It is called with a typing context and the types of the arguments, and returns a signature and
    a function ``codegen(context, builder, signature, arguments)``, or None. ``builder`` has the
    arithmetic, comparisons, conversions and ``extract_value`` of llvmlite's IRBuilder; what it does
    not have it refuses by name.

    >>> from gridlane.cuda import types
    >>> @intrinsic
    ... def increased(typingctx, x):
    ...     def codegen(context, builder, signature, args):
    ...         return builder.add(args[0], context.get_constant(types.int32, 1))
    ...     return types.int32(types.int32), codegen
    """

    def make(function: Any) -> Intrinsic:
        return Intrinsic(getattr(function, "__name__", str(function)), function, **options)

    return make(*args) if args else make
