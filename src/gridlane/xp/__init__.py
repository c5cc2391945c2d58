"""Arrays on any device: the array API standard, and NumPy's names.

>>> from gridlane import xp
>>> x = xp.asarray([1.0, 2.0, 3.0])
>>> x * x + 1
array([ 2.,  5., 10.])
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

__array_api_version__ = "2025.12"

e = math.e
pi = math.pi
inf = math.inf
nan = math.nan
newaxis = None

_MODULES = {
    "arrays": "Array",
    "comparing": "allclose array_equal",
    "covariance": "corrcoef cov",
    "creation": (
        "arange array asarray empty empty_like eye from_dlpack full full_like linspace meshgrid "
        "ones ones_like tril triu zeros zeros_like"
    ),
    "dtypes": "can_cast finfo iinfo isdtype result_type",
    "einstein": "einsum",
    "explaining": "explain",
    "functions": "angle clip round",
    "neighbours": "convolve gradient",
    "numpy_names": (
        "append array_split atleast_1d atleast_2d column_stack copy copyto diag diagonal "
        "dot fliplr flipud hsplit hstack identity inner isclose kron logspace nan_to_num "
        "ndim outer pad rot90 shape size split trace tri vsplit vstack"
    ),
    "products": "matmul tensordot vecdot",
    "reductions.functions": "all any argmax argmin count_nonzero max min prod sum",
    "reductions.without_nan": (
        "average nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd "
        "nansum nanvar ptp"
    ),
    "reductions.scans": "cumprod cumsum cumulative_prod cumulative_sum diff",
    "reductions.statistics": "mean std var",
    "over_axis": (
        "cosine_distance cosine_similarity distance_chebyshev distance_euclidean "
        "distance_manhattan distance_minkowski gumbel_softmax iqr length log_softmax logsumexp mad "
        "normalize_vector softmax sparsemax winsorize"
    ),
    "sorting.counting": "bincount digitize histogram",
    "sorting.quantiles": "median percentile quantile",
    "sorting.searching": (
        "argwhere extract flatnonzero nonzero searchsorted take_along_axis where"
    ),
    "sorting.sets": "isin unique unique_all unique_counts unique_inverse unique_values",
    "sorting.sorts": "argpartition argsort partition sort top_k",
    "grids": "indices mgrid ogrid",
    "manipulation": (
        "astype broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip "
        "matrix_transpose moveaxis permute_dims ravel repeat reshape roll squeeze stack swapaxes "
        "take tile transpose unstack"
    ),
}
_HOMES = {
    "__array_namespace_info__": ("info", "namespace_info"),
    "amax": ("reductions.functions", "max"),
    "amin": ("reductions.functions", "min"),
    "around": ("functions", "round"),
    "concatenate": ("manipulation", "concat"),
    **{name: (home, name) for home, names in _MODULES.items() for name in names.split()},
}
"""The module, and the name there, of each name that is no operation."""


def __getattr__(name: str) -> Any:
    """Import a name at its first use."""
    value = _loaded(name)
    globals()[name] = value
    return value


def _loaded(name: str) -> Any:
    if name in ("fft", "linalg", "random"):
        return import_module(f"gridlane.xp.{name}")
    if name in _HOMES:
        home, original = _HOMES[name]
        return getattr(import_module(f"gridlane.xp.{home}"), original)
    from gridlane.xp.dtypes import DTYPES
    from gridlane.xp.operations import OPERATIONS

    if name in DTYPES:
        return DTYPES[name]
    if name not in OPERATIONS:
        from gridlane.xp.protocols import lacking

        raise lacking(name)
    from gridlane.xp.functions import function

    return function(name)


def __dir__() -> list[str]:
    from gridlane.xp.dtypes import DTYPES
    from gridlane.xp.operations import OPERATIONS

    constants = (
        "__array_api_version__",
        "e",
        "fft",
        "inf",
        "linalg",
        "nan",
        "newaxis",
        "pi",
        "random",
    )
    return sorted({*constants, *_HOMES, *DTYPES, *OPERATIONS})
