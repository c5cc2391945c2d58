"""Bodies that attract each other, by broadcasting."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from gridlane import xp
from gridlane.demos.checking import check, run

_STEP, _SOFTENING = 0.001, 0.01


def acceleration(place: Any, mass: Any, library: Any) -> Any:
    """The sum of all bodies' attraction on each, by the functions of ``xp`` or of NumPy."""
    way = place[None, :, :] - place[:, None, :]
    square = library.sum(way * way, axis=-1) + _SOFTENING
    return library.sum(way * (mass / (square * library.sqrt(square)))[:, :, None], axis=1)


def orbits(place: Any, speed: Any, mass: Any, library: Any) -> tuple[Any, Any]:
    """Places and speeds after 10 steps by the leapfrog."""
    pull = acceleration(place, mass, library)
    for _ in range(10):
        speed = speed + 0.5 * _STEP * pull
        place = place + _STEP * speed
        pull = acceleration(place, mass, library)
        speed = speed + 0.5 * _STEP * pull
    return place, speed


def demo(options: Namespace) -> None:
    """Compare the orbits with NumPy's, and the momentum with that of the start."""
    rng = np.random.default_rng(8)
    places, speeds = rng.normal(size=(2, options.size, 3))
    mass = rng.random(options.size) / options.size
    place, speed = orbits(xp.asarray(places), xp.asarray(speeds), xp.asarray(mass), xp)
    expected, _ = orbits(places, speeds, mass, np)
    check("places after 10 steps", place, expected, 1e-9)
    momentum = xp.sum(speed * xp.asarray(mass)[:, None], axis=0)
    check("the momentum", momentum, mass @ speeds, 1e-9)


if __name__ == "__main__":
    run(demo, size=300)
