"""Which function computes which problem: it takes the module, for its weights, and the inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.kernelbench import (
    convolutions,
    elementwise,
    pools,
    products,
    reductions,
    rows,
)

Function = Callable[..., Any]

_PRODUCTS: dict[int, Function] = {
    **dict.fromkeys((1, 2, 6, 7, 8, 9, 13), products.product),
    3: products.batched,
    4: products.of_vector,
    **dict.fromkeys((10, 11), products.of_last_axis),
    12: elementwise.scaled_rows,
    14: products.of_upper,
    15: products.of_lower,
    16: products.of_transposed_a,
    17: products.of_transposed_b,
    18: products.of_transposed_both,
}
_ELEMENTWISE: dict[int, Function] = {
    5: elementwise.scaled,
    19: elementwise.relu,
    20: elementwise.leaky_relu,
    21: elementwise.sigmoid,
    22: elementwise.tanh,
    25: elementwise.swish,
    26: elementwise.gelu,
    27: elementwise.selu,
    28: elementwise.hard_sigmoid,
    29: elementwise.softplus,
    30: elementwise.softsign,
    31: elementwise.elu,
    32: elementwise.hard_tanh,
    88: elementwise.gelu_by_tanh,
}
_ROWS: dict[int, Function] = {
    23: rows.softmax,
    24: rows.log_softmax,
    33: rows.batch_norm,
    34: rows.instance_norm,
    35: rows.group_norm,
    36: rows.rms_norm,
    37: rows.frobenius_norm,
    38: rows.l1_norm,
    39: rows.l2_norm,
    40: rows.layer_norm,
    89: rows.running_sums,
    90: rows.running_products,
    91: rows.running_sums_from_the_end,
    92: rows.running_sums_before,
    93: rows.running_sums_of_some,
    94: rows.squared_error,
    95: rows.cross_entropy,
    96: rows.huber,
    97: rows.attention,
    98: rows.divergence,
    99: rows.triplet,
    100: rows.hinge,
}
_WINDOWS: dict[int, Function] = {
    **dict.fromkeys((41, 42, 43), pools.most),
    **dict.fromkeys((44, 45, 46), pools.mean),
    47: reductions.total,
    48: reductions.mean,
    49: reductions.most,
    51: reductions.place_of_most,
    52: reductions.place_of_least,
    53: reductions.least,
}
_TRANSPOSED = 57, 58, 61, 64, 65, *range(68, 76), 77, 78, 79, 81
_CONVOLUTIONS: dict[int, Function] = {
    **dict.fromkeys((50, 54, 55, 56, 59, 60, 62, 63, 66, 67, 76, 80), convolutions.convolution),
    **dict.fromkeys((82, 83, 84, 85, 87), convolutions.convolution),
    86: convolutions.convolutions,
    **dict.fromkeys(_TRANSPOSED, convolutions.transposed),
}
FUNCTIONS: dict[int, Function] = dict(
    sorted({**_PRODUCTS, **_ELEMENTWISE, **_ROWS, **_WINDOWS, **_CONVOLUTIONS}.items())
)
assert list(FUNCTIONS) == list(range(1, 101))
