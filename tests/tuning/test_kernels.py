"""``cuda.tune``: kernels of the dialect."""

from __future__ import annotations

import threading
import time
import warnings

import numpy as np
import pytest
from tests.devices import DEVICES

import gridlane
from gridlane import cuda
from gridlane.core.errors import ArgumentError, NameLookupError
from gridlane.cuda.kernels import tuning
from gridlane.tuning.errors import TuningError
from gridlane.tuning.results import State
from gridlane.tuning.spaces import Space


@cuda.jit
def scale(x, out, by, ITEMS):
    first = cuda.grid(1) * ITEMS
    for i in range(first, min(first + ITEMS, x.size)):
        out[i] = by * x[i]


def blocks(x, block, ITEMS):
    return -(-x.size // (block * ITEMS))


SPACE = {"block": [64, 128], "ITEMS": [1, 4]}


@pytest.mark.parametrize("name", DEVICES)
def test_tuned_launches(name):
    with gridlane.device(name):
        x, out = np.arange(1000.0), np.zeros(1000)
        tuned = cuda.tune(scale, (x, out, 3.0), SPACE, grid=blocks, seconds=300)
        assert not out.any() and tuned.best in [c.named for c in tuned.space.candidates]
        assert [each.state for each in tuned.tuning.trials] == [State.MEASURED] * 4
        tuned(x, out, 3.0)
        assert (out == 3 * x).all()
        tuned(x, out, 2.0)  # a float of the same type
        assert (out == 2 * x).all()


@cuda.jit
def kinds(x, out, MODE):
    i = cuda.grid(1)
    if MODE == 1:
        while out[0] != -5:
            out[i % 4] += 1
    if MODE == 2 or (MODE == 5 and i % 2):
        return
    if MODE == 3:
        out[i] = undefined_name  # noqa: F821
    if i < x.size:
        shared = cuda.shared.array(MODE + 1, np.float64)  # a constant
        shared[0] = 0
        out[i] = x[i] * 2


@pytest.mark.parametrize("name", ["cpu", "interp"])
def test_bad_candidates(name):
    """One never ends, one writes nothing, one does not compile, one writes half."""
    with gridlane.device(name):
        x, out = np.arange(256.0), np.arange(256.0) * 2  # what the plain one writes is there
        tuned = cuda.tune(
            kinds, (x, out), {"MODE": [0, 1, 2, 3, 5]}, grid=2, block=128, seconds=300
        )
        states = {each.candidate.named["MODE"]: each for each in tuned.tuning.trials}
        assert {mode: each.state for mode, each in states.items()} == {
            0: State.MEASURED, 1: State.STOPPED, 2: State.WRONG, 3: State.FAILED, 5: State.WRONG,
        }  # fmt: skip
        assert "undefined_name is not defined" in states[3].reason
        assert "stopped after " in states[1].reason
        assert tuned.best == {"MODE": 0} and (out == x * 2).all()


def test_a_plain_schedule_that_never_ends():
    x, out = np.arange(256.0), np.ones(256)
    begin = time.monotonic()
    with pytest.raises(TuningError, match=r"MODE=1, has not ended within the 0\.5 s"):
        cuda.tune(kinds, (x, out), {"MODE": [1, 0]}, grid=2, block=128, seconds=0.5)
    assert time.monotonic() - begin < 60 and (out == 1).all()
    scale[2, 128](x, out, 2.0, 1)  # the next launch is not stopped
    assert (out == x * 2).all()


def test_a_plain_schedule_that_does_not_compile():
    x, out = np.arange(256.0), np.ones(256)
    with pytest.raises(NameLookupError, match="undefined_name is not defined") as raised:
        cuda.tune(kinds, (x, out), {"MODE": [3, 0]}, grid=2, block=128, seconds=300)
    assert raised.value.loc.file == __file__ and (out == 1).all()


@cuda.jit
def increase(x, BY):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += BY - BY + 1


@pytest.mark.parametrize("name", DEVICES)
def test_kernels_in_place(name):
    """Each launch has the values that the first one had."""
    with gridlane.device(name):
        for x in (np.arange(100), cuda.to_device(np.arange(100))):
            tuned = cuda.tune(increase, (x,), {"BY": [1, 2, 3]}, grid=1, block=128, seconds=300)
            assert len(tuned.tuning.measured) == 3
            tuned(x)
            got = x if isinstance(x, np.ndarray) else x.copy_to_host()
            assert (got == np.arange(100) + 1).all()


@cuda.jit(fastmath=True)
def sums(x, out, BLOCK):
    part = cuda.shared.array(BLOCK, np.float32)
    i = cuda.threadIdx.x
    total = np.float32(0)
    for k in range(i, x.size, BLOCK):
        total += x[k]
    part[i] = total
    cuda.syncthreads()
    if i == 0:
        for k in range(1, BLOCK):
            total += part[k]
        out[0] = total


def test_fastmath_permits_other_roundings():
    x = np.random.default_rng(1).random(5000, np.float32)
    out = np.zeros(1, np.float32)
    paired = {"BLOCK": [32, 64], "block": [32, 64]}
    args = {"grid": 1, "seconds": 10, "where": lambda BLOCK, block: BLOCK == block}
    tuned = cuda.tune(sums, (x, out), paired, **args)
    assert len(tuned.tuning.measured) == 2
    exact = cuda.jit(sums.py_func)
    tuned = cuda.tune(exact, (x, out), paired, **args)
    assert [each.state for each in tuned.tuning.trials] == [State.MEASURED, State.WRONG]
    tuned = cuda.tune(exact, (x, out), paired, tolerance=1e-5, **args)
    assert len(tuned.tuning.measured) == 2


def test_default_blocks_and_registers():
    x = np.zeros(3000, np.int64)
    grid = lambda x, block: -(-x.size // block)  # noqa: E731
    tuned = cuda.tune(increase, (x, 1), grid=grid, seconds=300)
    assert [*tuned.space.parameters["block"]] == [256, 32, 64, 128, 512, 1024]
    tuned = cuda.tune(
        increase, (x, 1), {"max_registers": [None, 32]}, grid=12, block=256, seconds=300
    )
    assert sorted(map(str, tuned.best)) == ["max_registers"]
    assert tuned.of(tuned.space.at((1,))).options.max_registers == 32


def test_wrong_arguments():
    x = np.zeros(8)

    @cuda.jit
    def named(x, block):
        pass

    @cuda.jit
    def starred(x, *rest):
        pass

    for kernel, args, space, options, message in (
        (scale, (x, x), SPACE, {}, r"scale\(x, out, by\) takes 3 arguments, 2 were given"),
        (increase, (x,), {"BY": [1], "blocks": [2]}, {}, "'blocks' is no parameter of increase"),
        (named, (x,), {"block": [2]}, {}, "rename one"),
        (increase, (x, 1), {"block": [2]}, {"block": 32}, "the space has blocks"),
        (increase, (x, 1), {"block": [2]}, {"grid": lambda y: 1}, "takes 'y'"),
        (starred, (), {"x": [2]}, {}, r"takes \*args"),
        (increase, (x,), {"BY": [1]}, {"seconds": 0}, "seconds=0"),
        (increase, (x,), {"BY": []}, {}, "no candidates"),
        (len, (x,), {"BY": [1]}, {}, "a kernel of cuda.jit is tuned"),
    ):
        with pytest.raises((TuningError, ArgumentError), match=message):
            cuda.tune(kernel, args, space, **{"grid": 1, **options})


def test_other_shapes():
    """Of the class they are compared once; others are refused, and tuned on request."""
    x, out = np.arange(1000.0), np.zeros(1000)
    tuned = cuda.tune(scale, (x, out, 3.0), SPACE, grid=blocks, seconds=300)
    near = np.arange(1000.0 - 16), np.zeros(1000 - 16)
    tuned(*near, 3.0)
    assert (near[1] == 3 * near[0]).all()
    far = np.arange(5000.0), np.zeros(5000)
    with pytest.raises(
        ArgumentError, match=r"scale is tuned for \(array\(float64.*its method tune"
    ):
        tuned(*far, 3.0)
    tuned.tune(*far, 3.0, seconds=300)
    tuned(*far, 3.0)
    assert (far[1] == 3 * far[0]).all()


@cuda.jit
def careless(x, out, ITEMS):
    """Leaves out what ITEMS does not divide."""
    first = cuda.grid(1) * ITEMS
    if first + ITEMS <= x.size:
        for i in range(first, first + ITEMS):
            out[i] = x[i]


def test_schedules_that_are_wrong_for_another_shape_of_the_class(monkeypatch):
    """The plain one is launched, and a warning says so."""
    grid = lambda x, ITEMS: -(-x.size // (64 * ITEMS))  # noqa: E731
    x, out = np.arange(24.0), np.zeros(24)
    tuned = cuda.tune(careless, (x, out), {"ITEMS": [1, 3]}, grid=grid, block=64, seconds=300)
    assert len(tuned.tuning.measured) == 2
    (other,) = (t.candidate for t in tuned.tuning.trials if t.candidate.named["ITEMS"] == 3)
    monkeypatch.setattr(type(tuned.tuning), "best", property(lambda self: self.trials[-1]))
    assert tuned.tuning.best.candidate == other
    x, out = np.arange(56.0)[: 32 - 8 + 0].copy(), np.zeros(24)
    tuned(x, out)
    assert (out == x).all()
    y, out = np.arange(16.0 + 8), np.zeros(24)
    tuned.tunings[("cpu", tuned.subject((np.arange(40.0), np.zeros(40))).shapes)] = tuned.tuning
    y, out = np.arange(40.0), np.zeros(40)
    with pytest.warns(RuntimeWarning, match="ITEMS=3 gives other results than the plain one"):
        tuned(y, out)
    assert (out == y).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tuned(y, out)  # it is known


def test_sources():
    """What changes code changes the key, and the place of the file does not."""

    def source(kernel, grid=1):
        made = tuning.TunedKernel(kernel, Space({"block": [32]}), grid)
        return made.subject((np.zeros(3), 1)).source

    def copied_from(text, **around):
        return cuda.jit(source=text)(copied_function(text, around))

    def copied_function(text, around):
        scope = {"cuda": cuda, **around}
        exec(compile(text, "<string>", "exec"), scope)
        return scope["f"]

    text = "def f(x, n):\n    x[0] = A\n"
    one = source(copied_from(text, A=1))
    assert one and one == source(copied_from(text, A=1))
    assert one != source(copied_from(text, A=2))
    assert one != source(copied_from(text + "    x[1] = A\n", A=1))
    assert one != source(copied_from(text, A=1), grid=2)
    assert one != source(copied_from(text, A=1), grid=lambda x: 1)


def test_estimates_follow_the_launch():
    """More iterations of a thread cost more, and blocks of few threads."""
    x, out = np.arange(100_000.0), np.zeros(100_000)
    made = tuning.TunedKernel(scale, Space({"block": [256, 1], "ITEMS": [1, 64]}), blocks)
    subject = made.subject((x, out, 3.0))
    best, other = (subject.estimate(made.space.at((n, 0))) for n in (0, 1))
    assert best < other

    @cuda.jit
    def loop(x, n):
        for k in range(n):
            x[k] += 1

    made = tuning.TunedKernel(loop, Space({"block": [32]}), 1)
    few, many = (made.subject((x, n)).estimate(made.space.plain) for n in (100, 10_000))
    assert many > 50 * few


def test_what_the_deadline_stops_is_not_tried(folder, monkeypatch):
    """Its next tuning tries it, and has more time."""
    x, out = np.arange(256.0), np.zeros(256)
    space = {"MODE": [0, 1]}
    with monkeypatch.context() as patient:
        patient.setattr("gridlane.tuning.search._LEAST_S", 60.0)
        tuned = cuda.tune(kinds, (x, out), space, grid=2, block=128, seconds=3)
    assert [each.state for each in tuned.tuning.trials] == [State.MEASURED]
    assert not tuned.tuning.complete
    tuned = cuda.tune(kinds, (x, out), space, grid=2, block=128, seconds=300)
    assert [each.state for each in tuned.tuning.trials] == [State.MEASURED, State.STOPPED]
    assert tuned.tuning.complete and not tuned.tuning.is_known


@cuda.jit(debug=True)
def raising(x, MODE):
    if MODE == 1:
        raise LookupError("of the program")
    x[cuda.grid(1)] = 2


def test_exceptions_of_kernels():
    """Those of the program's, too."""
    x = np.zeros(64)
    tuned = cuda.tune(raising, (x,), {"MODE": [0, 1]}, grid=1, block=64, seconds=300)
    assert [each.state for each in tuned.tuning.trials] == [State.MEASURED, State.FAILED]
    assert "of the program" in tuned.tuning.trials[1].reason and not x.any()
    with pytest.raises(LookupError, match="of the program"):
        cuda.tune(raising, (x,), {"MODE": [1, 0]}, grid=1, block=64, seconds=300)


def test_tunings_of_other_threads():
    """A candidate that does not end is stopped in the thread that launched it."""
    x, out = np.arange(256.0), np.zeros(256)
    found = []

    def run():
        space = {"MODE": [0, 1]}
        tuned = cuda.tune(kinds, (x, out), space, grid=2, block=128, seconds=300)
        found.extend(each.state for each in tuned.tuning.trials)
        tuned(x, out)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [State.MEASURED, State.STOPPED] and (out == 2 * x).all()


def test_launches_that_are_delayed():
    """A tuning measures launches, so it is refused where they are delayed."""
    pytest.importorskip("islpy")
    from gridlane import compute

    x = np.zeros(64)
    with compute.fused(), pytest.raises(TuningError, match=r"inside of fused\(\)"):
        cuda.tune(raising, (x,), {"MODE": [0, 1]}, grid=1, block=64)
