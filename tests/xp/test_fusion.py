"""Expressions of arrays: what is fused, what is stored, and stores that keep old results."""

from __future__ import annotations

import ast
import gc
import inspect
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.devices import DEVICES
from tests.effort import examples

from gridlane import xp
from gridlane.xp import computing, groups, recipes
from gridlane.xp.nodes import Node


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[groups.Group]:
    """The groups that are launched in a test."""
    seen: list[groups.Group] = []
    launch = computing._launch

    def noting(device: object, group: groups.Group, leaves: list[Node]) -> None:
        seen.append(group)
        launch(device, group, leaves)  # type: ignore[arg-type]

    monkeypatch.setattr(computing, "_launch", noting)
    monkeypatch.setattr(computing.recipes, "trace", lambda root: None)  # recipes launch themselves
    return seen


def names(group: groups.Group) -> list[str]:
    return [step[0] for step in group.form.steps if step[0] not in ("leaf", "number")]


def test_a_chain_is_one_kernel(launched):
    x, y = xp.asarray(np.arange(6.0)), xp.asarray(np.arange(6, dtype=np.int32))
    result = -(x * 2 + y) * x - 1
    assert not launched
    expected = -(np.arange(6.0) * 2 + np.arange(6)) * np.arange(6.0) - 1
    assert np.array_equal(result, expected)
    (group,) = launched
    assert names(group) == ["multiply", "cast", "add", "negative", "multiply", "subtract"]
    assert len(group.stored) == 1
    assert np.array_equal(result, expected)
    assert len(launched) == 1


def test_an_array_that_is_referred_to_is_stored_by_the_same_kernel(launched):
    x = xp.asarray(np.arange(6.0))
    part = x + 1
    whole = part * part
    assert np.array_equal(whole, (np.arange(6.0) + 1) ** 2)
    assert np.array_equal(part, np.arange(6.0) + 1)
    assert [names(each) for each in launched] == [["add", "multiply"]]


def test_what_a_later_expression_needs_is_stored(launched):
    x = xp.asarray(np.arange(6.0))
    part = x + 1
    one, other = part * 2, part * 3
    del part
    assert np.array_equal(one, (np.arange(6.0) + 1) * 2)
    assert np.array_equal(other, (np.arange(6.0) + 1) * 3)
    assert [names(each) for each in launched] == [["add", "multiply"], ["multiply"]]


def test_what_is_broadcast_is_computed_once(launched):
    matrix, row = np.arange(200.0).reshape(2, 100), np.arange(100.0)
    result = xp.asarray(matrix) + xp.asarray(row) * 2
    assert np.array_equal(result, matrix + row * 2)
    assert [names(each) for each in launched] == [["multiply"], ["add"]]
    assert [each.form.by_rows for each in launched] == [False, True]


def test_sizes_strides_and_numbers_share_code(launched):
    for size in (3, 1000):
        for factor in (2, 5.0):
            x = np.arange(2.0 * size)
            assert np.array_equal(xp.asarray(x)[::2] * factor, x[::2] * factor)
    assert len({each.form for each in launched}) == 1


def test_long_expressions_are_computed_in_parts(launched):
    x = xp.asarray(np.zeros(3))
    for _ in range(1000):
        x = x + 1
    assert np.array_equal(x, np.full(3, 1000.0))
    assert len(launched) == -(-1000 // (groups.LIMIT + 1))
    assert len({each.form for each in launched}) <= 2


def test_long_chains_of_casts_are_computed_in_parts():
    x = xp.asarray(np.arange(3.0))
    for number in range(5000):
        x = x.astype(np.float32 if number % 2 else np.float64)
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize("module", [computing, groups, recipes])
def test_references_are_counted_of_no_variable(module):
    """CPython 3.14 borrows the reference of a variable that is an argument, at some places."""
    calls = [
        call
        for call in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "sys.getrefcount"
    ]
    assert calls
    assert not [call.lineno for call in calls if isinstance(call.args[0], ast.Name)]


def test_a_result_that_is_its_own_operand_many_times(launched):
    x = xp.asarray(np.ones(3))
    for _ in range(100):
        x = x + x * 0
    assert np.array_equal(x, np.ones(3))


def test_old_results_keep_their_elements():
    x = np.arange(24.0).reshape(4, 6)
    array = xp.asarray(x)
    view = array[1:3, ::-2]
    before, of_view = array * 2, view + 1
    array[1] = -5.0
    changed = x.copy()
    changed[1] = -5.0
    assert np.array_equal(before, x * 2)
    assert np.array_equal(of_view, x[1:3, ::-2] + 1)
    assert np.array_equal(array, changed)
    assert np.array_equal(view, changed[1:3, ::-2])


def test_old_results_keep_their_elements_when_the_array_gets_another_shape():
    array = xp.asarray(np.arange(6.0))
    before, view = array * 2, array[1:]
    array.shape = 2, 3
    array[0, 1] = 50
    assert before.tolist() == [0, 2, 4, 6, 8, 10]
    assert view.tolist() == [50, 2, 3, 4, 5]


def test_stores_that_overlap_what_they_read():
    x = np.arange(24.0).reshape(4, 6)
    array = xp.asarray(x)
    array[:, 1:] = array[:, :-1]
    array[::-1] = array
    expected = x.copy()
    expected[:, 1:] = expected[:, :-1].copy()
    assert np.array_equal(array, expected[::-1])


def test_in_place_operators():
    x = np.arange(6, dtype=np.int32)
    array = xp.asarray(x)
    alias = array
    half = array[:3]
    array += 1
    half *= 10
    assert alias is array
    assert array.tolist() == [10, 20, 30, 4, 5, 6]
    assert array.dtype == np.int32
    with pytest.raises(TypeError, match="float64 cannot be cast to int32"):
        array += 0.5
    with pytest.raises(ValueError, match=r"the result's shape \(2, 3\) is not \(3,\)"):
        half += xp.asarray(np.zeros((2, 3), np.int32))


def test_memory_goes_with_the_last_reference():
    x = xp.asarray(np.zeros(1000))
    assert x.node.device is not None
    memory = x.node.device.memory
    gc.collect()
    before = memory.statistics().used
    for _ in range(50):
        y = x * 2 + 1
        assert y.shape == (1000,)
        z = y * 3
        z.leaf()
    del y, z
    gc.collect()
    assert memory.statistics().used == before


def test_shapes_and_devices_that_do_not_fit():
    with pytest.raises(ValueError, match=r"broadcast together with shapes \(3,\) \(2,\)"):
        xp.add(xp.asarray([1, 2, 3]), xp.asarray([1, 2]))
    with pytest.raises(ValueError, match=r"devices (cpu and interp|interp and cpu)"):
        xp.asarray([1], device="cpu") + xp.asarray([1], device="interp")
    with pytest.raises(TypeError, match="an array of NumPy's"):
        xp.add(xp.asarray([1]), np.asarray([1]))
    with pytest.raises(TypeError, match="2 operands, not 1"):
        xp.add(xp.asarray([1]))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = xp.nothing


@pytest.mark.parametrize("key", [5, -5, (0, 0, 0), "x", (..., ...), 1.5, (0, [1.5])])
def test_keys_that_are_no_indices(key):
    with pytest.raises(IndexError):
        _ = xp.asarray(np.zeros((4, 4)))[key]


@st.composite
def layouts(draw: st.DrawFn) -> tuple[np.ndarray, tuple[object, ...]]:
    """An array, and a key that takes a view of it."""
    shape = draw(st.lists(st.integers(0, 5), min_size=0, max_size=4))
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    keys: list[object] = []
    for extent in shape:
        if extent and draw(st.booleans()):
            keys.append(draw(st.integers(-extent, extent - 1)))
        else:
            keys.append(draw(st.slices(extent)))
        if draw(st.booleans()):
            keys.append(None)
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(keys)))
        keys = [*keys[:cut], ...]
    return array, tuple(keys)


@pytest.mark.parametrize("device", ["interp", *DEVICES])
@settings(max_examples=examples(40, 400), deadline=None)
@given(layouts())
def test_views_are_numpys(device: str, layout: tuple[np.ndarray, tuple[object, ...]]) -> None:
    array, key = layout
    expected = array[key]
    view = xp.asarray(array, device=device)[key]
    assert view.shape == expected.shape
    assert np.array_equal(view, expected)
    assert np.array_equal(view + view, expected + expected)
    if expected.shape:
        assert np.array_equal(view + view[:1], expected + expected[:1]) if len(expected) else True


def test_plans_are_what_is_launched(launched):
    x = xp.asarray(np.arange(5000.0).reshape(50, 100))
    row = xp.asarray(np.arange(100.0))
    shifted = x + row * 2
    total = xp.sum(shifted * shifted) + shifted[..., :1]
    part = xp.exp(xp.asarray(np.arange(3.0)))
    whole = xp.sum(part * 2) - part + total
    plan = xp.explain(whole)
    assert whole.node.is_pending
    launched.clear()  # the fixture sees plans too
    whole.leaf()
    assert len(launched) == len(plan.kernels) > 2
    for group, kernel in zip(launched, plan.kernels, strict=True):
        assert tuple(names(group)) == kernel.operations[: len(names(group))]
    assert "a reduction is the last operation of a kernel" in str(plan)
    assert str(xp.explain(whole)) == "no kernel: the elements are computed"


@pytest.mark.parametrize("size", [256 * 4, 256 * 5 + 3, 256 * 8])
@pytest.mark.parametrize("device", [each for each in DEVICES if each not in ("cpu", "interp")])
def test_coarse_code(device: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for launches of many blocks."""
    monkeypatch.setattr(computing, "MANY_BLOCKS", 0)
    monkeypatch.setattr(computing, "_recipes", {})
    x = np.arange(size, dtype=np.float32)
    array = xp.asarray(x, device=device)
    assert np.array_equal(array * 3 + 1, x * 3 + 1)
    rows = np.arange(4 * 300, dtype=np.float32).reshape(4, 300)
    result = xp.asarray(rows, device=device)[:, :299] + array[:299]
    assert np.array_equal(result, rows[:, :299] + x[:299])
    assert any(coarse for *_, coarse in computing._plans)


def test_plans_of_one_thread_take_no_memory_from_another(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[xp.Array] = []
    launch = computing._launch

    def launching(*arguments: object) -> None:
        thread = threading.Thread(target=lambda: made.append(xp.empty(8)))
        thread.start()
        thread.join()
        launch(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(computing, "_launch", launching)
    xp.explain(xp.asarray(np.arange(4.0)) + 1)
    for each in made:
        storage = each.node.storage
        assert storage is not None
        assert storage.buffer.size == 64
    assert made
