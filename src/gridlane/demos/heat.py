"""The equation of heat on a square, by slices of arrays."""

from __future__ import annotations

import math
from argparse import Namespace

from gridlane import xp
from gridlane.demos import pictures
from gridlane.demos.checking import check, run

_RATE = 0.2
_STEPS = 200


def demo(options: Namespace) -> None:
    """Step a sum of two waves that fade by known factors, and compare with the closed form."""
    n = options.size
    x = xp.linspace(0, math.pi, n + 1)
    waves = {k: xp.sin(k * x)[:, None] * xp.sin(k * x)[None, :] for k in (1, 3)}
    u = waves[1] + 0.5 * waves[3]
    for _ in range(_STEPS):
        inner = u[1:-1, 1:-1]
        flow = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * inner
        u[1:-1, 1:-1] = inner + _RATE * flow

    def left(k: int) -> float:
        """The factor of a wave after all steps of the scheme."""
        return (1 - 8 * _RATE * math.sin(k * math.pi / (2 * n)) ** 2) ** _STEPS

    print(pictures.text(u))
    check("temperatures", u, left(1) * waves[1] + 0.5 * left(3) * waves[3], 1e-12)
    if options.out:
        pictures.write(options.out, u)


if __name__ == "__main__":
    run(demo, size=96, draws=True)
