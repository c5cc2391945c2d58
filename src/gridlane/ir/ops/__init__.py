"""The ops, one dataclass each. Importing this package registers all of them."""

from gridlane.ir.ops import (
    arith,
    atomic,
    clusters,
    control,
    copies,
    floating,
    graph,
    grid,
    integer,
    math,
    matrix,
    memory,
    mma_memory,
    products,
    warp,
)

__all__ = [
    "arith",
    "atomic",
    "clusters",
    "control",
    "copies",
    "floating",
    "graph",
    "grid",
    "integer",
    "math",
    "matrix",
    "memory",
    "mma_memory",
    "products",
    "warp",
]
