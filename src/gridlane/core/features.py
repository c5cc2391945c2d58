"""Features that devices of a kind may have or lack, and that change their code."""

from __future__ import annotations

from enum import StrEnum

from gridlane.core.errors import TargetError


class Feature(StrEnum):
    """A capability of a device, or a defect that code works around. ``Target.features`` names the
    features of the device that code is for."""

    INT64 = "int64"
    FLOAT64 = "float64"
    INT16 = "int16"
    INT8 = "int8"
    FLOAT16 = "float16"
    ATOMIC64 = "atomic64"
    """The types that shaders compute with, and 64-bit atomics."""

    SUBGROUP32 = "subgroup32"
    """Subgroups are 32 consecutive threads, all of them full."""

    MATRIX_HALVES = "matrix_halves"
    """Subgroups, which are warps, multiply matrices of 16x16 f16 and add them to those of f16 and
    f32; blocks have 48 KiB of shared memory."""

    MATRIX_BFLOATS = "matrix_bfloats"
    """They multiply matrices of bf16 besides, and add them to those of f32."""

    FLOAT32_ATOMIC_ADD = "float32_atomic_add"

    FMA = "fma"
    """Fma of GLSL.std.450 rounds once."""

    DENORM16 = "denorm16"
    DENORM32 = "denorm32"
    DENORM64 = "denorm64"
    """Subnormal numbers of that width are kept on request."""

    ROUNDS = "rounds"
    """Quotients and square roots of f32 are correctly rounded."""

    ES = "es"
    """OpenGL ES instead of OpenGL."""

    SOFTWARE = "software"
    """Threads are lanes of the CPU's vectors, where coarse code is slower."""

    SHORT_LOOPS = "short_loops"
    """The device ends loops early; see passes/structure/watch_loops.py."""

    SWAPS_SELECTS = "swaps_selects"
    """The device's compiler wrongly fuses a bit select with the select after it; see
    codegen/joined_bits.py."""

    MISREADS_UNITS = "misreads_units"
    """A defect: the device's compiler misreads a select of -1.0 and 0.0, or of 1.0 and -0.0; see
    codegen/chosen_units.py."""

    LONE_BARRIERS = "lone_barriers"
    """A barrier does not wait for threads that have ended or diverged, as in CUDA."""

    FENCES_WAIT = "fences_wait"
    """A memory barrier waits for the block, as if it were a control barrier. lavapipe's does, and
    stops waiting for threads that reach more of them than others do. Its replacement is too weak
    for other devices."""

    FOLDS_ZEROS = "folds_zeros"
    """A defect: the device's compiler folds 0 + x to x and x / 0 to undefined, and compares a
    widened i32 with a constant wrongly. Mesa's lavapipe does; it costs an instruction for some
    operands to hide them from it."""

    FLUSHES32 = "flushes32"
    """A defect: subnormal f32 are taken as 0 where they are compared and converted, though not in
    sums and products, and where the compiler sees a change of sign; NVIDIA's driver does that."""

    FOLDS_HALVES = "folds_halves"
    """A defect: an f32 that was rounded to f16 and extended again is folded to the f32; NVIDIA's
    compiler does that."""

    KEEPS_UPPER_BITS = "keeps_upper_bits"
    """A defect: the result of an integer op of 8 or 16 bits may keep the bits above, as of 0 - x
    and abs(x) of the minimum; NVIDIA's compiler does that. passes/legalise/hold_small_integers.py
    leaves no such ops."""

    FOLDS_WIDE = "folds_wide"
    """A defect: known facts of a 64-bit integer are used wrongly: of one that was widened, of x % 2
    times a constant, of x + x > 0, which is not x > 0, and of abs(x), which may be negative.
    NVIDIA's compiler does that; it costs an instruction for each result to hide it."""

    LOSES_MINUS_ZERO = "loses_minus_zero"
    """A defect: a select of 1 or -0 is folded to one of 1 or 0, where both are constants; NVIDIA's
    compiler does that."""

    MIXES_BYTES = "mixes_bytes"
    """A defect: writing a byte of a local array may change the one beside it, so bytes are held in
    words."""


def features(text: str) -> frozenset[Feature]:
    """The features that space-separated words name.

    >>> sorted(features("int64 fma"))
    [<Feature.FMA: 'fma'>, <Feature.INT64: 'int64'>]

    Raises:
        TargetError: a word names no feature.
    """
    names = text.split()
    unknown = sorted(set(names) - set(Feature))
    if unknown:
        raise TargetError(
            f"{unknown[0]!r} is no feature of a device; there are {' '.join(sorted(Feature))}"
        )
    return frozenset(map(Feature, names))
