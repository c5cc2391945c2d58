"""The stages that IR goes through, each with the ops that are legal there.

``kernel`` is what frontends make, ``legal(cpu)`` and ``legal(cuda)`` what code generators take. The
name ``cfg`` is reserved for a control-flow graph that a frontend for PTX would make.
"""

from __future__ import annotations

# fmt: off
ARITHMETIC = frozenset((
    "const", "add", "sub", "mul", "div", "rem", "mulhi", "min", "max", "and", "or", "xor",
    "shl", "shr", "neg", "abs", "not", "popcount", "clz", "brev", "eq", "ne", "lt", "le", "gt",
    "ge", "select", "cast", "bitcast", "fma",
))

MATH = frozenset((
    "sqrt", "rsqrt", "cbrt", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "erf", "erfc", "tgamma", "lgamma", "floor", "ceil", "trunc", "rint", "round",
    "pow", "atan2", "hypot", "copysign", "nextafter", "ldexp", "frexp",
))

MEMORY = frozenset((
    "load", "store", "offset", "field_pointer", "recast", "address", "from_address", "global",
    "dynamic_shared", "local_array", "read", "write", "pack", "part",
))

ATOMIC = frozenset(("atomic", "atomic_cas"))

COOPERATIVE = frozenset(("grid_sync",))

GRID = frozenset((
    "thread_idx", "block_idx", "block_dim", "grid_dim", "lane_id", "dynamic_shared_size",
    "barrier", "barrier_reduce", "sync_warp", "fence", "dynamic_shared_size",
))

WARP = frozenset((
    "shuffle", "vote", "match_any", "match_all", "active_mask", "warp_reduce",
))

LANES = WARP | {"sync_warp"}

COPIES = frozenset(("async_copy", "async_commit", "async_wait"))

MATRIX = frozenset((
    "fragment_fill", "fragment_load", "fragment_store", "fragment_mma", "fragment_scale",
    "fragment_convert",
))

CONTROL = frozenset((
    "if", "loop", "scope", "break", "continue", "leave", "return", "raise", "print",
))

REPORTS = frozenset(("report",))

CALLS = frozenset(("call",))

# fmt: on

COMMON = ARITHMETIC | MATH | MEMORY | ATOMIC | GRID | WARP | CONTROL
"""What every target has."""

STAGES: dict[str, frozenset[str]] = {
    "kernel": COMMON | COOPERATIVE | COPIES | MATRIX | REPORTS | CALLS,
    # Calls have become scopes.
    "legal(cuda)": COMMON | COOPERATIVE | COPIES | MATRIX,
    "legal(cuda before 8.0)": COMMON | COOPERATIVE | MATRIX,
    "legal(cpu)": COMMON,
    # Calls of library functions stay.
    "legal(metal)": COMMON | REPORTS | CALLS,
    # Warps have become barriers of the block.
    **dict.fromkeys(("legal(opengl)", "legal(webgpu)"), COMMON - LANES | REPORTS | CALLS),
    "legal(vulkan)": COMMON - LANES | REPORTS,
    "legal(vulkan with warps)": COMMON | REPORTS,
}
"""The names of the ops that are legal at each stage."""
