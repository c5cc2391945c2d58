"""Programs of views, stores and expressions that are computed late, beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.effort import examples

from gridlane import xp
from gridlane.xp import computing
from gridlane.xp.nodes import Storage

STEPS = [
    "view", "expression", "scaled", "gather", "store", "store_many", "masked", "in_place",
    "in_place_number", "reduce", "out", "compute", "drop", "roll", "export",
]  # fmt: skip
KEYS: list[Any] = [
    (slice(None, None, -1),),
    (slice(1, None),),
    (slice(None, -1),),
    (slice(None), slice(None, None, 2)),
    (slice(None), None, 0),
]
Pair = tuple[np.ndarray, Any]


def alike(pairs: list[Pair], chosen: Pair, number: int) -> Pair:
    """One of the pairs that broadcasts to the shape of another."""
    fitting = [each for each in pairs if each[0].shape == chosen[0].shape]
    return fitting[number % len(fitting)]


def step(kind: str, pairs: list[Pair], chosen: Pair, number: int) -> Pair | None:
    """Do one thing to both arrays of a pair; the new pair, if there is one."""
    host, own = chosen
    other = alike(pairs, chosen, number)
    if kind == "view":
        key = KEYS[number % len(KEYS)]
        needed = sum(each is not None for each in key)
        return (host[key], own[key]) if host.ndim >= needed else None
    if kind == "expression":
        return host + other[0] * 2, own + other[1] * 2
    if kind == "scaled":
        return host * 3 - 1, own * 3 - 1
    if kind == "gather" and host.ndim and len(host):
        places = [number % len(host), 0, -1]
        return host[places], own[places]
    if kind == "store":
        host[...] = other[0] + 1
        own[...] = other[1] + 1
    if kind == "store_many" and host.ndim and len(host):
        host[[0, -1, 0]] = other[0][[-1, 0, -1]]
        own[[0, -1, 0]] = other[1][[-1, 0, -1]]
    if kind == "masked":
        host[other[0] % 3 == 0] = number
        own[other[1] % 3 == 0] = number
    if kind == "in_place":
        host += other[0]
        own += other[1]
    if kind == "in_place_number":
        host *= 2
        own *= 2
    if kind == "reduce" and host.ndim:
        return host.sum(0), xp.sum(own, axis=0)
    if kind == "out":
        np.subtract(other[0], host, out=host)
        xp.subtract(other[1], own, out=own)
    if kind == "compute":
        own.leaf()
    if kind == "roll" and host.ndim:
        return np.roll(host, 1, axis=0), xp.roll(own, 1, axis=0)
    if kind == "export" and own.device == "cpu" and own.size:
        shared = np.from_dlpack(own)
        shared[...] = host + 5
        host[...] = host + 5
    return None


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@settings(max_examples=examples(30, 1000), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 20), st.integers(0, 20)), max_size=14)
)
def test_programs_are_numpys(device: str, program: list[tuple[str, int, int]]) -> None:
    start = np.arange(12, dtype=np.int64).reshape(3, 4)
    pairs: list[Pair] = [(start, xp.asarray(start, device=device))]
    for kind, place, number in program:
        chosen = pairs[place % len(pairs)]
        if kind == "drop":
            if len(pairs) > 1:
                pairs.pop(place % len(pairs))
            continue
        new = step(kind, pairs, chosen, number)
        if new is not None and isinstance(new[0], np.ndarray):
            pairs.append(new)
    for host, own in pairs:
        assert own.shape == host.shape
        assert np.array_equal(own, host), program


@pytest.mark.parametrize("is_pending", [True, False])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: xp.mad(x),
        lambda x: xp.sparsemax(x),
        lambda x: xp.winsorize(x, 0.1, 0.1),
        lambda x: xp.Array(x.node),
        lambda x: repr(x),
    ],
)
def test_functions_leave_their_operands_to_later_stores(call: Any, is_pending: bool) -> None:
    x = xp.asarray([0.5, 0.75, 0.25])
    if is_pending:
        x = x * 1
    before = x * 2
    call(x)
    x[0] = 5
    assert x.tolist() == [5, 0.75, 0.25]
    x += 1
    assert x.tolist() == [6, 1.75, 1.25]
    assert before.tolist() == [1, 1.5, 0.5]


@pytest.mark.parametrize("order", [1, -1])
def test_arrays_of_one_leaf_share_memory(order: int) -> None:
    x = xp.asarray([1, 2, 3])
    y = xp.Array(x.node)
    first, second = (x, y)[::order]
    later = first * 2
    first[0] = 7
    assert second.tolist() == [7, 2, 3]
    second += 1
    assert first.tolist() == [8, 3, 4]
    assert later.tolist() == [2, 4, 6]


def test_stores_into_arrays_of_one_pending_node() -> None:
    x = xp.asarray([1, 2, 3]) + 0
    first, second = xp.Array(x.node), xp.Array(x.node)
    later = second * 2
    del x
    first[0] = 7
    second[1] = 8
    assert first.tolist()[0] == 7
    assert second.tolist()[1] == 8
    assert later.tolist() == [2, 4, 6]


def test_stores_copy_no_memory_that_nothing_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[int] = []
    duplicate = computing._duplicate

    def noting(storage: Storage) -> Storage:
        copies.append(storage.buffer.size)
        return duplicate(storage)

    monkeypatch.setattr(computing, "_duplicate", noting)
    x = xp.asarray(np.arange(12.0).reshape(3, 4))
    view = x[1:]
    x[0] = 1
    x[[0, 2]] = 5
    x[[0, 2]] = view
    x[x > 3] = 2
    view += 1
    xp.add(x, 1, out=x)
    xp.copyto(x, view[:1])
    x[...] = x[::-1]
    if x.device == "cpu":
        np.from_dlpack(x)
    assert not copies
    later = x * 2
    expected = np.asarray(x) * 2
    y = xp.asarray(np.arange(3.0))
    later_y = y * 2
    y[0] = 7
    y[1] = 8
    assert len(copies) == 1
    assert later_y.tolist() == [0, 2, 4]
    assert np.array_equal(later, expected)
