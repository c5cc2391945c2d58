"""The options of a launch, from the values that a program gives."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gridlane.launch.dimensions import LARGEST_CLUSTER
from gridlane.tiles.errors import WrongOption
from gridlane.tiles.programs import Options


def options_of(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> Options:
    """The options of a launch, None of which say nothing; other names are passed over.

    Raises:
        WrongOption: one has a value that it cannot have.
    """
    pairs = [*defaults.items(), *given.items()]
    asked = {name: value for name, value in pairs if value is not None}
    return Options(
        **{name: _OPTIONS[name](name, asked[name]) for name in _OPTIONS if name in asked}
    )


def _whole(value: Any) -> int | None:
    """A whole number, of Python or NumPy; None for anything else."""
    if isinstance(value, bool | np.ndarray):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _warps(name: str, value: Any) -> int:
    count = _whole(value)
    if count is None or count < 1 or count & (count - 1):
        raise WrongOption(f"{name} must be a power of 2, not {value!r}")
    return count


def _at_least(least: int) -> Callable[[str, Any], int]:
    def number(name: str, value: Any) -> int:
        count = _whole(value)
        if count is None or count < least:
            raise WrongOption(f"{name} must be a whole number from {least} on, not {value!r}")
        return count

    return number


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_) and _whole(value) not in (0, 1):
        raise WrongOption(f"{name} must be True or False, not {value!r}")
    return bool(value)


def _cluster(name: str, value: Any) -> tuple[int, int, int]:
    numbers = [_whole(each) for each in value] if isinstance(value, list | tuple) else []
    known = [each for each in numbers if each is not None and each > 0]
    if len(numbers) != 3 or len(known) != 3 or math.prod(known) > LARGEST_CLUSTER:
        raise WrongOption(
            f"{name} must be three numbers whose product is at most {LARGEST_CLUSTER}, not "
            f"{value!r}"
        )
    x, y, z = known
    return x, y, z


_OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "num_warps": _warps,
    "num_stages": _at_least(0),
    "num_ctas": _at_least(1),
    "maxnreg": _at_least(1),
    "debug": _flag,
    "enable_fp_fusion": _flag,
    "cluster_dims": _cluster,
}
