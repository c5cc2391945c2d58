"""Expressions that are computed as earlier ones of the same structure and shapes were."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.effort import examples

from gridlane import xp
from gridlane.xp import computing, recipes


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """No recipes of earlier tests."""
    monkeypatch.setattr(computing, "_recipes", {})


def repeated() -> int:
    return sum(isinstance(each, recipes.Recipe) for each in computing._recipes.values())


@pytest.fixture
def repeats(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was computed by recipes in a test."""
    seen: list[object] = []
    repeat = recipes.Recipe.repeat

    def noting(self: recipes.Recipe, nodes: list[object]) -> None:
        seen.append(self)
        repeat(self, nodes)  # type: ignore[arg-type]

    monkeypatch.setattr(recipes.Recipe, "repeat", noting)
    return seen


EXPRESSIONS: dict[str, Callable[[object, object, object], object]] = {
    "chain": lambda m, x, y: (x * 2.5 + y) * x - 1,
    "broadcast": lambda m, x, y: x + m.sum(y * 2, axis=0),
    "reduction": lambda m, x, y: m.sum(x * y + 1, axis=1),
    "whole": lambda m, x, y: m.max(x) - m.min(y),
    "mean": lambda m, x, y: m.mean(x, axis=0) + y,
    "comparison": lambda m, x, y: (x < y) & (x > 0.5),
    "complex": lambda m, x, y: x * (1 + 2j) - y,
    "view": lambda m, x, y: x[::-1, 1:] * y[:, :-1],
}


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_results_are_those_of_the_first_computation(name: str, device: str) -> None:
    generator = np.random.default_rng(1)
    for _ in range(3):
        host = [generator.random((7, 9)).astype("f4") for _ in range(2)]
        arrays = [xp.asarray(each, device=device) for each in host]
        result = np.asarray(EXPRESSIONS[name](xp, *arrays))
        expected = np.asarray(EXPRESSIONS[name](np, *host))
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
        assert result.dtype == expected.dtype


def test_a_recipe_is_used(repeats):
    x = xp.asarray(np.arange(6.0))
    for n in range(4):
        assert (x * n + 1).tolist() == (np.arange(6.0) * n + 1).tolist()
    # The numbers 0 and 1 are one node or two.
    assert len(repeats) >= 2


def test_what_is_kept_decides(repeats):
    """An intermediate result that somebody refers to is stored by a recipe of its own."""
    x = xp.asarray(np.arange(6.0))
    for _ in range(3):
        part = x + 1.5
        assert (part * 3).tolist() == ((np.arange(6.0) + 1.5) * 3).tolist()
        assert not part.node.is_pending
        whole = (x + 1.5) * 3
        assert whole.tolist() == ((np.arange(6.0) + 1.5) * 3).tolist()
    assert len(repeats) == 4


def test_shapes_layouts_and_aliases_are_told_apart():
    x = np.arange(12.0).reshape(3, 4)
    a = xp.asarray(x)
    assert (a * a).tolist() == (x * x).tolist()
    b = xp.asarray(x + 1)
    assert (a * b).tolist() == (x * (x + 1)).tolist()
    assert (a.T * b.T).tolist() == (x * (x + 1)).T.tolist()
    assert (a[:, :1] * b).tolist() == (x[:, :1] * (x + 1)).tolist()
    assert (a[:1] * b).tolist() == (x[:1] * (x + 1)).tolist()
    assert (xp.sum(a, axis=0) + xp.sum(a, axis=0)).tolist() == (2 * x.sum(0)).tolist()
    assert (xp.sum(a, axis=1) + xp.sum(b, axis=1)).tolist() == (2 * x.sum(1) + 4).tolist()


def test_zeros_of_both_signs_are_not_one_number():
    x = xp.asarray([-1.0, 1.0])
    for zero in (0.0, -0.0, 0.0):
        assert np.signbit(np.asarray(xp.asarray([-0.0]) + zero)) == np.signbit(-0.0 + zero)
    assert [str(each) for each in (x * -0.0).tolist()] == ["0.0", "-0.0"]
    assert (xp.asarray([1], device=x.device) + True).dtype == np.int64
    assert (xp.asarray([1], device=x.device) + 1.0).dtype == np.float64


def test_in_place_changes_reach_recipes():
    x = xp.asarray(np.zeros(4))
    for n in range(4):
        later = x * 2 + 1
        x[1:3] += 1
        assert later.tolist() == [1, 2 * n + 1, 2 * n + 1, 1]
        assert (x * 2 + 1).tolist() == [1, 2 * n + 3, 2 * n + 3, 1]


def test_nothing_is_kept_alive():
    x = xp.asarray(np.zeros(1000))
    memory = x.node.device.memory
    for _ in range(3):
        (xp.sum(x * 2 + 1) + x).leaf()
    gc.collect()
    before = memory.statistics().used
    gc.disable()
    try:
        for _ in range(50):
            (xp.sum(x * 2 + 1) + x).leaf()
        assert memory.statistics().used == before
    finally:
        gc.enable()


def test_threads_have_their_own_results():
    x = xp.asarray(np.arange(1000.0))
    wrong: list[int] = []

    def work(number: int) -> None:
        for n in range(40):
            if not np.array_equal(x * number + n, np.arange(1000.0) * number + n):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_the_number_of_recipes_is_bounded(monkeypatch):
    monkeypatch.setattr(recipes, "MOST", 4)
    for size in range(1, 12):
        assert (xp.asarray(np.ones(size)) + 1.5).tolist() == [2.5] * size
    assert len(computing._recipes) <= 4


OPERATIONS = ("add", "multiply", "subtract", "maximum")


@settings(max_examples=examples(25, 400), deadline=None)
@given(st.data())
def test_random_expressions(data: st.DataObject) -> None:
    """Each twice, with and without references to parts of it."""
    host = [np.arange(6.0), np.arange(6.0)[::-1].copy(), np.array(2.0)]
    choices = data.draw(
        st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 20), st.integers(0, 20)))
    )
    kept = data.draw(st.sets(st.integers(0, 20)))
    for _ in range(2):
        expected, arrays = [*host], [xp.asarray(each) for each in host]
        held = []
        for number, (name, left, right) in enumerate(choices):
            left, right = left % len(arrays), right % len(arrays)
            expected.append(getattr(np, name)(expected[left], expected[right]))
            arrays.append(getattr(xp, name)(arrays[left], arrays[right]))
            if number in kept:
                held.append((arrays[-1], expected[-1]))
        result, wanted = arrays.pop(), expected.pop()
        del arrays
        with np.errstate(over="ignore", invalid="ignore"):
            assert np.array_equal(result, wanted, equal_nan=True)
        for array, numbers in held:
            assert np.array_equal(array, numbers, equal_nan=True)


def test_numbers_of_python_and_bfloat16():
    x = xp.asarray(np.arange(6), dtype=xp.bfloat16)
    for value in (1.5, 1, True):
        for _ in range(3):
            assert np.array_equal(np.asarray(x + value).astype(np.float32), np.arange(6) + value)
