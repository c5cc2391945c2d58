"""Configurations that are chosen by measurement, and constants that functions compute."""

from __future__ import annotations

import numpy as np
import pytest
from tests.tiles import programs

from gridlane import tiles
from gridlane.core.errors import ArgumentError

tl = tiles.language
X = np.arange(64, dtype=np.float32)


def by_constant(call, quantiles):
    """A measurement whose result is the block of the configuration that runs: the last is best."""
    call()
    block = seen[-1]
    return [1 / block] * 3


seen: list[int] = []


def remember(arguments):
    seen.append(arguments["BLOCK"])


def configs(*blocks: int) -> list[tiles.Config]:
    return [tiles.Config({"BLOCK": block}, num_warps=2, pre_hook=remember) for block in blocks]


def test_the_fastest_is_taken():
    tuned = tiles.autotune(configs(16, 64, 32), key=["n"], do_bench=by_constant)(programs.add)
    out = np.zeros(64, np.float32)
    tuned[lambda given: (tiles.cdiv(64, given["BLOCK"]),)](X, X, out, 64)
    assert (out == X * 2).all()
    assert tuned.best_config.kwargs == {"BLOCK": 64}
    assert sorted(each.kwargs["BLOCK"] for each in tuned.configs_timings) == [16, 32, 64]
    count = len(seen)
    tuned[(1,)](X, X, out, 64)
    assert seen[count:] == [64]  # it is known now
    tuned[(1,)](X, X, out, 60)
    assert len(seen) == count + 1 + 4  # another key
    tuned[(1,)](X.astype(np.float64), X, out, 60)
    assert len(seen) == count + 5 + 4  # other types


def test_measured_launches():
    """By the clock of the device: whichever wins, the result is right."""
    tuned = tiles.autotune(configs(32, 64), key=[], warmup=1, rep=2)(programs.add)
    out = np.zeros(64, np.float32)
    tuned[(2,)](X, X, out, 64)
    assert (out == X * 2).all() and tuned.best_config in tuned.configs


@tiles.jit
def increase(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@pytest.mark.parametrize(
    ("options", "wanted"), [({"reset_to_zero": ["x"]}, 1), ({"restore_value": ["x"]}, 6)]
)
def test_what_is_measured_leaves_no_trace(options, wanted):
    tuned = tiles.autotune(configs(64, 128), key=[], warmup=1, rep=1, **options)(increase)
    x = np.full(64, 5, np.float32)
    tuned[(1,)](x, 64)
    assert (x == wanted).all()


def test_pruning():
    def early(configs, arguments, **keywords):
        assert arguments["n"] == 64 and keywords["grid"] == (4,)
        return configs[1:]

    tuned = tiles.autotune(
        configs(64, 32, 16),
        key=[],
        do_bench=by_constant,
        prune_configs_by={"early_config_prune": early},
    )(programs.add)
    tuned[(4,)](X, X, np.zeros(64, np.float32), 64)
    assert tuned.best_config.kwargs == {"BLOCK": 32}
    tuned = tiles.autotune(
        configs(64, 32, 16),
        key=[],
        do_bench=by_constant,
        prune_configs_by={"perf_model": lambda **named: named["BLOCK"], "top_k": 2},
    )(programs.add)
    tuned[(4,)](X, X, np.zeros(64, np.float32), 64)
    assert {each.kwargs["BLOCK"] for each in tuned.configs_timings} == {16, 32}


def test_a_deadline():
    tuned = tiles.autotune(configs(64, 32), key=[], do_bench=by_constant, deadline=0)(programs.add)
    tuned[(2,)](X, X, np.zeros(64, np.float32), 64)
    assert len(tuned.configs_timings) == 1


def test_failing_configurations():
    out = np.zeros(64, np.float32)
    tuned = tiles.autotune(configs(3, 64), key=[], do_bench=by_constant)(programs.add)
    tuned[(1,)](X, X, out, 64)
    assert tuned.best_config.kwargs == {"BLOCK": 64}
    tuned = tiles.autotune(configs(3, 5), key=[], do_bench=by_constant)(programs.add)
    with pytest.raises(ArgumentError, match="none of the 2 configurations of add runs"):
        tuned[(1,)](X, X, out, 64)


def test_bad_configurations():
    with pytest.raises(ArgumentError, match="'q' is no parameter"):
        tiles.autotune(configs(64), key=["q"])(programs.add)
    tuned = tiles.autotune(configs(64, 32), key=[])(programs.add)
    with pytest.raises(ArgumentError, match="Conflicting meta-parameters: BLOCK"):
        tuned[(1,)](X, X, X, 64, BLOCK=64)


def test_heuristics():
    made = tiles.heuristics({"BLOCK": lambda given: tiles.next_power_of_2(given["n"])})(
        programs.add
    )
    out = np.zeros(64, np.float32)
    made[(1,)](X, X, out, 50)
    assert (out[:50] == X[:50] * 2).all() and not out[50:].any()
    tuned = tiles.autotune([tiles.Config({}, num_warps=w) for w in (1, 2)], key=[], rep=1, warmup=1)
    tuned(made)[(1,)](X, X, out, 64)
    assert (out == X * 2).all()
