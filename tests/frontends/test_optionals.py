"""Values that may be None: results of device functions, variables, items of tuples. The oracle is
Python, which runs the same functions."""

from __future__ import annotations

import types
from collections import namedtuple
from enum import Enum
from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.running import OPTIONS, module_of

from gridlane import cuda
from gridlane.core.errors import TypingError
from gridlane.cuda import float32, int32
from gridlane.frontends.python.translation import translate_device
from gridlane.launch import current
from gridlane.launch.devices import get_device

SPOT = np.dtype([("x", np.float32), ("n", np.int32)])
Range = namedtuple("Range", ["low", "high"])
LANES = 12


class Kind(Enum):
    EVEN = 2
    THIRD = 3


@cuda.jit(device=True)
def half(n):
    if n % 2 == 0:
        return n // 2


@cuda.jit(device=True)
def quarter(n):
    found = half(n)
    if found is None:
        return None
    return half(found)


@cuda.jit(device=True)
def share(x, by=None):
    if by is None:
        return x
    return None if by == 0 else x / by


@cuda.jit(device=True)
def span(n):
    return Range(n, n * 3) if n > 2 else None


@cuda.jit(device=True)
def sides(n):
    if n % 3 == 0:
        return n, None
    return None, n * 10


@cuda.jit(device=True)
def row_of(rows, n):
    if n < 0 or n >= rows.shape[0]:
        return None
    return rows[n]


@cuda.jit(device=True)
def spot_of(spots, n):
    if spots[n]["n"] > 4:
        return spots[n]


@cuda.jit(device=True)
def turned(n):
    if n % 4:
        return complex(n, 1)


@cuda.jit(device=True)
def kind_of(n):
    if n % 2 == 0:
        return Kind.EVEN
    elif n % 3 == 0:
        return Kind.THIRD


@cuda.jit(device=True)
def name_of(names, n):
    return names[n] if n % 2 else None


@cuda.jit(device=True)
def depth(n):
    if n == 0:
        return 0
    if n == 7:
        return None
    below = depth(n - 1)
    return None if below is None else below + 1


@cuda.jit(device=True)
def positive(n):
    return n > 3 if n != 5 else None


@cuda.jit
def numbers(out, limit):
    i = cuda.grid(1)
    found = half(i)
    out[i, 0] = -1 if found is None else found
    out[i, 1] = quarter(i) or 77
    best, count = None, 0
    for k in range(i):
        if best is None:
            best = k * k
        elif best % 3 == 1:
            best = None
            count += 1
        else:
            best += k
    out[i, 2] = best if best is not None and best > 1 else count
    out[i, 3] = 1 if found == 2 else 2 if found != None else 3  # noqa: E711
    out[i, 4] = share(float32(i)) + (share(float32(i), i % 3) or 0.5)
    last = i
    while (last := half(last)) is not None and last > 0:
        out[i, 5] += last
    flag = positive(i)
    out[i, 6] = 5 if flag else 6 if flag is None else 7
    out[i, 7] = 1 if not found else 2
    total = found
    if total is None:
        total = limit
    total += 1
    out[i, 8] = total
    match found:
        case None:
            out[i, 9] = 4
        case 3:
            out[i, 9] = 5
        case _:
            out[i, 9] = found
    other = half(i + 2)
    out[i, 10] = (found == other) * 4 + (found in (1, 2)) * 2 + (half(3) == half(5))
    if found and other and found < other:
        out[i, 11] = min(found, other) - max(other, 3)
    out[i, 12] = isinstance(found, int) + 2 * bool(found)


@cuda.jit
def aggregates(out, rows, spots, names):
    i = cuda.grid(1)
    found = span(i)
    if found:
        out[i, 0] = found.high - found[0]
    one, two = sides(i)
    out[i, 1] = one if one is not None else two
    row = row_of(rows, i - 3)
    if row is not None:
        out[i, 2] = row[1] + row.sum() + len(row)
        row[0] = 50
    own = None
    if i % 3 == 1:
        own = cuda.local.array(2, int32)
        own[0], own[1] = i, 5
    out[i, 3] = 8 if own is None else own[0] * own[1]
    spot = spot_of(spots, i)
    if spot is not None:
        spot["x"] += 2
        out[i, 4] = spot["n"]
    z = turned(i)
    out[i, 5] = z.real + abs(z.imag) if z is not None else 3
    kind = kind_of(i)
    out[i, 6] = 1 if kind is None else 2 if kind is Kind.EVEN else 3
    name = name_of(names, i)
    out[i, 7] = -1 if name is None else len(name) + (name == "three") * 10
    pick = half if i % 2 else None
    out[i, 8] = 9 if pick is None else pick(i + 1)
    held = (i, None) if i % 2 else (i + 1, i)
    out[i, 9] = held[0] if held[1] is None else held[1] * 2


def expected(function: Any, *args: Any) -> tuple[np.ndarray, ...]:
    """The arrays that Python leaves."""
    copies = tuple([arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args])
    thread = [0]
    local = types.SimpleNamespace(array=lambda shape, kind: np.zeros(shape, np.int32))
    stand_in = types.SimpleNamespace(grid=lambda _: thread[0], local=local)
    body = _plain(function, {"cuda": stand_in, "float32": np.float32})
    for thread[0] in range(LANES):
        body(*copies)
    return copies


def _plain(function: Any, known: dict[str, Any]) -> Any:
    """A kernel or a device function as a function of Python, which calls such functions."""
    code = function.py_func.__code__
    names = function.py_func.__globals__ | known
    made = types.FunctionType(code, names, argdefs=function.py_func.__defaults__)
    known[code.co_name] = names[code.co_name] = made
    for name in code.co_names:
        if hasattr(names.get(name), "py_func"):
            names[name] = _plain(names[name], known)
    return made


ON_ALL = pytest.mark.parametrize("name", ["interp", *DEVICES])


@ON_ALL
def test_numbers(name):
    current.choose(get_device(name))
    out = np.zeros((LANES, 13), np.float32)
    wanted, _ = expected(numbers, out, 40)
    numbers[1, LANES](out, 40)
    assert out.tolist() == wanted.tolist()


@ON_ALL
def test_aggregates(name):
    current.choose(get_device(name))
    out, rows = np.zeros((LANES, 10), np.float32), np.arange(24, dtype=np.float32).reshape(8, 3)
    spots = np.zeros(LANES, SPOT)
    spots["n"] = np.arange(LANES)
    names = np.array(["one", "three", "", "seven"] * 3, "U6")
    wanted = expected(aggregates, out, rows, spots, names)
    aggregates[1, LANES](out, rows, spots, names)
    for own, right in zip((out, rows, spots), wanted, strict=False):
        assert own.tolist() == right.tolist()


def _first_or_none(x):
    if x > 0:
        return x


def _tuple_or_none(x):
    return (x, x) if x > 0 else None


def _with_none(x):
    return (x, None) if x > 0 else (x, x)


def _both_with_none(x):
    return (x, None) if x > 0 else (None, x)


def _none_first(x):
    y = None
    for i in range(3):
        if x > i:
            y = x
    return y


def _wider(x):
    if x > 2:
        return np.int64(3)
    if x > 1:
        return np.float32(x)


def _in_arithmetic(x):
    y = x if x > 0 else None
    return y + 1, -y, y < 3, y == 2, abs(y), y is None, not y


def _only_none(x):
    y = None
    return y


def _array_or_none(x):
    y = cuda.local.array(2, float32)
    return y if x > 0 else None


FLOAT = "OptionalType(float32)"


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        # Those of numba-cuda 0.30.4, which writes UniTuple where the items are alike.
        (_first_or_none, FLOAT),
        (_tuple_or_none, "OptionalType(Tuple(float32, float32))"),
        (_with_none, f"Tuple(float32, {FLOAT})"),
        (_both_with_none, f"Tuple({FLOAT}, {FLOAT})"),
        (_none_first, FLOAT),
        (_wider, "OptionalType(float64)"),
        (_in_arithmetic, "Tuple(float64, float32, bool, bool, float32, bool, bool)"),
        (_only_none, "none"),
        (_array_or_none, "OptionalType(array(float32, 1d, C))"),
    ],
)
def test_types_are_numbas(function, kind):
    _, found = translate_device(function, (float32,), OPTIONS)
    assert str(found) == kind


@cuda.jit("optional(float32)(optional(int64), float64)", device=True)
def declared(n, x):
    if n is None:
        return x
    return None if n == 3 else n + x


@cuda.jit("float32(float32)", device=True)
def plain_float(x):
    return x + 1


def test_declared_types():
    kind = cuda.types.Optional(float32)
    assert kind == cuda.types.optional(float32) and kind.type == float32
    assert str(cuda.types.void(kind).args[0]) == "OptionalType(float32)"

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        first, second = declared(i, 0.5), declared(None, i)
        out[i, 0] = -1 if first is None else first
        out[i, 1] = second if second is not None else -1
        out[i, 2] = plain_float(first)
        out[i, 3] = 1

    out = np.zeros((5, 4), np.float32)
    kernel[1, 5](out)
    assert out[:, 0].tolist() == [0.5, 1.5, 2.5, -1, 4.5]
    assert out[:, 1].tolist() == [0, 1, 2, 3, 4]
    # None is no float32: the thread ends.
    assert out[:, 2:].tolist() == [[1.5, 1], [2.5, 1], [3.5, 1], [0, 0], [5.5, 1]]


@pytest.mark.parametrize("name", ["interp", "cpu"])
def test_none_as_a_number_ends_the_thread(name):
    current.choose(get_device(name))

    def body(out, n):
        found = half(n + cuda.grid(1))
        out[0] += found
        out[1] = 5

    out = np.zeros(2, np.int64)
    cuda.jit(body)[1, 1](out, 3)
    assert out.tolist() == [0, 0]
    cuda.jit(body)[1, 1](out, 4)
    assert out.tolist() == [2, 5]
    with pytest.raises(TypeError, match="expected int64, got None"):
        cuda.jit(debug=True, opt=False)(body)[1, 1](out, 3)


def test_refusals():
    def slices(out, n):
        out[0] = out[half(n) : 3].sum()

    def mixes(out, n):
        found = (n, 2) if n > 3 else half(n)
        out[0] = found

    def truths(out, n):
        rows = row_of(out, n)
        if rows:
            out[0, 0] = 1

    cases = (
        (slices, np.zeros(4), "a bound of a slice that may be None"),
        (mixes, np.zeros(4), "have no common type"),
        (truths, np.zeros((2, 2)), "an array has no truth value"),
    )
    for function, array, message in cases:
        with pytest.raises(TypingError, match=message):
            module_of(function, array, 3)
