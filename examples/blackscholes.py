"""European option prices by the Black-Scholes formula."""

from __future__ import annotations

import argparse
import math
import sys

import numpy as np
from numba import cuda, float32

from measure import milliseconds

THREADS = 256
RATE, VOLATILITY = np.float32(0.02), np.float32(0.3)  # a year, as fractions


@cuda.jit(device=True)
def normal_cdf(x):
    """Abramowitz and Stegun 26.2.17; the absolute error is below 7.5e-8."""
    k = float32(1.0) / (float32(1.0) + float32(0.2316419) * abs(x))
    poly = float32(1.330274429)
    poly = poly * k - float32(1.821255978)
    poly = poly * k + float32(1.781477937)
    poly = poly * k - float32(0.356563782)
    poly = poly * k + float32(0.319381530)
    tail = float32(0.39894228) * math.exp(float32(-0.5) * x * x) * poly * k
    return float32(1.0) - tail if x > float32(0.0) else tail


@cuda.jit(fastmath=True)
def price(spot, strike, years, call, put):
    """All arrays float32 (n,): prices of call and put options."""
    i = cuda.grid(1)
    if i >= spot.size:
        return
    s = spot[i]
    k = strike[i]
    t = years[i]
    spread = VOLATILITY * math.sqrt(t)
    d1 = (math.log(s / k) + (RATE + float32(0.5) * VOLATILITY * VOLATILITY) * t) / spread
    d2 = d1 - spread
    discounted = k * math.exp(-RATE * t)
    n1 = normal_cdf(d1)
    n2 = normal_cdf(d2)
    call[i] = s * n1 - discounted * n2
    put[i] = discounted * (float32(1.0) - n2) - s * (float32(1.0) - n1)


def reference(s: np.ndarray, k: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """In float64, with the exact distribution function."""
    s, k, t = (v.astype(np.float64) for v in (s, k, t))
    r, v = float(RATE), float(VOLATILITY)
    cdf = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)))
    d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    discounted = k * np.exp(-r * t)
    return s * cdf(d1) - discounted * cdf(d2), discounted * cdf(-d2) - s * cdf(-d1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--options", type=int, default=1 << 20)
    args = parser.parse_args()

    rng = np.random.default_rng(3)
    n = args.options
    spot, strike = (rng.uniform(10, 110, n).astype(np.float32) for _ in range(2))
    years = rng.uniform(0.25, 5, n).astype(np.float32)
    inputs = [cuda.to_device(v) for v in (spot, strike, years)]
    call, put = cuda.device_array(n, np.float32), cuda.device_array(n, np.float32)
    grid = (n + THREADS - 1) // THREADS
    time_ms = milliseconds(lambda: price[grid, THREADS](*inputs, call, put))

    some = slice(0, 20_000)  # numpy's exact prices are slow
    want = reference(spot[some], strike[some], years[some])
    error = max(
        float(np.abs(got.copy_to_host()[some] - exact).max())
        for got, exact in zip((call, put), want, strict=True)
    )
    if not error < 2e-4:
        sys.exit(f"blackscholes: wrong, off by {error:.1e}")
    print(f"blackscholes: {n} options, absolute error {error:.1e}, {time_ms:.2f} ms")


if __name__ == "__main__":
    main()
