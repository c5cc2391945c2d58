"""``cuda.In``, ``Out`` and ``InOut``: the copies of a host array around a launch."""

from __future__ import annotations

from typing import Any

from gridlane.cuda.kernels.argument_types import typeof
from gridlane.cuda.kernels.hints import Hint


class ArgHint(Hint):
    """Base of the three; ``value`` is the argument."""

    @property
    def _numba_type_(self) -> Any:
        return typeof(self.value)


class In(ArgHint):
    """The kernel only reads it: it is not copied back."""

    copy_out = False


class Out(ArgHint):
    """The kernel only writes it: it is not copied to the device."""

    copy_in = False


class InOut(ArgHint):
    """The kernel reads and writes it, as without a hint."""


def wrap_arg(value: Any, default: type[ArgHint] = InOut) -> ArgHint:
    """``value`` if it is a hint, else a hint of the default kind."""
    return value if isinstance(value, ArgHint) else default(value)
