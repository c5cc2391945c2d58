"""Configurations that are chosen by measurement, and constants that functions compute."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest
from tests.tiles import programs

import gridlane
from gridlane import tiles
from gridlane.core.config import config
from gridlane.core.errors import ArgumentError
from gridlane.tiles import knobs

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


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_configurations_of_one_code_are_measured_once(name):
    measured = []

    def bench(call, quantiles):
        call()
        measured.append(call)
        return (1.0, 1.0, 1.0)

    hook = {}.update
    several = [
        tiles.Config({"BLOCK": size}, num_warps=warps, num_stages=stages)
        for size in (64, 32, 3)
        for warps in (1, 4)
        for stages in (2, 3)
    ] + [tiles.Config({"BLOCK": 64}, pre_hook=hook)]
    with gridlane.device(name):
        tuned = tiles.autotune(several, key=[], do_bench=bench)(programs.add)
        tuned[(2,)](X, X, np.zeros(64, np.float32), 64)
    assert len(measured) == 3 and len(tuned.configs_timings) == 9


@pytest.mark.parametrize("counts", [(3, 4), (4, 3)])
def test_a_refused_option_is_no_kind(counts):
    """Of two configurations with one code the one that launches refuse is left out."""
    both = [tiles.Config({"BLOCK": 32}, num_warps=count) for count in counts]
    out = np.zeros(64, np.float32)
    tuned = tiles.autotune(both, key=[], do_bench=by_constant)(programs.add)
    tuned[(2,)](X, X, out, 64)
    assert tuned.best_config.num_warps == 4 and len(tuned.configs_timings) == 1
    np.testing.assert_array_equal(out, 2 * X)


def test_options_that_are_lists():
    """As launches take them."""
    both = [
        tiles.Config({"BLOCK": size, "cluster_dims": [2, 1, 1]}, pre_hook=remember)
        for size in (32, 64)
    ]
    assert hash(both[0]) != hash(both[1]) and both[0] != both[1]
    out = np.zeros(64, np.float32)
    tuned = tiles.autotune(both, key=[], do_bench=by_constant)(programs.add)
    tuned[lambda named: (64 // named["BLOCK"],)](X, X, out, 64)
    np.testing.assert_array_equal(out, 2 * X)
    assert len(tuned.configs_timings) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prune_configs_by": {"early_config_prune": lambda *args, **named: None}}, "after prun"),
        ({"prune_configs_by": {"early_config_prune": lambda *args, **named: []}}, "after pruning"),
        ({"prune_configs_by": {"perf_model": lambda **named: 1, "top_k": 0}}, "top_k is .* not 0"),
        ({"prune_configs_by": {"perf_model": lambda **named: 1, "top_k": -1}}, "top_k is .* -1"),
        ({"do_bench": lambda call, **named: None}, "do_bench returned None"),
    ],
)
def test_what_leaves_none(options, message):
    tuned = tiles.autotune(configs(64, 32), key=[], **options)(programs.add)
    with pytest.raises(ArgumentError, match=message):
        tuned[(2,)](X, X, np.zeros(64, np.float32), 64)


def test_failing_configurations():
    out = np.zeros(64, np.float32)
    tuned = tiles.autotune(configs(3, 64), key=[], do_bench=by_constant)(programs.add)
    tuned[(1,)](X, X, out, 64)
    assert tuned.best_config.kwargs == {"BLOCK": 64}
    tuned = tiles.autotune(configs(3, 5), key=[], do_bench=by_constant)(programs.add)
    with pytest.raises(ArgumentError, match="of add runs: arange's range must be a power of 2"):
        tuned[(1,)](X, X, out, 64)


def by_table(times):
    """A measurement with the times of a table, by the block of the configuration that runs."""

    def measure(call, quantiles):
        call()
        return [times[seen[-1]]] * 3

    return measure


NAN = float("nan")


@pytest.mark.parametrize("bad", [NAN, -1.0, -float("inf")])
@pytest.mark.parametrize("order", [(16, 32, 64), (32, 16, 64), (64, 32, 16)])
def test_times_that_no_clock_measures_lose(order, bad):
    bench = by_table({16: bad, 32: 2.0, 64: 1.0})
    tuned = tiles.autotune(configs(*order), key=[], do_bench=bench)(programs.add)
    tuned[(4,)](X, X, np.zeros(64, np.float32), 64)
    assert tuned.best_config.kwargs == {"BLOCK": 64}


@pytest.mark.parametrize("bad", [NAN, -1.0])
def test_no_time_that_a_clock_measures(bad):
    bench = by_table({32: bad, 64: NAN})
    tuned = tiles.autotune(configs(64, 32), key=[], do_bench=bench)(programs.add)
    for _ in range(2):  # nothing is kept of the first
        with pytest.raises(ValueError, match=rf"every time of add is NaN or .* nan of .* {bad} of"):
            tuned[(4,)](X, X, np.zeros(64, np.float32), 64)


def test_estimates_that_are_nan_come_last():
    estimates = {16: NAN, 32: 3.0, 64: -1.0, 128: 2.0}
    prune = {"perf_model": lambda BLOCK, **named: estimates[BLOCK], "top_k": 2}
    tuned = tiles.autotune(configs(16, 32, 64, 128), [], prune_configs_by=prune)(programs.add)
    assert [each.kwargs["BLOCK"] for each in tuned.prune_configs({})] == [64, 128]


def test_bad_configurations():
    with pytest.raises(ArgumentError, match="'q' is no parameter"):
        tiles.autotune(configs(64), key=["q"])(programs.add)
    with pytest.raises(ValueError, match="'q' is no parameter"):  # Triton's class
        tiles.autotune(configs(64), key=[], restore_value=["q"])(programs.add)
    for blocks in ((64, 32), (64,)):
        tuned = tiles.autotune(configs(*blocks), key=[])(programs.add)
        with pytest.raises(ValueError, match="Conflicting meta-parameters: BLOCK"):
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


def test_a_single_configuration_is_not_measured():
    def never(call, quantiles):
        raise AssertionError

    out = np.zeros(64, np.float32)
    for prune in (
        {"early_config_prune": lambda configs, arguments, **keywords: configs[1:]},
        {"perf_model": lambda **named: -named["BLOCK"], "top_k": 0.3},
    ):
        both = [tiles.Config({"BLOCK": block}) for block in (32, 64)]
        tuned = tiles.autotune(both, key=["n"], do_bench=never, prune_configs_by=prune)
        launched = tuned(programs.add)
        launched[(1,)](X, X, out, 64)
        assert launched.best_config.kwargs == {"BLOCK": 64}
    with pytest.raises(ValueError, match="top_k"):
        wrong = {"perf_model": lambda **named: 1, "top_k": 2.5}
        tiles.autotune(both, key=[], prune_configs_by=wrong)(programs.add)[(1,)](X, X, out, 64)


def test_arrays_that_are_none():
    @tiles.jit
    def program(x, out, BLOCK: tl.constexpr):
        tl.store(out + tl.arange(0, BLOCK), 1 if x is None else 2)

    out = np.zeros(32, np.float32)
    for option in ("reset_to_zero", "restore_value"):
        both = [tiles.Config({"BLOCK": block}) for block in (16, 32)]
        tiles.autotune(both, key=[], warmup=1, rep=1, **{option: ["x"]})(program)[(1,)](None, out)
        assert out[0] == 1


class Bench:
    """Times in order of the blocks, and how often they were asked for."""

    def __init__(self):
        self.count = 0

    def __call__(self, call, quantiles):
        call()
        self.count += 1
        return [float(self.count)] * 3


def autotuned(bench, blocks=(32, 64), **options):
    kept = {"cache_results": True, "key": ["n"], **options}
    made = [tiles.Config({"BLOCK": block}, num_warps=2) for block in blocks]
    return tiles.autotune(made, do_bench=bench, **kept)(tiles.jit(programs.add.fn))


def launch(tuned, n=64, x=X):
    out = np.zeros(64, x.dtype)
    tuned[(2,)](x, x, out, n)
    assert (out[:n] == x[:n] * 2).all()
    return tuned.best_config.kwargs["BLOCK"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GRIDLANE_CACHE", "1")
    monkeypatch.setenv("GRIDLANE_CACHE_DIR", str(tmp_path))
    config.cache_clear()
    yield tmp_path / "tuned"
    monkeypatch.undo()
    config.cache_clear()


def test_results_on_disk(folder, monkeypatch):
    """A second tuner, as one of another process, measures nothing; all that matters is in the
    key."""
    bench, heard = Bench(), []
    assert launch(autotuned(bench)) == 32 and bench.count == 2
    again = autotuned(bench)
    monkeypatch.setattr(knobs.autotuning, "listener", lambda **facts: heard.append(facts))
    assert launch(again) == 32 and bench.count == 2
    assert [each.kwargs["BLOCK"] for each in again.configs_timings] == [32, 64]
    assert heard[0]["cache_hit"] and heard[0]["duration"] is None
    for count, other in enumerate(
        (
            lambda: launch(autotuned(bench), n=60),
            lambda: launch(autotuned(bench), x=X.astype(np.float64)),
            lambda: launch(autotuned(bench, blocks=(64, 32))),
            lambda: launch(autotuned(bench, cache_results=False)),
            lambda: launch(
                tiles.autotune(
                    [tiles.Config({"BLOCK": block}) for block in (32, 64)], ["n"], do_bench=bench,
                    cache_results=True,
                )(increase_both)
            ),
        ),
        start=2,
    ):  # fmt: skip
        other()
        assert bench.count == 2 * count
    monkeypatch.setattr(knobs.autotuning, "cache", True)
    launch(autotuned(bench, cache_results=False))
    assert bench.count == 12  # by the setting


@tiles.jit
def increase_both(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(y + i, mask=i < n) + tl.load(x + i, mask=i < n)
    tl.store(out + i, total, mask=i < n)


def test_keys_of_later_launches():
    """By place and by name, other values, other types, and after the cache was changed."""
    bench = Bench()
    tuned, out = autotuned(bench, cache_results=False), np.zeros(64, np.float32)
    calls = [
        lambda: tuned[(2,)](X, X, out, 64),
        lambda: tuned[(2,)](X, X, out=out, n=64),
        lambda: tuned[(2,)](X, X, out, 60),
        lambda: tuned[(2,)](X, X, out.astype(np.float64), 60),
        lambda: tuned[(2,)](X, X, out=out.astype(np.int32), n=60),
    ]
    for _ in range(3):
        for call in calls:
            call()
    assert bench.count == 2 * 4 and len(tuned.cache) == 4
    tuned.cache.clear()
    for call in calls:
        call()
    assert bench.count == 2 * 8
    other = tiles.Config({"BLOCK": 16})
    tuned.cache[next(iter(tuned.cache))] = other
    calls[0]()
    assert tuned.best_config is other
    with pytest.raises(TypeError, match="unhashable"):
        tuned[(2,)](X, X, out, [64])


def test_times_that_no_clock_measures_are_not_kept(folder):
    """A later process has the others, and measures where there are none."""
    times, calls = [NAN, 1.0], []

    def bench(call, quantiles):
        call()
        calls.append(1)
        return [times[(len(calls) - 1) % len(times)]] * 3

    assert launch(autotuned(bench)) == launch(autotuned(bench)) == 64 and len(calls) == 2
    times[:] = [NAN]
    for count in (4, 6):
        with pytest.raises(ArgumentError, match="every time of add is NaN"):
            launch(autotuned(bench), n=60)
        assert len(calls) == count


def test_another_device_measures_for_itself(folder):
    bench = Bench()
    launch(autotuned(bench))
    with gridlane.device("interp"):
        launch(autotuned(bench))
    assert bench.count == 4 and len(list(folder.iterdir())) == 2


def spoilt(data: bytes):
    yield b""
    yield data[:-1]
    yield data[:20]
    yield data.replace(b"1.0", b"9.0")
    yield b"gl-other" + data[8:]
    for text in (b"[[5, [1.0]]]", b"{}", b"[[0, []]]", b"[[0, [NaN]]]", b"[1]", b'["ab"]', b"null"):
        yield data[:8] + sha256(text).digest() + text


def test_files_that_are_no_results(folder):
    """Truncated, changed, another version's: measured again, and written again."""
    bench = Bench()
    launch(autotuned(bench))
    (path,) = folder.iterdir()
    data, count = path.read_bytes(), 2
    for text in spoilt(data):
        path.write_bytes(text)
        bench.count = 0
        launch(autotuned(bench))
        assert bench.count == 2, text
        assert path.read_bytes() == data
    count = bench.count
    launch(autotuned(bench))
    assert bench.count == count


def test_configurations_with_hooks_are_not_kept(folder):
    tuned = tiles.autotune(configs(32, 64), ["n"], do_bench=by_constant, cache_results=True)
    launch(tuned(programs.add))
    assert not folder.exists()


def test_two_processes(folder, tmp_path):
    """They write one file, and each reads what either wrote."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "GRIDLANE_CACHE_DIR": str(tmp_path), "GRIDLANE_CACHE": "1"}

    def start():
        return subprocess.Popen(
            [sys.executable, program], env=environment, stdout=subprocess.PIPE, text=True
        )

    outputs = [each.communicate()[0].split() for each in [start(), start()]]
    assert all(each[0] == "32" for each in outputs)
    assert len(list(folder.iterdir())) == 1
    assert start().communicate()[0].split() == ["32", "0"]


PROGRAM = """
import numpy as np
from gridlane import tiles
from gridlane.tiles import language as tl
count = 0

def bench(call, quantiles):
    global count
    call()
    count += 1
    return [float(count)] * 3

@tiles.autotune([tiles.Config({"BLOCK": 32}), tiles.Config({"BLOCK": 64})], ["n"], do_bench=bench,
                cache_results=True)
@tiles.jit
def program(out, n, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), BLOCK)

out = np.zeros(64, np.int32)
program[(1,)](out, 3)
print(out[0], count)
"""


class Interrupted(Bench):
    def __call__(self, call, quantiles):
        if self.count == 1:
            raise KeyboardInterrupt
        return super().__call__(call, quantiles)


def test_an_interrupted_tuning_keeps_what_it_has(folder):
    bench = Bench()
    with pytest.raises(KeyboardInterrupt):
        launch(autotuned(Interrupted()))
    assert launch(autotuned(bench)) == 32 and bench.count == 1  # 64 alone is measured
    assert launch(autotuned(bench)) == 32 and bench.count == 1


def test_what_a_deadline_has_left_out_is_measured_later(folder):
    bench = Bench()
    launch(autotuned(bench, deadline=0))
    assert bench.count == 1
    launch(autotuned(bench))
    assert bench.count == 2
    launch(autotuned(bench))
    assert bench.count == 2


@tiles.jit
def endless(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.load(x + i)
    if BLOCK == 32:
        while tl.sum(total) > -1:
            total += tl.load(x + i)
    tl.store(out + i, total)


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_configurations_that_never_end(name):
    """They are stopped where there is a deadline."""
    out = np.zeros(64, np.float32)
    both = [tiles.Config({"BLOCK": block}) for block in (64, 32)]
    with gridlane.device(name):
        tuned = tiles.autotune(both, key=[], warmup=1, rep=1, deadline=0.2)(endless)
        tuned[(1,)](X, out)
    assert tuned.best_config.kwargs == {"BLOCK": 64} and (out == X).all()


def test_observers(folder, monkeypatch):
    """A tuning is shown as those of kernels are."""

    class Heard:
        events = []

        def begins(self, kernel, shapes, count):
            self.events.append((kernel, count))

        def tried(self, kernel, trial):
            self.events.append(trial.candidate.named["BLOCK"])

        def ends(self, tuning):
            self.events.append((tuning.is_known, tuning.best.candidate.named["BLOCK"]))

    monkeypatch.setattr("gridlane.tiles.autotuning.observers", [Heard()])
    launch(autotuned(Bench()))
    launch(autotuned(Bench()))
    monkeypatch.setattr("gridlane.tiles.autotuning.wishes.again", True)
    launch(autotuned(Bench()))
    first = [("add", 2), 32, 64, (False, 32)]
    assert Heard.events == [*first, ("add", 2), (True, 32), *first]
