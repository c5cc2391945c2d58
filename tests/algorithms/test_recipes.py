"""Calls that repeat: the same launches, for other arrays."""

from __future__ import annotations

import sys
import threading
import weakref

import numpy as np
import pytest
from tests.algorithms.on_devices import room, up

import gridlane
from gridlane import algorithms, cuda
from gridlane.algorithms import OpKind, SortOrder
from gridlane.algorithms.face import recipes, scanning, sorting
from gridlane.cuda.arrays.alike import ArraysLike
from gridlane.cuda.arrays.places import key_of, place_of
from gridlane.launch import current

RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def no_recipes():
    recipes._recipes.clear()


def forbid(monkeypatch, module, name):
    """Let a call that checks its arguments fail."""

    def fail(*args, **kwargs):
        raise AssertionError("a call with a recipe checks nothing")

    monkeypatch.setattr(module, name, fail)


def scan(x, out, init=None):
    algorithms.inclusive_scan(d_in=x, d_out=out, op=OpKind.PLUS, num_items=x.size, init_value=init)


def sort(x, out, values=None, out_values=None, order=SortOrder.ASCENDING):
    algorithms.radix_sort(
        d_in_keys=x, d_out_keys=out, d_in_values=values, d_out_values=out_values,
        num_items=x.size, order=order,
    )  # fmt: skip


@pytest.mark.parametrize("device", ["cpu", "interp"])
@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_scans_repeat_for_other_arrays(monkeypatch, device, dtype):
    with gridlane.device(device):
        size = 4500
        scan(up(np.ones(size, dtype)), room(size, dtype), dtype(0) if dtype is np.int32 else None)
        scan(up(np.ones(size, dtype)), room(size, dtype))
        forbid(monkeypatch, scanning, "_prepare")
        for start in range(3):
            x = RNG.integers(0, 99, size).astype(dtype)
            memory, out = up(np.concatenate([x[:start], x])), room(size + 1, dtype)
            scan(memory[start:], out[1:])
            assert np.array_equal(out.copy_to_host()[1:], np.cumsum(x, dtype=dtype))
            assert out.copy_to_host()[0] == 0 and np.array_equal(memory.copy_to_host()[start:], x)


def test_a_scan_in_place_is_another_recipe(monkeypatch):
    with gridlane.device("cpu"):
        x = RNG.integers(0, 99, 5000)
        for _ in range(2):
            apart, memory = room(x.size, x.dtype), up(x)
            scan(memory, apart)
            scan(memory, memory)
            for each in (apart, memory):
                assert np.array_equal(each.copy_to_host(), np.cumsum(x))
        assert len(recipes._recipes) == 2


def test_sorts_repeat_for_other_arrays(monkeypatch):
    with gridlane.device("cpu"):
        for done in (False, True):
            for order in SortOrder:
                x = RNG.integers(-50, 50, 20_000).astype(np.int32)
                places = np.argsort(x if order is SortOrder.ASCENDING else -x, kind="stable")
                out, moved = room(x.size, x.dtype), room(x.size, np.int64)
                sort(up(x), out, order=order)
                assert np.array_equal(out.copy_to_host(), x[places])
                sort(up(x), out, up(np.arange(x.size)), moved, order)
                assert np.array_equal(moved.copy_to_host(), places)
            if not done:
                forbid(monkeypatch, sorting, "_prepare_radix")


def test_reductions_repeat_for_other_arrays(monkeypatch):
    with gridlane.device("cpu"):
        for count in (100, 20_000):
            for start in (np.int64(0), np.int64(5), np.float64(0), np.float64(-0.0)):
                for _ in range(2):
                    x = RNG.integers(0, 99, count).astype(start.dtype)
                    out = room(1, start.dtype)
                    algorithms.reduce_into(
                        d_in=up(x), d_out=out, op=OpKind.PLUS, num_items=count, h_init=start
                    )
                    assert out.copy_to_host()[0] == x.sum() + start
        assert len(recipes._recipes) == 8


def test_arguments_that_differ_have_other_recipes():
    with gridlane.device("cpu"):
        x = RNG.integers(0, 99, 300)
        for init in (None, 1, np.int64(2), True):
            for size in (300, 200):
                out = room(300, x.dtype)
                algorithms.inclusive_scan(
                    d_in=up(x), d_out=out, op=OpKind.PLUS, num_items=size, init_value=init
                )
                expected = np.cumsum(x[:size]) + int(init or 0)
                assert np.array_equal(out.copy_to_host()[:size], expected)
                assert not out.copy_to_host()[size:].any()
        out = room(300, x.dtype)
        algorithms.inclusive_scan(d_in=up(x), d_out=out, op=OpKind.MAXIMUM, num_items=300)
        assert np.array_equal(out.copy_to_host(), np.maximum.accumulate(x))


def test_what_has_no_recipe_is_checked_at_each_call():
    with gridlane.device("cpu"):
        memory, x = up(np.arange(901)), np.arange(900)
        for _ in range(2):
            scan(memory[:900], room(900, np.int64))
            with pytest.raises(ValueError, match="in the memory of an input"):
                scan(memory[:900], memory[1:])
            with pytest.raises(ValueError, match="Non-contiguous"):
                scan(memory[::2], room(900, np.int64))
            host = np.zeros_like(x)
            scan(x, host)
            assert np.array_equal(host, np.cumsum(x))
            with pytest.raises(ValueError, match="has 901 items, and the call uses 902"):
                algorithms.inclusive_scan(d_in=memory, d_out=memory, op=OpKind.PLUS, num_items=902)
        stream, out = cuda.stream(), room(900, np.int64)
        algorithms.inclusive_scan(
            d_in=memory[:900], d_out=out, op=OpKind.PLUS, num_items=900, stream=stream
        )
        stream.synchronize()
        assert np.array_equal(out.copy_to_host(), np.cumsum(x))
        assert len(recipes._recipes) == 1


def test_a_recipe_is_of_one_device():
    x = np.arange(500)
    for device in ("cpu", "interp", "cpu", "interp"):
        with gridlane.device(device):
            out = room(500, np.int64)
            scan(up(x), out)
            assert np.array_equal(out.copy_to_host(), np.cumsum(x))
    with gridlane.device("interp"):
        other = up(x)
    with gridlane.device("cpu"):
        assert place_of(other) is None


def test_keys_have_the_relations_of_arrays():
    with gridlane.device("cpu"):
        memory = up(np.arange(100))
        one, two, three = (place_of(memory[n : n + 50]) for n in (0, 50, 25))
        assert key_of([one, two]) == key_of([two, one]) != key_of([one, one])
        assert key_of([one, three]) is None
        assert place_of(memory[:0]) is None and place_of(memory[::-1]) is None


def test_arrays_alike_are_those_that_the_constructor_makes():
    with gridlane.device("cpu"):
        memory = up(np.arange(64, dtype=np.float32))
        for view in (memory[8:24], memory.reshape(8, 8)[2:], memory[1:33:2]):
            first = memory[0:16] if view.ndim == 1 else memory.reshape(8, 8)[0:6]
            first = memory[0:32:2] if view.strides == (8,) else first
            made = ArraysLike(first).at(view.address, view.buffer)
            assert made.__gridlane_launch__ == view.__gridlane_launch__
            assert np.array_equal(made.copy_to_host(), view.copy_to_host())
            assert set(vars(made)) == set(vars(view))


def test_calls_of_a_repeated_scan():
    """Python calls, of which each takes about 0.1 us; the first call makes some thousand."""
    with gridlane.device("interp"):
        x, out = up(np.arange(300, dtype=np.int32)), room(300, np.int32)
        monitored = []
        launches = []

        def count(frame, event, argument):
            if event == "call":
                monitored.append(frame.f_code.co_qualname)

        for _ in range(2):
            scan(x, out)
        (recipe,) = recipes._recipes.values()
        recipe._launches = [
            (lambda *args: launches.append(args), plain, slots)
            for _, plain, slots in recipe._launches
        ]
        sys.setprofile(count)
        try:
            scan(x, out)
        finally:
            sys.setprofile(None)
        assert len(launches) == 1 and len(monitored) < 100, monitored


def test_temporary_memory_is_kept_for_all_calls_but_large_ones(monkeypatch):
    with gridlane.device("cpu"):
        kept = current.device().memory.kept
        kept.pop(recipes._NAME, None)
        x = RNG.integers(0, 99, 20_000)
        for most, is_kept in ((1 << 21, True), (100, False)):
            monkeypatch.setattr(recipes, "_MOST_KEPT", most)
            recipes._recipes.clear()
            for _ in range(3):
                out = room(x.size, x.dtype)
                scan(up(x), out)
                assert np.array_equal(out.copy_to_host(), np.cumsum(x))
            assert (kept.pop(recipes._NAME, None) is not None) == is_kept


def test_a_larger_kept_memory_replaces_a_smaller_one(monkeypatch):
    monkeypatch.setattr(recipes, "_LEAST_KEPT", 1)
    with gridlane.device("cpu"):
        current.device().memory.kept.pop(recipes._NAME, None)
        arrays = [RNG.integers(0, 99, size) for size in (9_000, 200_000)]
        for x in (*arrays, *arrays, *arrays):
            out = room(x.size, x.dtype)
            scan(up(x), out)
            assert np.array_equal(out.copy_to_host(), np.cumsum(x))


def test_threads_that_repeat_calls_at_once():
    """One of them has the kept memory, the others allocate theirs."""
    wrong = []

    def repeat(seed):
        x = np.random.default_rng(seed).integers(-99, 99, 30_000).astype(np.int32)
        with gridlane.device("cpu"):
            for _ in range(20):
                out, ordered = room(x.size, x.dtype), room(x.size, x.dtype)
                scan(up(x), out)
                sort(up(x), ordered)
                if not np.array_equal(out.copy_to_host(), np.cumsum(x, dtype=np.int32)):
                    wrong.append("scan")
                if not np.array_equal(ordered.copy_to_host(), np.sort(x)):
                    wrong.append("sort")

    threads = [threading.Thread(target=repeat, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_a_recipe_keeps_no_array_of_the_caller():
    with gridlane.device("cpu"):
        x, out = up(np.arange(5000)), room(5000, np.int64)
        for _ in range(3):
            scan(x, out)
        buffers = [weakref.ref(each.buffer) for each in (x, out)]
        del x, out
        assert [each() for each in buffers] == [None, None]
