"""The threads that run a program over tiles on each target."""

from __future__ import annotations

from dataclasses import replace

from gridlane.backends.record import Backend
from gridlane.ir.ops.matrix_instructions import FACTORS
from gridlane.ir.ops.products import Factor
from gridlane.passes.tiles.machine import TileMachine

SUMS = 64
"""The sums of a product that a thread of a GPU has in registers; four times as many of matrix
instructions."""


def machine_of(record: Backend) -> TileMachine:
    """What the lowering of tiles knows of a target."""
    return TileMachine(
        record.program_warps,
        record.program_shared,
        record.on_host,
        sums=0 if record.on_host else SUMS,
        vectors=not record.on_host,
    )


def machine_with_cores(record: Backend) -> TileMachine:
    """The same of a processor with matrix instructions."""
    return _with_cores(record, 99 << 10)


def medium_machine_with_cores(record: Backend) -> TileMachine:
    """The same, with the shared memory of an A100."""
    return _with_cores(record, 163 << 10)


def large_machine_with_cores(record: Backend) -> TileMachine:
    """The same, with the shared memory of data centres' GPUs."""
    return _with_cores(record, 227 << 10)


def machine_with_groups(record: Backend) -> TileMachine:
    """The same, with the instructions of warpgroups."""
    return replace(large_machine_with_cores(record), groups=True)


def machine_with_subgroups(record: Backend) -> TileMachine:
    """The machine of a shader's target whose subgroups multiply matrices of f16."""
    plain = machine_of(record)
    return replace(
        plain,
        shared=48 << 10,
        factors=frozenset((Factor.F16,)),
        opaque=True,
    )


def machine_with_bfloats(record: Backend) -> TileMachine:
    """The same for those of bf16 besides."""
    plain = machine_with_subgroups(record)
    return replace(plain, factors=plain.factors | {Factor.BF16})


def machine_with_simdgroups(record: Backend) -> TileMachine:
    """The machine of Metal, whose simdgroups multiply matrices of f16 and bf16."""
    return replace(machine_of(record), factors=frozenset((Factor.F16, Factor.BF16)), opaque=True)


def _with_cores(record: Backend, shared: int) -> TileMachine:
    plain = machine_of(record)
    return TileMachine(
        plain.most_warps,
        shared,
        factors=frozenset(FACTORS.values()),
        sums=plain.sums,
        static=plain.shared,
        vectors=plain.vectors,
    )


def block_of(record: Backend, warps: int) -> tuple[int, int, int]:
    """The block that a program is launched with where it asks for so many warps."""
    if record.executes_ir:
        return (1, 1, 1)
    return (machine_of(record).threads(warps), 1, 1)
