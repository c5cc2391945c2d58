"""Parallel algorithms with the names of NVIDIA's ``cuda.compute``, on any device; see
docs/algorithms.md.

>>> import numpy as np
>>> from gridlane import algorithms
>>> x, out = np.arange(5), np.empty(5, np.int64)
>>> algorithms.inclusive_scan(d_in=x, d_out=out, op=algorithms.OpKind.PLUS, num_items=5)
>>> out
array([ 0,  1,  3,  6, 10])
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_BY_MODULE = {
    "caching": "clear_all_caches",
    "operators": "OpKind",
    "structs": "gpu_struct",
    "sequences": "IteratorBase",
    "iterators": """
        CacheModifiedInputIterator ConstantIterator CountingIterator DiscardIterator
        PermutationIterator ReverseIterator ShuffleIterator TransformIterator
        TransformOutputIterator ZipIterator
    """,
    "unsupported": "ProxyArray ProxyValue RawOp deserialize serialize",
    "face.selecting": """
        select three_way_partition unique_by_key
        make_select make_three_way_partition make_unique_by_key
    """,
    "face.segments": "segmented_reduce make_segmented_reduce",
    "face.histograms": "histogram_even histogram_range make_histogram_even make_histogram_range",
    "face.sorting": """
        SortOrder DoubleBuffer merge_sort radix_sort make_merge_sort make_radix_sort
    """,
    "face.segmented_sorting": "segmented_sort make_segmented_sort",
    "face.searching": "lower_bound upper_bound make_lower_bound make_upper_bound",
    "face.more": """
        adjacent_difference partition top_k unique
        make_adjacent_difference make_partition make_top_k make_unique
    """,
    "face.reducing": "Determinism reduce_into make_reduce_into",
    "face.scanning": "inclusive_scan exclusive_scan make_inclusive_scan make_exclusive_scan",
    "face.transforming": """
        unary_transform binary_transform make_unary_transform make_binary_transform
    """,
}
_INSIDE = "coop"
"""The package of algorithms of blocks and warps."""
_HOMES = {name: home for home, names in _BY_MODULE.items() for name in names.split()}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import a name at its first use."""
    if name == _INSIDE:
        return import_module(f"gridlane.algorithms.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'gridlane.algorithms' has no attribute {name!r}")
    value = getattr(import_module(f"gridlane.algorithms.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, _INSIDE})
