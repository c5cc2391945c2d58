"""The forms that are translated, a file for each family of instructions."""

from gridlane.frontends.ptx.forms import (
    atomics,
    bits,
    bulk,
    clusters,
    conversion,
    floating,
    half,
    heap,
    integer,
    launches,
    libdevice,
    logic,
    matrix,
    mbarrier,
    memory,
    mixed,
    moves,
    narrowing,
    pairs,
    printing,
    rounding,
    rounding64,
    stack,
    surfaces,
    tensors,
    textures,
    threads,
    video,
    warpgroups,
    warps,
    wide,
    wmma,
    wmma_bits,
)
from gridlane.frontends.ptx.forms.table import FORMS, Form, Match, find

__all__ = ["FORMS", "Form", "Match", "find"]

_FAMILIES = (
    atomics, bits, bulk, clusters, conversion, floating, half, heap, integer, launches, libdevice,
    logic, matrix, mbarrier, memory, mixed, moves, narrowing, pairs, printing, rounding,
    rounding64, stack, surfaces, tensors, textures, threads, video, warpgroups, warps, wide, wmma,
    wmma_bits,
)  # fmt: skip
