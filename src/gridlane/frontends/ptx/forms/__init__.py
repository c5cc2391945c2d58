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
    matrix,
    mbarrier,
    memory,
    moves,
    narrowing,
    printing,
    rounding,
    rounding64,
    threads,
    video,
    warps,
    wmma,
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
    matrix,
    mbarrier,
    memory,
    moves,
    narrowing,
    printing,
    rounding,
    rounding64,
    threads,
    video,
    warps,
    wmma,
)
