"""Hooks of launches, and the measurements that use them."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gridlane import tiles
from gridlane.tiles import knobs

tl = tiles.language


def facts(grid, metadata, args):
    return {"programs": grid[0], "n": args["n"], "metadata": metadata.name}


@tiles.jit(launch_metadata=facts)
def doubled(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


def launch(x, out):
    doubled[(2,)](x, out, 100, BLOCK=64)
    return out


def test_hooks_are_called_around_each_launch():
    x, out, calls = np.arange(100, dtype=np.float32), np.zeros(100, np.float32), []

    def enter(launched):
        calls.append(("enter", out[1], launched.get()))

    def leave(launched):
        calls.append(("leave", out[1], launched.get()["name"]))

    launch(x, np.zeros_like(out))
    launch(x, np.zeros_like(out))  # a native launch
    with knobs.runtime.scope():
        knobs.runtime.launch_enter_hook.add(enter)
        knobs.runtime.launch_enter_hook.add(enter)  # once all the same
        knobs.runtime.launch_exit_hook.add(leave)
        launch(x, out)
        assert [each[:2] for each in calls] == [("enter", 0), ("leave", 2)]
        known = calls[0][2]
        assert {each: known[each] for each in ("name", "programs", "n", "metadata", "stream")} == {
            "name": "doubled", "programs": 2, "n": 100, "metadata": "doubled", "stream": 0
        }  # fmt: skip
        launch(x, out)
        assert len(calls) == 4
        knobs.runtime.launch_enter_hook.remove(enter)
        knobs.runtime.launch_exit_hook.remove(leave)
        launch(x, out)
        assert len(calls) == 4
        knobs.runtime.launch_enter_hook = enter
        launch(x, out)
        assert len(calls) == 5
        knobs.runtime.launch_enter_hook = None
        launch(x, out)
        assert len(calls) == 5
        knobs.runtime.launch_exit_hook = leave
    launch(x, out)
    assert len(calls) == 5


def test_hooks_are_called_in_order_and_back():
    calls = []
    with knobs.runtime.scope():
        knobs.runtime.reset_hooks()
        for number in (1, 2):
            knobs.runtime.launch_enter_hook.add(lambda launched, n=number: calls.append(n))
            knobs.runtime.launch_exit_hook.add(lambda launched, n=number: calls.append(-n))
        launch(np.ones(100, np.float32), np.zeros(100, np.float32))
        assert knobs.runtime.copy().hooks
    assert calls == [1, 2, -2, -1]
    assert not knobs.runtime.hooks


def test_hooks_of_triton_s_compiler_are_refused():
    assert knobs.runtime.jit_cache_hook is None
    with pytest.raises(NotImplementedError, match="jit_cache_hook: gridlane compiles"):
        knobs.runtime.jit_cache_hook = print
    with pytest.raises(AttributeError, match=r"no setting triton.knobs.runtime.launch_hook"):
        knobs.runtime.launch_hook


def test_do_bench_measures_launches_alone():
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    options = {"warmup": 1, "rep": 1, "measure_time_with_hooks": True}
    assert tiles.testing.do_bench(lambda: launch(x, out), **options) > 0
    assert tiles.testing.do_bench(lambda: time.sleep(0.001), **options) == 0
    assert not knobs.runtime.hooks


def test_do_bench_has_the_options_of_earlier_releases():
    x, out = np.ones(100, np.float32), np.zeros(100, np.float32)
    options = {"warmup": 1, "rep": 2, "fast_flush": False, "device_type": "cpu"}
    assert tiles.testing.do_bench(lambda: launch(x, out), **options) > 0
    with pytest.raises(ValueError, match=r"device_type='xpu'.*torch's of 'cpu'"):
        tiles.testing.do_bench(lambda: launch(x, out), device_type="xpu")


def test_a_long_call_is_measured_once():
    calls = []

    def slow():
        calls.append(0)
        time.sleep(0.01)

    times = tiles.testing.do_bench(slow, warmup=1, rep=2, return_mode="all")
    assert len(calls) == 2
    assert len(times) == 1
    assert times[0] >= 10


def test_hooks_of_a_scope_that_an_error_ends():
    """Functions that were added to a chain stay, as in Triton, and are called."""
    x, out, calls = np.ones(100, np.float32), np.zeros(100, np.float32), []
    chain = knobs.runtime.launch_enter_hook
    with pytest.raises(KeyError), knobs.runtime.scope():
        chain.add(calls.append)
        raise KeyError
    launch(x, out)
    assert len(calls) == 1
    chain.remove(calls.append)
    launch(x, out)
    assert len(calls) == 1 and not knobs.runtime.hooks


def test_hooks_that_raise_launch_and_remove_themselves():
    x, out, calls = np.ones(100, np.float32), np.zeros(100, np.float32), []
    chain = knobs.runtime.launch_enter_hook

    def fails(launched):
        raise KeyError("fails")

    def once(launched):
        calls.append("once")
        chain.remove(once)
        launch(x, other)

    def endless(launched):
        launch(x, out)

    other = np.zeros_like(out)
    chain.add(fails)
    with pytest.raises(KeyError):
        launch(x, out)
    assert not out.any()
    chain.remove(fails)
    chain.add(once)
    chain.add(calls.append)
    launch(x, out)
    assert (out == 2).all() and (other == 2).all()
    assert len(calls) == 3 and not isinstance(calls[2], str)  # of both launches
    chain.remove(calls.append)
    chain.add(endless)
    with pytest.raises(RecursionError):
        launch(x, out)
    chain.remove(endless)
    out[:] = 0
    launch(x, out)
    assert (out == 2).all() and not knobs.runtime.hooks


def test_do_bench_calls_other_hooks_too():
    x, out, calls = np.ones(100, np.float32), np.zeros(100, np.float32), []
    options = {"warmup": 1, "rep": 1, "measure_time_with_hooks": True}

    def inner():
        tiles.testing.do_bench(lambda: launch(x, out), **options)

    with knobs.runtime.scope():
        knobs.runtime.launch_exit_hook = calls.append
        assert tiles.testing.do_bench(inner, **options) > 0
    assert calls and not knobs.runtime.hooks


@pytest.mark.parametrize("wrong", [{"return_mode": "mode"}, {"quantiles": [2]}])
def test_do_bench_refuses_a_summary_before_it_measures(wrong):
    calls = []
    with pytest.raises(ValueError, match=r"return_mode is all or one of|range"):
        tiles.testing.do_bench(lambda: calls.append(0), **wrong)
    assert not calls


def test_functions_of_launches_differ():
    """The number by which hooks tell code apart: by text, types, constants and options."""

    @tiles.jit
    def store(x, out, n, BLOCK: tl.constexpr):
        tl.store(out, n)

    x = np.zeros(100, np.float32)
    hashes = [
        each[(1,)](array, array, number, BLOCK=block, **options).hash
        for each, array, number, block, options in [
            (doubled, x, 2, 4, {}),
            (store, x, 2, 4, {}),
            (store, x.astype(np.float64), 2, 4, {}),
            (store, x, 2**40, 4, {}),
            (store, x, 2, 8, {}),
            (store, x, 2, 4, {"num_warps": 8}),
            (store, x, 2, 4, {"enable_fp_fusion": False}),
        ]
    ]
    assert len({*hashes}) == len(hashes)
    assert store[(1,)](x, x, 3, BLOCK=4).hash == hashes[1]
