"""``triton.language.random``."""

from gridlane.frontends.triton.random import (
    pair_uniform_to_normal,
    philox,
    philox_impl,
    rand,
    rand4x,
    randint,
    randint4x,
    randn,
    randn4x,
    uint_to_uniform_float,
)

__all__ = [
    "pair_uniform_to_normal", "philox", "philox_impl", "rand", "rand4x", "randint", "randint4x",
    "randn", "randn4x", "uint_to_uniform_float",
]  # fmt: skip
