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
    mbarriers,
    memory,
    memory_products,
    mma_memory,
    products,
    tensors,
    tile_memory,
    tiles,
    warp,
    warpgroups,
)

__all__ = [
    "arith", "atomic", "clusters", "control", "copies", "floating", "graph", "grid", "integer",
    "math", "matrix", "mbarriers", "memory", "memory_products", "mma_memory", "products",
    "tensors", "tile_memory", "tiles", "warp", "warpgroups",
]  # fmt: skip
