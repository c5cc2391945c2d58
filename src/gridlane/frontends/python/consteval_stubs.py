"""What a kernel evaluates before it is translated: ``consteval`` and its kin, as stubs."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

from gridlane.core.errors import ConstantError
from gridlane.frontends.python.stubs import Stub

_options: ContextVar[Mapping[str, Any] | None] = ContextVar("options", default=None)


class ConstevalError(ConstantError):
    """An expression that cannot be evaluated when the kernel is compiled."""


class CompileTime(Stub):
    """A stub that the rewriting of a kernel's source replaces."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: on the host there is nothing to evaluate before."""
        if self is consteval and not args:
            return _Block()
        _refuse(self.name)


class _Block:
    """The context manager of a block outside of kernels."""

    def __enter__(self) -> NoReturn:
        _refuse("consteval")

    def __exit__(self, *args: object) -> None:
        """Do nothing: the block was not entered."""


def _refuse(name: str) -> NoReturn:
    raise RuntimeError(
        f"{name}() belongs to kernels and device functions, where it is evaluated before they are "
        "compiled, as with experimental_ast_transforms=True"
    )


class _Options(Stub):
    """The stub that expressions inside of ``consteval`` call."""

    def __call__(self) -> dict[str, Any]:  # type: ignore[override]  # without arguments
        """The options of the kernel that is compiled."""
        options = _options.get()
        if options is None:
            raise RuntimeError(f"{self.name}() is called inside of consteval(), in a kernel")
        return dict(options)


@contextmanager
def compiling_for(options: Mapping[str, Any]) -> Generator[None]:
    """Answer ``current_target_options()`` in a with block."""
    token = _options.set(options)
    try:
        yield
    finally:
        _options.reset(token)


consteval = CompileTime(
    "consteval",
    "value=",
    "The value of an expression when the kernel is compiled. ``for x in consteval(items)`` is "
    "unrolled, ``if consteval(flag)`` has one branch, and ``with consteval():`` runs in Python.",
)
current_target_options = _Options(
    "current_target_options", "", "The options of the kernel, inside of ``consteval``."
)
local_array_from = CompileTime(
    "local_array_from",
    "iterable, dtype",
    "A local array of the values of a generator expression over a tuple or an array.",
)
