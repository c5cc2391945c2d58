"""Prices of options by the formula of Black and Scholes."""

from __future__ import annotations

import math
from argparse import Namespace

import numpy as np

from gridlane import xp
from gridlane.demos.checking import check, run

_RATE, _VOLATILITY = 0.02, 0.3


def demo(options: Namespace) -> None:
    """Price calls and puts, and compare some with Python's ``math`` and all by their parity."""
    rng = np.random.default_rng(2)
    spot, strike, years = (xp.asarray(rng.uniform(*each, options.size)) for each in _RANGES)
    spread = _VOLATILITY * xp.sqrt(years)
    d1 = (xp.log(spot / strike) + (_RATE + _VOLATILITY**2 / 2) * years) / spread
    d2 = d1 - spread
    paid = strike * xp.exp(-_RATE * years)
    call = spot * normal(d1) - paid * normal(d2)
    put = paid * normal(-d2) - spot * normal(-d1)
    print(xp.explain(call))

    few = [np.asarray(each)[:100] for each in (spot, strike, years)]
    check("calls", call[:100], [price(*each) for each in zip(*few, strict=True)], 1e-14)
    check("calls less puts", call - put, spot - paid, 1e-13)


_RANGES = (5.0, 30.0), (1.0, 100.0), (0.25, 10.0)
"""Of the prices, the strikes and the years."""


def normal(x: xp.Array) -> xp.Array:
    """The distribution of normal numbers."""
    return 0.5 * xp.erfc(-x / math.sqrt(2))


def price(spot: float, strike: float, years: float) -> float:
    """A call's price, by the standard library."""
    spread = _VOLATILITY * math.sqrt(years)
    d1 = (math.log(spot / strike) + (_RATE + _VOLATILITY**2 / 2) * years) / spread
    one, other = (0.5 * math.erfc(-each / math.sqrt(2)) for each in (d1, d1 - spread))
    return spot * one - strike * math.exp(-_RATE * years) * other


if __name__ == "__main__":
    run(demo, size=100_000)
