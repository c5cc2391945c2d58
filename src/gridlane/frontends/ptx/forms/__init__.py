"""The forms that are translated, a file for each family of instructions."""

from gridlane.frontends.ptx.forms import (
    atomics,
    bits,
    conversion,
    floating,
    half,
    integer,
    libdevice,
    logic,
    memory,
    moves,
    narrowing,
    rounding,
    rounding64,
    threads,
    warps,
)
from gridlane.frontends.ptx.forms.table import FORMS, Form, Match, find

__all__ = ["FORMS", "Form", "Match", "find"]

_FAMILIES = (
    atomics,
    bits,
    conversion,
    floating,
    half,
    integer,
    libdevice,
    logic,
    memory,
    moves,
    narrowing,
    rounding,
    rounding64,
    threads,
    warps,
)
