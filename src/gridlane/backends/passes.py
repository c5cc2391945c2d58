"""The registry of passes: a record imports none of them.

A pass is a constant of this module. Its name in ``gridlane opt`` and in the tests is the constant's
in lower case, with hyphens.
"""

from __future__ import annotations

from gridlane.backends.record import Fact, Pass
from gridlane.core.features import Feature

_ROOM = "gridlane.passes"


def _pass(path: str, *arguments: str, options: tuple[str, ...] = ()) -> Pass:
    return Pass(f"{_ROOM}.{path}", arguments, options=options)


def by_name() -> dict[str, Pass]:
    """Every pass by its name, in the order of this file."""
    return {
        name.lower().replace("_", "-"): value
        for name, value in globals().items()
        if isinstance(value, Pass) and not value.needs and not value.lacks
    }


def name_of(each: Pass) -> str:
    """The name of a pass, whatever its conditions; its function's where the registry lacks it."""
    bare = each._replace(needs=frozenset(), lacks=frozenset())
    named = (name for name, known in by_name().items() if known == bare)
    return next(named, each.path.rpartition(".")[2])


def stage_of(each: Pass) -> str:
    """The folder of a pass in ``passes/``: structure, optimise, legalise or tiles."""
    return each.path.removeprefix(f"{_ROOM}.").partition(".")[0]


STRUCTURIZE = _pass("structure.structurize.structurize")
FOLD_SIGNS = _pass("optimise.fold_signs.fold_signs")
REMOVE_RECURSION = _pass("structure.recursion.remove_recursion", options=("stack",))
FRESHEN_LOCAL_ARRAYS = _pass("structure.fresh_arrays.freshen_local_arrays")
"""These four run in frontends."""

LOWER_TILES = _pass("tiles.lower_tiles")._replace(facts=("gridlane.compiler.programs.machine_of",))
"""First: only it knows the ops of programs over tiles. Other modules are left alone."""

LOWER_TILES_TO_CORES = _pass("tiles.lower_tiles")._replace(
    facts=("gridlane.compiler.programs.machine_with_cores",)
)
"""The same where products are matrix instructions."""

LOWER_TILES_TO_MEDIUM = _pass("tiles.lower_tiles")._replace(
    facts=("gridlane.compiler.programs.medium_machine_with_cores",)
)
LOWER_TILES_TO_LARGE = _pass("tiles.lower_tiles")._replace(
    facts=("gridlane.compiler.programs.large_machine_with_cores",)
)
"""The same where blocks may have much shared memory besides."""

LOWER_TILES_TO_GROUPS = _pass("tiles.lower_tiles")._replace(
    facts=("gridlane.compiler.programs.machine_with_groups",)
)
"""The same where warpgroups compute products, too."""

LOWER_TILES_TO_SUBGROUPS = _pass("tiles.lower_tiles")._replace(
    facts=("gridlane.compiler.programs.machine_with_subgroups",)
)
"""The same where subgroups of shaders multiply matrices."""

LOWER_TILES_TO_SUBGROUPS_WITH_BFLOATS = _pass("tiles.lower_tiles")._replace(
    facts=("gridlane.compiler.programs.machine_with_bfloats",)
)
"""The same where these may be of bf16."""

LOWER_TILES_TO_SIMDGROUPS = _pass("tiles.lower_tiles")._replace(
    facts=("gridlane.compiler.programs.machine_with_simdgroups",)
)
"""The same on Metal."""

SPLIT_ADVANCES = _pass("tiles.advances.split_advances")
"""Part of ``LOWER_TILES``."""

EXPAND_OPS = _pass("legalise.expand_ops.expand_ops")._replace(
    facts=("gridlane.compiler.pipeline.emitted_for",)
)
EXPAND_WAITS = _pass("legalise.expand_ops.expand_waits")
"""Where a target emits all ops, in front of the passes that look for threads that wait."""
EXPAND_WARPGROUPS = _pass("legalise.expand_ops.expand_warpgroups")
EXPAND_MBARRIERS = _pass("legalise.expand_ops.expand_mbarriers")
"""Where only some processors of a target have these."""
DROP_NUMBERS = _pass("legalise.error_numbers.drop_numbers")
"""Where reports carry no numbers."""

REPEAT_BODIES = _pass("structure.repeat_bodies.repeat_bodies")
"""Part of ``WATCH_LOOPS``."""

INLINE = _pass("structure.inline.inline_calls")
INLINE_OTHERS = _pass("structure.inline.inline_others")
"""Library functions stay: each is compiled once, and later kernels reuse its text."""

STOP_AT_ERRORS = _pass("structure.stop_at_errors.stop_at_errors")
"""Where an error of a thread may end the launch."""

CHECK_ACCESSES = _pass("structure.check_accesses.check_accesses")
"""Where code can find the table of live allocations."""

RELEASE_FIRST = _pass("structure.release_first.release_first")
"""Where the threads of a warp, or of a block, run in lockstep."""

TAKE_TURNS = _pass("structure.take_turns.take_turns")
"""Where the warps of a block run one after the other."""

BARRIERS_BY_TURNS = _pass("structure.barriers_by_turns.barriers_by_turns")
"""The same, in front of it."""

END_SPINS = _pass("structure.end_spins.end_spins")
"""Where blocks run one after the other, and a clock can be read."""

COUNT_SPINS = _pass("structure.end_spins.count_spins")
"""Where no clock can be read, and the device does not end all loops early, which is reported."""

RETURN_LAST = _pass("structure.return_last.return_last")
"""Where code knows which threads of a block have ended."""

PROMOTE = _pass("optimise.promote.promote_variables")
DIVIDE_WHOLE = _pass("optimise.whole_divisions.divide_whole")
COPY_AT_ONCE = _pass("legalise.copy_at_once.copy_at_once")
FRAGMENTS = _pass("legalise.fragments.fragments_by_products")
FRAGMENTS_BY_LOOPS = _pass("legalise.fragments.fragments_by_loops")
FRAGMENTS_BY_SUBGROUPS = _pass("legalise.subgroup_fragments.fragments_by_subgroups")
FRAGMENTS_BY_SUBGROUPS_WITH_BFLOATS = _pass("legalise.subgroup_fragments.fragments_with_bfloats")
FRAGMENTS_BY_SIMDGROUPS = _pass("legalise.subgroup_fragments.fragments_by_simdgroups")
MATRIX_ACCESSES = _pass("legalise.matrix_accesses.matrices_by_elements")
OTHER_MATRIX_ACCESSES = _pass("legalise.matrix_accesses.others_by_elements")
"""Where ``ldmatrix`` loads whole lines of shared memory."""

MEMORY_PRODUCTS = _pass("legalise.memory_products.memory_products")
PRODUCTS = _pass("legalise.products.products_by_shuffles")
PRODUCTS_WITHOUT_F64 = _pass("legalise.products.products_by_shuffles", options=("fp64",))
WHOLE_BARRIERS = _pass("legalise.whole_barriers.whole_barriers")
WHOLE_BARRIERS_TOGETHER = _pass("legalise.whole_barriers.whole_barriers_together")
NARROW = _pass("optimise.narrow.narrow_integers")
COARSEN = _pass("optimise.coarsen.coarsen_blocks")
UNROLL = _pass("optimise.unroll.hint_unrolling")
KEEP_ROLLED = _pass("legalise.keep_rolled.keep_rolled")
"""ptxas unrolls some loops wrongly."""
SHARE_RECIPROCALS = _pass("optimise.common_divisors.share_reciprocals")
"""Where a division is several instructions, and a fused multiply-add is one."""
SHARE_RANGES = _pass("optimise.common_exponentials.share_ranges")
"""Where a power of two is one instruction, which is approximate and flushes subnormal numbers."""
RECIPROCAL_ROOTS = _pass("optimise.reciprocal_roots.reciprocal_roots")
JOIN_LOADS = _pass("optimise.join_loads.join_loads")

FLUSH_BY_MODE = _pass("legalise.flush_by_mode.flush_by_mode")
EXPAND_FLUSHING = _pass("legalise.flushing.expand_flushing")
EXPAND_FLUSHING_OF_NVPTX = _pass(
    "legalise.flushing.expand_flushing", "gridlane.passes.legalise.flushing.OF_NVPTX"
)

FUNCTIONS = _pass("legalise.math.legalize_math", "gridlane.passes.legalise.math.natives.NOTHING")
"""gridlane's own functions, for shaders: those of their languages are inexact, and differ."""

FUNCTIONS_OF_BITS = _pass("legalise.expand_ops.functions_of_bits")
"""Those that LLVM lacks, for all of its targets."""

FUNCTIONS_OF_CPU = _pass("legalise.math.legalize_math", "gridlane.passes.legalise.math.natives.CPU")
"""gridlane's own functions, which run on whole vectors, instead of libm's."""

SINGLE_FUNCTIONS_OF_CPU = _pass(
    "legalise.math.legalize_math", "gridlane.passes.legalise.math.natives.CPU_SINGLE"
)
"""Those of f32 and narrower types."""

FUNCTIONS_OF_NVPTX = _pass(
    "legalise.math.legalize_math", "gridlane.passes.legalise.math.natives.NVPTX"
)
"""gridlane's own functions instead of libdevice's."""

FUSE_F64 = _pass("legalise.fuse_exactly.fuse_exactly", "gridlane.core.dtypes.f64")
FUSE_F32 = _pass("legalise.fuse_exactly.fuse_exactly", "gridlane.core.dtypes.f32")
FUSE_BF16 = _pass("legalise.fuse_exactly.fuse_exactly", "gridlane.core.dtypes.bf16")
"""Fused multiply-adds of a type, emulated by integers."""

ROUND_RIGHT = _pass("legalise.round_right.round_right")
INDEX_WORDS = _pass("optimise.index_words.index_words")
SPLIT_AGGREGATES = _pass("legalise.split_aggregates.split_aggregates")
SETTLE_SPACES = _pass("legalise.settle_spaces.settle_spaces")
SETTLE_BUFFERS = _pass("legalise.settle_buffers.settle_buffers")
FLOAT64 = _pass("legalise.fp64.legalize_fp64", options=("fp64",))
HALVE_ATOMICS = _pass("legalise.halve_atomics.halve_atomics")
INT64 = _pass("legalise.int64.legalize_int64")
SMALL = _pass("legalise.small.legalize_small")
HOLD_SMALL_INTEGERS = _pass("legalise.hold_small_integers.hold_small_integers")
GUARDS_OF_VECTORS = _pass(
    "legalise.guards.guard_operands", "gridlane.passes.legalise.guards.VECTORS"
)
GUARDS_OF_GPU = _pass("legalise.guards.guard_operands", "gridlane.passes.legalise.guards.GPU")
GUARDS_OF_SHADERS = _pass(
    "legalise.guards.guard_operands", "gridlane.passes.legalise.guards.SHADERS"
)
"""Last: the passes before it know the ops as the IR defines them."""
ATOMICS = _pass("legalise.atomics.legalize_atomics")

WARPS_BY_BLOCKS = _pass("legalise.warps_by_blocks.warps_by_blocks")
"""Legalise warp ops by ops of the block."""

BARRIERS_BY_BLOCKS = _pass("legalise.warps_by_blocks.barriers_by_blocks")
"""Make every barrier one of all threads of the block, on devices with warps."""

WATCH_LOOPS = _pass("structure.watch_loops.watch_loops")
BRANCH_OUT_OF_SCOPES = _pass("structure.branch_out_of_scopes.branch_out_of_scopes")

COMPACT = NARROW.when(Fact.COMPACT)
"""It sees values, not variables, once they are forwarded."""

WORDS: tuple[Pass, ...] = (
    LOWER_TILES,
    INLINE,
    MATRIX_ACCESSES,
    MEMORY_PRODUCTS,
    COUNT_SPINS.unless(Feature.SHORT_LOOPS),
    RELEASE_FIRST,
    # After inlining, as library functions stay; f64's functions come later, and allow rough
    # quotients.
    ROUND_RIGHT.unless(Feature.ROUNDS),
    COPY_AT_ONCE,
    FRAGMENTS_BY_LOOPS,
    # After inlining, as its sums are library functions.
    PRODUCTS_WITHOUT_F64,
    WHOLE_BARRIERS,
    PROMOTE,
    # Most wide integers are indices: those narrowed here need no pairs.
    COMPACT,
    INDEX_WORDS,
    # The later passes rewrite scalars alone, and pointers of a known space.
    SPLIT_AGGREGATES,
    SETTLE_SPACES,
    # Before passes that locate words by numbers.
    SETTLE_BUFFERS,
    # f64 becomes u64 and f32; its functions are written in binary64 before that.
    FLOAT64,
    FUSE_F32,
    FUNCTIONS,
    # Words before bytes: an address is a pair of words when an element is located in a word.
    HALVE_ATOMICS,
    INT64,
    SMALL,
    ATOMICS,
    INLINE_OTHERS,
    PROMOTE,
    # Last: lanes exchange only words in the block's ops.
    WARPS_BY_BLOCKS,
    PROMOTE,
    WATCH_LOOPS.when(Feature.SHORT_LOOPS),
    PROMOTE.when(Feature.SHORT_LOOPS),
    GUARDS_OF_SHADERS,
)
"""The pipeline of languages of 32-bit scalars whose memory is an array of words."""

COARSE = COARSEN.when(Fact.COARSE)
"""After narrowing, as coarsening hides global indices from the range analysis."""
