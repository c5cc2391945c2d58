"""Each call and each iteration makes local arrays of its own, as Python does: references to earlier
ones keep what they refer to. The oracle is the same code run by Python, on numpy arrays."""

from __future__ import annotations

import re
import types
from typing import Any

import numpy as np
import pytest
from tests.devices import DEVICES
from tests.frontends.running import module_of

from gridlane import cuda
from gridlane.core.errors import UnsupportedError
from gridlane.cuda import float32, int32
from gridlane.ir.ops import memory
from gridlane.launch import current
from gridlane.launch.devices import get_device

PAIR = np.dtype([("x", np.float32), ("y", np.float32)])
LANES = 8


@cuda.jit(device=True)
def pair(x, y):
    made = cuda.local.array(1, PAIR)
    made[0]["x"] = x
    made[0]["y"] = y
    return made[0]


@cuda.jit(device=True)
def row(start, count):
    made = cuda.local.array(3, int32)
    for k in range(3):
        made[k] = start + k * count
    return made


@cuda.jit(device=True)
def tail(start, count):
    return row(start, count)[1:]


@cuda.jit(device=True)
def first_of(array):
    return array[:2]


@cuda.jit(device=True)
def both(x):
    return pair(x, x * x), row(x, 2), x


@cuda.jit(device=True)
def either(x):
    if x % 3 == 0:
        return row(x, 5)
    other = cuda.local.array(3, int32)
    other[0], other[1], other[2] = x, -x, 7
    return other


@cuda.jit
def kernel(out, n):
    i = cuda.grid(1)
    # Two results of one call, in turn.
    previous, total = pair(i, 0), float32(0)
    for k in range(1, n):
        current = pair(k, k * i)
        total += (current["x"] - previous["x"]) * k + current["y"] * previous["y"]
        previous = current
    out[i, 0] = total
    # One that is kept for long, one for a while, and one that changes through another name.
    best, last, same = row(i, 1), row(i, 3), row(i, 4)
    for k in range(n):
        found = either(k * (i + 3) % 7)
        if found[0] > best[0]:
            best = found
        elif found[0] % 2 == i % 2:
            last = same
            same = found
        else:
            last[1] += 100
    out[i, 1] = best[0] * 100 + best[1] * 10 + best[2] + last[1] * 3 + same[2] - last[0] * same[0]
    # Views, tuples, and a reference that a call returns.
    held, kept = both(i), tail(i, 2)
    for k in range(n):
        view = first_of(row(k, i))
        if k % 3 == i % 3:
            kept = view
        one, two, number = both(k)
        if k == 2:
            held = one, two, number
        two[1] = 50 + number
        one["x"] += 1
    out[i, 2] = held[0]["x"] * 7 + held[1][1] * 11 + held[2] + kept[0] * 13 + kept[1]
    # An array of the loop itself, in a loop, and after it.
    mine, older = row(i, 1), row(i, 2)
    for k in range(n):
        m = 0
        while m < 2:
            fresh = cuda.local.array((2, 2), int32)
            fresh[0, 0], fresh[1, 1] = k + m, 10 * k - i
            if m == 0:
                older = mine
                mine = fresh[1]
                mine[0] = 3
            m += 1
    out[i, 3] = mine[0] + mine[1] * 2 + older[0] * 5 + older[1] + fresh[0, 0]


def expected(function: Any, out: np.ndarray, *args: Any) -> np.ndarray:
    """What Python computes in each thread, with arrays of numpy's."""
    thread = [0]
    stand_in = types.SimpleNamespace(
        local=types.SimpleNamespace(
            array=lambda shape, kind: np.zeros(shape, _TYPES.get(kind, kind))
        ),
        grid=lambda _: thread[0],
    )
    body = _plain(function, {"cuda": stand_in, "float32": np.float32})
    for thread[0] in range(len(out)):
        body(out, *args)
    return out


def _plain(function: Any, known: dict[str, Any]) -> Any:
    """A kernel or a device function as a function of Python, which calls such functions."""
    code = function.py_func.__code__
    names = function.py_func.__globals__ | known
    made = known[code.co_name] = types.FunctionType(code, names)
    for name in code.co_names:
        if hasattr(names.get(name), "py_func"):
            names[name] = _plain(names[name], known)
    return made


_TYPES: dict[Any, Any] = {int32: np.int32, float32: np.float32}


@pytest.mark.parametrize("name", ["interp", *DEVICES])
def test_results_outlive_the_next_call(name):
    current.choose(get_device(name))
    out = np.zeros((LANES, 4), np.float32)
    kernel[1, LANES](out, 9)
    assert out.tolist() == expected(kernel, np.zeros_like(out), 9).tolist()


def _local_arrays(function: Any, *args: Any) -> list[tuple[str, int]]:
    """The functions with local arrays, and the elements of these."""
    module = module_of(function.py_func, *args)
    return [
        (each.name, op.count)
        for each in module.functions.values()
        for op in each.body.walk()
        if isinstance(op, memory.LocalArray)
    ]


@cuda.jit(device=True)
def sum_of_row(k):
    made = row(k, 2)
    return made[0] + made[1] + made[2]


def test_one_array_where_nothing_refers_to_it():
    @cuda.jit
    def reuses(out, n):
        for k in range(n):
            own = cuda.local.array(3, int32)
            own[0] = k + sum_of_row(k)
            view = own[:2]
            if k > 3:
                view = row(k, 1)
            out[k] = view[0]

    found = _local_arrays(reuses, np.zeros(1, np.int32), 5)
    assert sorted(found) == [("reuses", 3), ("reuses", 3), ("sum_of_row", 3)]


def test_as_many_slots_as_references():
    @cuda.jit
    def holds(out, n):
        first, last = row(0, 1), row(0, 1)
        for k in range(n):
            found = cuda.local.array(4, int32, alignment=64)
            found[0] = k
            if k % 3 == 0:
                first = found[:3]
            last, kept = found[1:], last
            out[k] = first[0] + kept[0]

    # Slots of 64 bytes, for two references and what is made.
    assert ("holds", 48) in _local_arrays(holds, np.zeros(1, np.int32), 5)


@cuda.jit(device=True)
def deepest(n):
    own = cuda.local.array(1, int32)
    own[0] = n
    return own if n == 0 else deepest(n - 1)


@cuda.jit(device=True)
def passed_down(array, n):
    return array if n == 0 else passed_down(array, n - 1)


@cuda.jit(device=True)
def sums(n):
    return n if n == 0 else sums(n - 1) + row(n, 1)[1]


def test_recursive_functions_are_refused_by_name():
    @cuda.jit
    def returns(out, n):
        out[0] = deepest(n)[0]

    @cuda.jit
    def inlines(out, n):
        out[0] = sums(n)

    @cuda.jit
    def carries(out, n):
        last = row(0, 1)
        for k in range(n):
            found = passed_down(row(k, 1), k)
            out[k] = found[0] + last[0]
            last = found

    cases = (
        (returns, "deepest() calls itself, so its local array"),
        (inlines, "sums() calls itself, so its local array"),
        (carries, "() may return an array of an earlier iteration"),
    )
    for function, message in cases:
        with pytest.raises(UnsupportedError, match=re.escape(message)):
            module_of(function.py_func, np.zeros(1, np.int32), 5)
