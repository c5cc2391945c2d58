"""Errors of a running kernel: end a thread with one, or test for one in debug mode."""

from __future__ import annotations

import builtins

from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import control
from gridlane.ir.values import Value


def guard(
    t: Translator,
    condition: Value,
    exception: str,
    message: str,
    detail: str = "",
    numbers: tuple[Value, ...] = (),
) -> None:
    """Raise where a condition holds; emit nothing where it is known not to.

    Args:
        detail: the message with numbers, as ``ErrorSite`` has it.
    """
    known = constant(condition)
    if known is not None and not known:
        return
    with t.b.if_(condition):
        code = t.unit.error_code(exception, message, t.b.loc, detail)
        t.b.emit(control.Raise(code, numbers))


def stop(t: Translator, exception: str, message: str) -> None:
    """End the thread with an error. Without debug the error is not reported, as in numba.cuda: a
    kernel's thread just ends."""
    if t.b.function.is_kernel and not t.unit.options.debug:
        t.terminate(control.Return())
        return
    t.terminate(control.Raise(t.unit.error_code(exception, message, t.b.loc)))


def exception_name(kind: type) -> str:
    """The name of an exception class in an error table: builtin name, or "module:qualname"."""
    if getattr(builtins, kind.__name__, None) is kind:
        return kind.__name__
    return f"{kind.__module__}:{kind.__qualname__}"
