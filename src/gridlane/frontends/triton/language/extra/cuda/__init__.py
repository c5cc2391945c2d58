"""``triton.language.extra.cuda``: libdevice, by NVIDIA's name, and facts of a program's threads."""

from __future__ import annotations

from gridlane.frontends.triton.context import builtin, unit
from gridlane.frontends.triton.language.extra import libdevice

__all__ = ["gdc_launch_dependents", "gdc_wait", "libdevice", "num_threads", "num_warps"]

_WARP = 32


@builtin
def num_warps() -> int:
    """The warps that the launch asks for, on every device."""
    return unit().module.program_warps


@builtin
def num_threads() -> int:
    """The threads of these warps."""
    return _WARP * unit().module.program_warps


@builtin
def gdc_wait() -> None:
    """Nothing: a launch begins when those before it on the stream have ended."""


@builtin
def gdc_launch_dependents() -> None:
    """Nothing, for the same reason."""
