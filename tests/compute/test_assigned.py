"""Variables that conditions on data assign to: nests that may read one too early are refused.

The oracle is Python, which raises UnboundLocalError for some data.
"""

from __future__ import annotations

import itertools
import linecache
import random

import pytest

from gridlane.compute import Tensor, compute, f32, grid
from gridlane.core.errors import NameLookupError, TypingError

HEAD = "def nest(a: Tensor[f32, 'N'], o: Tensor[f32, 'N']):\n"
ROWS = 4
DATA = [*itertools.product((-2.0, 1.0, 3.0), repeat=ROWS)]

ASSIGNED = {
    "both": """
for i in grid(N):
    if a[i] > 0:
        x = a[i] * 2
    else:
        x = a[i]
    o[i] = x
""",
    "inside": """
for i in grid(N):
    if a[i] > 0:
        x = a[i] * 2
        o[i] = x
""",
    "inside-deeper": """
for i in grid(N):
    if a[i] > 0:
        x = a[i] * 2
        if a[i] > 3:
            o[i] = x
""",
    "before": """
for i in grid(N):
    x = 0.0
    if a[i] > 0:
        x = a[i] * 2
    o[i] = x
""",
    "nested both": """
for i in grid(N):
    if a[i] > 0:
        if a[i] > 2:
            x = 1.0
        else:
            x = 2.0
    else:
        x = a[i]
    o[i] = x
""",
    "elif": """
for i in grid(N):
    if a[i] > 0:
        x = 1.0
    elif a[i] > -1:
        x = 2.0
    else:
        x = 3.0
    o[i] = x
""",
    "loop both": """
for i in grid(N):
    for j in range(2):
        if a[j] > 0:
            x = 1.0
        else:
            x = 2.0
    o[i] = x
""",
    "loop in both": """
for i in grid(N):
    if a[i] > 0:
        for j in range(2):
            x = 1.0
    else:
        for j in range(3):
            x = 2.0
    o[i] = x
""",
    "affine inside": """
for i in grid(N):
    if a[i] > 0:
        if i == 0:
            x = 1.0
        else:
            x = 3.0
    else:
        x = 2.0
    o[i] = x
""",
    "affine around": """
for i in grid(N):
    if i > 3:
        if a[i] > 0:
            x = 1.0
        else:
            x = 2.0
    else:
        x = 0.0
    o[i] = x
""",
    "carried": """
m = a[0]
for i in range(N):
    if a[i] > m:
        m = a[i]
    o[i] = m
""",
    "carried first": """
for i in range(N):
    if i == 0:
        m = a[0]
    if a[i] > m:
        m = a[i]
    o[i] = m
""",
    "augmented": """
for i in grid(N):
    if a[i] > 0:
        x = 1.0
        x += a[i]
        o[i] = x
""",
    "downward": """
for i in range(N - 1, -1, -1):
    if i == N - 1:
        x = 1.0
    if a[i] > 0:
        x = 2.0
    o[i] = x
""",
}

UNASSIGNED = {
    "if": """
for i in grid(N):
    if a[i] > 0:
        x = a[i] * 2
    o[i] = x
""",
    "other side": """
for i in grid(N):
    if a[i] > 0:
        x = a[i] * 2
    else:
        o[i] = x
""",
    "nested one": """
for i in grid(N):
    if a[i] > 0:
        if a[i] > 2:
            x = 1.0
    else:
        x = a[i]
    o[i] = x
""",
    "elif missing": """
for i in grid(N):
    if a[i] > 0:
        x = 1.0
    elif a[i] > -1:
        x = 2.0
    o[i] = x
""",
    "affine hole": """
for i in range(N):
    if i > 3:
        if a[i] > 0:
            x = 1.0
        else:
            x = 2.0
    o[i] = x
""",
    "carried none": """
for i in range(N):
    if a[i] > 0:
        m = a[i]
    o[i] = m
""",
    "test reads": """
for i in grid(N):
    if a[i] > 0:
        x = a[i]
    if x > 1:
        o[i] = 1.0
""",
    "index": """
for i in grid(N):
    if a[i] > 0:
        k = 0
    o[k] = 1.0
""",
    "loop in both, empty": """
for i in grid(N):
    if a[i] > 0:
        for j in range(i):
            x = 1.0
    else:
        for j in range(3):
            x = 2.0
    o[i] = x
""",
}

STRICT = {
    "next if": """
for i in grid(N):
    if a[i] > 0:
        x = a[i] * 2
    if a[i] > 0:
        o[i] = x
""",
    "deep both halves": """
for i in grid(N):
    if a[i] > 0:
        x = 1.0
    if a[i] <= 0:
        x = 2.0
    o[i] = x
""",
    "one loop, both later": """
for i in range(N):
    if a[i] > 0:
        x = 1.0
    else:
        y = 1.0
    if a[i] > 0:
        y = 2.0
    else:
        x = 2.0
    o[i] = x + y
""",
}
"""Python has a value, as two conditions are the same; nests compare no conditions."""


def function_of(body: str, scope: dict[str, object]):
    """A function whose text is known."""
    text = HEAD + "".join(f"    {line}\n" for line in body.strip().splitlines())
    name = f"<{hash(text)}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    space = {**scope}
    exec(compile(text, name, "exec"), space)
    return space["nest"]


def is_unbound_in_python(body: str) -> bool:
    function = function_of(body, {"Tensor": Tensor, "f32": f32, "grid": range, "N": ROWS})
    for data in DATA:
        try:
            function([*data], [0.0] * ROWS)
        except UnboundLocalError:
            return True
    return False


def is_refused(body: str) -> bool:
    function = function_of(body, {"Tensor": Tensor, "f32": f32, "grid": grid})
    try:
        compute(function)
    except TypingError as error:
        assert "may be read before it is assigned to" in str(error)
        return True
    except NameLookupError as error:
        assert "is no argument, extent or variable" in str(error)
        return True
    return False


@pytest.mark.parametrize("name", ASSIGNED)
def test_variables_with_a_value(name):
    assert not is_unbound_in_python(ASSIGNED[name])
    assert not is_refused(ASSIGNED[name])


@pytest.mark.parametrize("name", UNASSIGNED)
def test_variables_without_one(name):
    assert is_unbound_in_python(UNASSIGNED[name])
    assert is_refused(UNASSIGNED[name])


@pytest.mark.parametrize("name", STRICT)
def test_conditions_are_not_compared(name):
    assert not is_unbound_in_python(STRICT[name])
    assert is_refused(STRICT[name])


def test_the_error():
    function = function_of(UNASSIGNED["if"], {"Tensor": Tensor, "f32": f32, "grid": grid})
    with pytest.raises(TypingError) as raised:
        compute(function)
    assert str(raised.value).startswith(
        "x may be read before it is assigned to: in line 4 a condition decides it by data; "
        "assign to x in front of the condition, or on both of its sides"
    )
    assert raised.value.loc.line == 5


def random_body(rng: random.Random, depth: int, loops: list[str]) -> list[str]:
    """Statements that assign to x and read it, under loops and conditions."""
    lines: list[str] = []
    for _ in range(rng.randint(1, 3)):
        choice, at = rng.random(), rng.choice(loops)
        if choice < 0.15 and len(loops) < 3:
            name = "ijk"[len(loops)]
            bound = rng.choice(["2", at, "N", f"{at} + 1"])
            lines.append(f"for {name} in range({bound}):")
            lines += indented(random_body(rng, depth + 1, [*loops, name]))
        elif choice < 0.6 and depth < 4:
            test = rng.choice([f"a[{at}] > 0", f"a[{at}] > 2", f"{at} == 0", f"{at} > 1"])
            lines.append(f"if {test}:")
            lines += indented(random_body(rng, depth + 1, loops))
            if rng.random() < 0.6:
                lines += ["else:", *indented(random_body(rng, depth + 1, loops))]
        elif choice < 0.85:
            lines.append(f"x = a[{at}]")
        else:
            lines.append(f"o[{at}] = x")
    return lines


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def test_random_nests():
    """None that is accepted has data for which Python has no value."""
    rng = random.Random(8)
    counts = {True: 0, False: 0}
    for _ in range(40):
        lines = [*random_body(rng, 1, ["i"]), "o[i] = x"]
        body = "\n".join(["for i in range(N):", *indented(lines)])
        refused = is_refused(body)
        counts[refused] += 1
        assert refused or not is_unbound_in_python(body), body
    assert min(counts.values()) > 5
