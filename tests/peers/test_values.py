"""gridlane answers what numba-cuda 0.30.4 answered on an NVIDIA H200: the same bits, within the ulp
of docs/math.md where a function is not exact, or a row of docs/dialect.md.

The interpreter, which shares the frontend with every device, takes all of the recorded facts. In a
usual run each device takes some of the kernels, the same at each run, others than other devices;
with ``-m nightly`` it takes all. Devices that compute float64 by integers leave out its functions,
which are megabytes of text there (conformance/functions.py); Vulkan, at night alone, has them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.peers.differences import ROWS, Point
from tests.peers.values import Fact, answers, grid, grouped, recorded

from gridlane.backends import backend
from gridlane.conformance.functions import allowed, distance
from gridlane.core.dtypes import by_name
from gridlane.core.errors import CompileError

TOGETHER = {"interp": 60, "cpu": 60}
"""Facts of one kernel."""
FEWER = 20
"""The same of the devices that are not named, whose compilers take long for large kernels."""

PARTS = {"interp": 1, "cpu": 16}
"""A device runs one kernel of so many in a usual run."""
RARE = 160
"""The same of the others."""

FUNCTIONS = re.compile(
    r"(?:math|cmath|np)\.(?:arc)?(\w+)\(.*|.*(?:\*\*|pow\().*|cuda\.(cbrt)\(.*|x = a; x \*\*= b; x"
)
"""Expressions of functions that are not exact."""
EXACT = re.compile(
    r"np\.(u?int|float|complex|bool).*|.*\.(fabs|floor|ceil|trunc|fmod|remainder|copysign|ldexp|frexp"
    r"|nextafter|is\w+|maximum|minimum|f?max|f?min|sqrt|gcd|fma)\(.*|np\.(divide|true_divide)\(.*"
)
"""Those of them that are."""

OF_NUMBA = 2
"""Ulp that CUDA's own functions, numba's, are off at the recorded points."""
TURNED = 1e-12
"""What a power of a complex number may be off, whose angle has the error of a logarithm."""
NEAR_ZERO = {"float32": 1e-6, "float64": 1e-15}
"""What lgamma may be off near its zeros, where no ulp holds."""


def ulp_allowed(device: str, fact: Fact) -> float:
    """Ulp between the two answers."""
    found = FUNCTIONS.fullmatch(fact.expression)
    part = fact.answers.real.dtype
    if found is None or EXACT.fullmatch(fact.expression) or part.kind != "f":
        return 0
    name = {"gamma": "tgamma"}.get(found[1] or "", found[1] or "pow")
    return allowed(device, name, by_name(f"f{part.itemsize * 8}")) + OF_NUMBA


def near(device: str, fact: Fact, ours: np.ndarray) -> np.ndarray:
    """At which points two answers are the same, or as near as a function is exact."""
    limit = ulp_allowed(device, fact)
    same = np.ones(ours.size, bool)
    for a, b in _parts(fact.answers, ours):
        if a.dtype.kind != "f":
            same &= a == b
            continue
        with np.errstate(all="ignore"):
            apart = distance(a, b) <= limit
            if "lgamma" in fact.expression:
                apart |= np.abs(a - b) <= NEAR_ZERO[fact.result]
            if fact.result.startswith("complex") and "**" in fact.expression:
                apart |= np.abs(fact.answers - ours) <= TURNED * np.abs(fact.answers)
        if not limit:
            apart &= (np.signbit(a) == np.signbit(b)) | np.isnan(a)
        same &= apart
    return same


def _parts(one: np.ndarray, other: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    if one.dtype.kind != "c":
        return [(one, other)]
    pairs = ((one.real, other.real), (one.imag, other.imag))
    return [(np.ascontiguousarray(a), np.ascontiguousarray(b)) for a, b in pairs]


@dataclass
class Findings:
    """What a comparison came to.

    Attributes:
        points: those compared; ``same`` of them are.
        rows: how many points each row of the dialect covers.
        wrong: the first point of each fact that nothing covers.
    """

    points: int
    same: int
    rows: dict[str, int]
    wrong: list[str]


def judge(device: str, fact: Fact, ours: np.ndarray, found: Findings) -> None:
    """Compare one fact's answers."""
    different = fact.stored & ~near(device, fact, ours)
    found.points += int(fact.stored.sum())
    found.same += int(fact.stored.sum() - different.sum())
    if not different.any():
        return
    operands = [values[different] for values in grid(fact.kinds)]
    point = Point(fact.kinds, operands, fact.answers[different], ours[different])
    left = np.ones(point.ours.size, bool)
    for row in ROWS:
        covered = row.covered(fact.expression, point) & left
        found.rows[row.name] = found.rows.get(row.name, 0) + int(covered.sum())
        left &= ~covered
    if left.any():
        at = int(np.argmax(left))
        shown = ", ".join(repr(values[at]) for values in operands)
        found.wrong.append(
            f"{fact.expression} of {', '.join(fact.kinds)} at {shown}: "
            f"{point.ours[at]!r}, not {point.numba[at]!r}; {int(left.sum())} points"
        )


def compare(device: str, kernels: list[list[Fact]]) -> Findings:
    """Run the facts of some kernels on a device and compare the answers."""
    found = Findings(0, 0, {}, [])
    for some in kernels:
        for fact, ours in zip(some, answers(device, some)):
            judge(device, fact, ours, found)
    return found


def is_refused(fact: Fact) -> bool:
    """Whether a row says that gridlane refuses a fact."""
    return any(row.covers_type(fact.expression, fact.kinds, fact.result, "error") for row in ROWS)


def fits(device: str, fact: Fact, nightly: bool) -> bool:
    """Whether a device has what a fact needs; at night also what its compiler takes long for."""
    wide = fact.answers.real.dtype == np.float64
    inexact = FUNCTIONS.fullmatch(fact.expression) and not EXACT.fullmatch(fact.expression)
    slow = not backend(device).float64 or (device == "vulkan" and not nightly)
    return not (slow and wide and inexact)


def part(device: str, number: int, nightly: bool = False) -> list[list[Fact]]:
    """Every so many-th kernel that a device can take, from a number on."""
    facts = [fact for fact in recorded() if fits(device, fact, nightly) and not is_refused(fact)]
    step = PARTS.get(device, RARE)
    return list(grouped(facts, TOGETHER.get(device, FEWER)))[number % step :: step]


def test_interpreter_answers_as_numba_and_needs_the_rows():
    found = compare("interp", part("interp", 0))
    assert not found.wrong, "\n".join(found.wrong)
    assert found.points > 700_000
    wanted = {row.name for row in ROWS if row.of_value and not row.unseen}
    assert {name for name, count in found.rows.items() if count} == wanted


@pytest.mark.parametrize("device", DEVICES)
def test_device_answers_as_numba(device: str):
    found = compare(device, part(device, sum(map(ord, device))))
    assert not found.wrong, "\n".join(found.wrong)
    assert found.points


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("device", "number"),
    [(device, number) for device in DEVICES for number in range(PARTS.get(device, RARE))],
)
def test_device_answers_as_numba_at_all_points(device: str, number: int):
    found = compare(device, part(device, number, nightly=True))
    assert not found.wrong, "\n".join(found.wrong)


def test_refused_facts_are_refused():
    for fact in [fact for fact in recorded() if is_refused(fact)]:
        with pytest.raises(CompileError):
            answers("interp", [fact])
