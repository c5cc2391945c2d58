"""The search: what is tried, what is thrown out, what is kept."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.tuning.made_up import Made, clock

from gridlane.core.errors import CompileError
from gridlane.launch import current
from gridlane.tuning import store
from gridlane.tuning.errors import Overran, Stuck, TuningError
from gridlane.tuning.observing import observers, wishes
from gridlane.tuning.pictures import svg
from gridlane.tuning.results import State
from gridlane.tuning.search import agree, tune, typical
from gridlane.tuning.spaces import Space

TEN = Space({"n": range(10)})


def value(candidate):
    return candidate.named["n"]


def test_the_fastest_of_those_that_the_estimate_puts_first(monkeypatch):
    made = clock(
        monkeypatch, Made(lambda c: 1 + abs(value(c) - 6), estimate=lambda c: 10 - value(c))
    )
    tuning = tune(made, TEN, 300, most=5)
    assert tuning.best.candidate.named == {"n": 6}
    tried = [value(each.candidate) for each in tuning.trials]
    assert tried[:2] == [0, 9] and len(tried) == 5  # the plain one, then the estimate's best
    assert tuning.complete and not tuning.is_known and tuning.count == 10
    assert tuning.plain.milliseconds == 7 and tuning.plain.estimate == 10


def test_measurements_correct_the_estimate(monkeypatch):
    """The estimate is wrong about a half of the space; its neighbours are not tried."""
    space = Space({"n": range(30)})
    made = clock(
        monkeypatch,
        Made(
            lambda c: 100 if value(c) > 15 else 10 - value(c) / 2, estimate=lambda c: 40 - value(c)
        ),
    )
    tuning = tune(made, space, 300)
    tried = [value(each.candidate) for each in tuning.trials]
    assert sum(each > 15 for each in tried) < 5
    assert tuning.best.milliseconds < 5


def test_wrong_candidates_are_not_counted(monkeypatch):
    """They, and candidates that do not run, are at most three for each that is measured."""
    space = Space({"n": range(40)})
    made = clock(monkeypatch, Made(lambda c: 1, lambda c: 1 + value(c) % 2))
    tuning = tune(made, space, 300)
    assert len(tuning.measured) == 8 and len(tuning.trials) > 8
    made = clock(monkeypatch, Made(lambda c: 1, lambda c: 1 + (value(c) > 0)))
    tuning = tune(made, space, 300, most=4)
    assert len(tuning.measured) == 1 and len(tuning.trials) == 1 + 12


def test_no_more_than_eight_are_measured(monkeypatch):
    made = clock(monkeypatch, Made(lambda c: 1))
    assert len(tune(made, TEN, 300).trials) == 8
    assert len(tune(made, Space({"n": range(3)}), 300).trials) == 3


def test_arrays_keep_their_values(monkeypatch):
    made = clock(monkeypatch, Made(lambda c: 1))
    made.array[:] = 5, 6, 7, 8
    tune(made, TEN, 300, most=3)
    assert made.array.tolist() == [5, 6, 7, 8]


def test_wrong_results_are_thrown_out(monkeypatch):
    made = clock(monkeypatch, Made(lambda c: 10 - value(c), lambda c: 1 + (value(c) % 2)))
    tuning = tune(made, TEN, 300, most=10)
    assert tuning.best.candidate.named == {"n": 8}
    wrong = [each for each in tuning.trials if each.state is State.WRONG]
    assert {value(each.candidate) for each in wrong} == {1, 3, 5, 7, 9}
    assert "4 of 32 bytes differ" in wrong[0].reason
    assert made.array.tolist() == [0] * 4


class Failing(Made):
    def prepare(self, candidate):
        if value(candidate) in (0, 2):
            raise CompileError(f"candidate {value(candidate)} is no kernel")


def test_candidates_that_do_not_compile(monkeypatch):
    made = clock(monkeypatch, Failing(lambda c: 10 - value(c)))
    space = Space({"n": range(4)}, plain={"n": 1})
    tuning = tune(made, space, 300)
    assert tuning.best.candidate.named == {"n": 3}
    failed = {value(t.candidate): t.reason for t in tuning.trials if t.state is State.FAILED}
    assert failed == {0: "candidate 0 is no kernel", 2: "candidate 2 is no kernel"}
    with pytest.raises(CompileError, match="candidate 0 is no kernel"):
        tune(made, TEN, 300)


@pytest.mark.parametrize("seconds", [0, -1, math.inf, math.nan, "3", None, 1j])
def test_deadlines_that_are_none(seconds):
    with pytest.raises(TuningError, match=r"seconds=.*a number of seconds above 0"):
        tune(Made(lambda c: 1), TEN, seconds)


@pytest.mark.parametrize("most", [0, -1, 2.5, "3", None])
def test_counts_that_are_none(most):
    with pytest.raises(TuningError, match="most="):
        tune(Made(lambda c: 1), TEN, 1, most=most)


def test_the_deadline_ends_the_search(monkeypatch):
    """The clock goes on by a second at each look."""
    made, now = clock(monkeypatch, Made(lambda c: 1)), [0.0]

    def monotonic():
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr("gridlane.tuning.search.time.monotonic", monotonic)
    tuning = tune(made, TEN, 12.0)
    assert 1 <= len(tuning.trials) < 8 and not tuning.complete


def test_spaces_without_candidates():
    for space in ({}, {"n": []}):
        with pytest.raises(TuningError, match="no candidates"):
            Space(space)
    with pytest.raises(TuningError, match="the plain schedule, n=1, is none"):
        Space({"n": [1, 2]}, where=lambda n: n > 1)
    with pytest.raises(TuningError, match="plain: n=True is none of its values, 1, 2"):
        Space({"n": [1, 2]}, plain={"n": True})
    with pytest.raises(TuningError, match="plain='m' is no parameter"):
        Space({"n": [1, 2]}, plain={"m": 1})
    with pytest.raises(TuningError, match="65536 at the most"):
        Space({"n": range(1000), "m": range(1000)})
    with pytest.raises(TuningError, match="numbers, texts, None"):
        Space({"n": [object()]})


def test_values_of_a_space():
    space = Space(
        {"block": [[32, 4], 64], "n": np.arange(2)},
        where=lambda block, n: n or block == 64,
        plain={"block": 64},
    )
    assert [str(each) for each in space.candidates] == [
        "block=64, n=0", "block=32x4, n=1", "block=64, n=1",
    ]  # fmt: skip


# ---- on disk


def test_what_is_known_is_not_measured(folder, monkeypatch):
    made = clock(monkeypatch, Made(lambda c: 10 - value(c), estimate=lambda c: 10 - value(c)))
    first = tune(made, TEN, 300)
    count = len(made.launched)
    again = tune(made, TEN, 300)
    assert again.is_known and len(made.launched) == count
    assert again.best.candidate == first.best.candidate and again.plain.candidate == TEN.plain
    for other in (
        lambda: tune(clock(monkeypatch, Made(lambda c: 1, text="other")), TEN, 300),
        lambda: tune(made, Space({"n": range(9)}), 300),
        lambda: tune(made, Space({"n": range(10)}, plain={"n": 4}), 300),
        lambda: tune(made, TEN, 300, tolerance=0.5),
    ):
        assert not other().is_known
    monkeypatch.setattr(wishes, "again", True)
    assert not tune(made, TEN, 300).is_known


def test_another_driver_is_measured_anew(folder, monkeypatch):
    made = clock(monkeypatch, Made(lambda c: 1))
    tune(made, TEN, 300)
    device = current.device()
    facts = device.describe()
    monkeypatch.setattr(type(device), "describe", lambda self: {**facts, "driver": "other"})
    assert not tune(made, TEN, 300).is_known


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[:-3],
        lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
        lambda data: b"x" + data[1:],
    ],
)
def test_damaged_files_are_measured_anew(folder, monkeypatch, change):
    made = clock(monkeypatch, Made(lambda c: 1))
    tune(made, TEN, 300)
    (file,) = folder.iterdir()
    file.write_bytes(change(file.read_bytes()))
    tuning = tune(made, TEN, 300)
    assert not tuning.is_known and len(tuning.trials) == 8
    assert tune(made, TEN, 300).is_known


@pytest.mark.parametrize(
    "data",
    [
        [], "text", {"trials": 5}, {"trials": [{}], "complete": True},
        {"trials": [{"values": {"n": 0}, "state": "measured", "milliseconds": -1, "reason": ""}],
         "complete": True},
        {"trials": [{"values": {"n": 0}, "state": "measured", "milliseconds": None, "reason": ""}],
         "complete": True},
        {"trials": [{"values": {"n": 0}, "state": "quick", "milliseconds": 1, "reason": ""}],
         "complete": True},
        {"trials": [{"values": {"n": 1}, "state": "measured", "milliseconds": 1, "reason": ""}],
         "complete": True},
    ],
)  # fmt: skip
def test_files_of_other_versions_are_measured_anew(folder, monkeypatch, data):
    made = clock(monkeypatch, Made(lambda c: 1))
    tune(made, TEN, 300)
    (file,) = folder.iterdir()
    assert store.keep(file, data)
    assert not tune(made, TEN, 300).is_known


def test_an_interrupted_tuning_is_taken_up(folder, monkeypatch):
    def times(candidate):
        if value(candidate) == 3 and not resumed:
            raise KeyboardInterrupt
        return 1 + value(candidate)

    resumed = []
    made = clock(monkeypatch, Made(times, estimate=lambda c: 1 + value(c)))
    made.array[:] = 9
    with pytest.raises(KeyboardInterrupt):
        tune(made, TEN, 300, most=5)
    assert made.array.tolist() == [9] * 4
    resumed.append(True)
    made.launched.clear()
    tuning = tune(made, TEN, 300, most=5)
    assert [value(each.candidate) for each in tuning.trials] == [0, 1, 2, 3, 4]
    assert {value(each) for each in made.launched} == {0, 3, 4} and tuning.complete
    assert tune(made, TEN, 300, most=5).is_known


PROGRAM = """
import sys, time
import numpy as np
from gridlane import cuda

@cuda.jit
def slow(x, N):
    i = cuda.grid(1)
    for n in range(200000):
        x[i] = x[i] * 1.0000001 + N * 0

x = np.ones(64)
print("begin", flush=True)
tuned = cuda.tune(slow, (x,), {"N": list(range(12))}, grid=1, block=64, seconds=300)
print(len(tuned.tuning.trials), tuned.tuning.is_known, x[0])
"""


def run(tmp_path, **options):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    return subprocess.Popen(
        [sys.executable, str(file)],
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
        **options,
    )


def test_a_killed_process_leaves_what_it_has(folder, tmp_path):
    process = run(tmp_path)
    assert process.stdout is not None and process.stdout.readline() == "begin\n"
    while not any(folder.glob("[!.]*")):
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (file,) = folder.glob("[!.]*")
    assert store.load(file)["trials"]
    out, _ = run(tmp_path).communicate()
    assert out.split()[-3:] == ["8", "False", "1.0"]


def test_two_processes_tune_one_kernel(folder, tmp_path):
    both = [run(tmp_path), run(tmp_path)]
    for each in both:
        out, _ = each.communicate()
        assert each.returncode == 0 and out.split()[-3::2] == ["8", "1.0"]
    (file,) = folder.glob("[!.]*")
    assert len(store.load(file)["trials"]) >= 8
    out, _ = run(tmp_path).communicate()
    assert out.split()[-3:][1] == "True"


# ---- others


def test_observers_and_wishes(monkeypatch):
    class Heard:
        def __init__(self):
            self.events = []

        def begins(self, kernel, shapes, count):
            self.events.append((kernel, shapes, count))

        def tried(self, kernel, trial):
            self.events.append(value(trial.candidate))

        def ends(self, tuning):
            self.events.append(tuning.best.candidate.named)

    heard = Heard()
    monkeypatch.setattr("gridlane.tuning.search.observers", [heard])
    monkeypatch.setattr(wishes, "seconds", 5.0)
    made = clock(monkeypatch, Made(lambda c: 10 - value(c)))
    tune(made, Space({"n": range(3)}), 0)  # the wish is the deadline
    assert heard.events == [("made", "made up", 3), 0, 1, 2, {"n": 2}]
    assert not observers


@pytest.mark.parametrize("bad", [math.nan, -1.0, math.inf])
@pytest.mark.parametrize("place", [1, 5, 9])
def test_times_that_no_clock_measures_lose(monkeypatch, bad, place):
    made = Made(lambda c: bad if value(c) == place else 20.0 - value(c))
    tuning = tune(clock(monkeypatch, made), TEN, 300, most=10)
    assert tuning.best.milliseconds == (11.0 if place != 9 else 12.0)
    (lost,) = [each for each in tuning.trials if value(each.candidate) == place]
    assert lost.state is State.FAILED and "every time of made with n=" in lost.reason


def test_a_plain_time_that_no_clock_measures(monkeypatch):
    made = Made(lambda c: math.nan if value(c) == 0 else 1.0)
    with pytest.raises(TuningError, match="every time of made with n=0 is NaN, infinite or neg"):
        tune(clock(monkeypatch, made), TEN, 300)


def test_estimates_that_are_nan_come_last(monkeypatch):
    made = Made(lambda c: 1.0, estimate=lambda c: math.nan if value(c) < 8 else value(c))
    tuning = tune(clock(monkeypatch, made), TEN, 300, most=3)
    assert [value(each.candidate) for each in tuning.trials] == [0, 8, 9]


def test_candidates_that_agree():
    made = Made(lambda c: 1, lambda c: value(c) // 5)
    a, b, c = (TEN.at((n,)) for n in (5, 9, 2))
    assert agree(made, a, b, None) and not agree(made, a, c, None)
    assert made.array.tolist() == [0] * 4


def test_the_text_of_a_tuning(monkeypatch):
    made = clock(monkeypatch, Made(lambda c: 2.0 - value(c), lambda c: 1 + (value(c) == 2)))
    text = str(tune(made, Space({"n": range(3)}), 300))
    assert text.splitlines()[1:] == [
        "candidate  time  against plain  state",
        "n=1        1 ms  0.50x          measured",
        "n=0        2 ms  1.00x          measured",
        "n=2        -                    wrong: results are not those of the plain schedule: 4 of "
        "32 bytes differ",
    ]
    assert text.startswith("made(made up) on cpu: 3 of 3 candidates, ")


def test_typical_times():
    assert typical([1.0]) == 1.0 and typical([9.0] * 10 + [1.0]) == 9.0
    assert issubclass(Overran, TimeoutError)


# ---- devices that cannot stop a launch


@pytest.fixture
def unstoppable(monkeypatch):
    monkeypatch.setattr("gridlane.tuning.search.can_stop", lambda device: False)
    monkeypatch.setattr("gridlane.tuning.search._STUCK_S", 0.2)
    monkeypatch.setattr("gridlane.tuning.search._LEAST_S", 0.2)


class Hanging(Made):
    """One candidate does not end."""

    endless = 2
    over = threading.Event()

    def launch(self, candidate):
        super().launch(candidate)
        if value(candidate) == self.endless:
            self.over.wait(30)


def test_a_candidate_that_cannot_be_stopped(folder, monkeypatch, unstoppable):
    """It ends the tuning, and the next one passes it over."""
    made = clock(monkeypatch, Hanging(lambda c: 10 - value(c), estimate=lambda c: 1 + value(c)))
    with pytest.raises(Stuck, match=r"made with n=2 has not ended within 0\.2 s, and cpu"):
        tune(made, TEN, 300, most=5)
    Hanging.over.set()
    made.launched.clear()
    tuning = tune(made, TEN, 300, most=5)
    states = {value(each.candidate): each.state for each in tuning.trials}
    assert states[2] is State.STOPPED and TEN.at((2,)) not in made.launched
    assert len(states) == 6 and len(tuning.measured) == 5


def test_a_plain_candidate_that_cannot_be_stopped(folder, monkeypatch, unstoppable):
    Hanging.over.clear()
    made = clock(monkeypatch, Hanging(lambda c: 1))
    space = Space({"n": range(4)}, plain={"n": 2})
    with pytest.raises(TuningError, match="with the plain schedule, n=2, has not ended") as raised:
        tune(made, space, 0.2)
    assert not isinstance(raised.value, Stuck)
    Hanging.over.set()


def test_candidates_in_another_thread(folder, monkeypatch, unstoppable):
    """Their errors, and an interrupt, are those of candidates that are launched here."""

    def results(candidate):
        if value(candidate) == 1:
            raise CompileError("no kernel")
        if value(candidate) == 3 and interrupts:
            raise KeyboardInterrupt
        return 1

    interrupts = [True]
    made = clock(
        monkeypatch, Made(lambda c: 10 - value(c), results, estimate=lambda c: 1 + value(c))
    )
    with pytest.raises(KeyboardInterrupt):
        tune(made, TEN, 300, most=5)
    interrupts.clear()
    tuning = tune(made, TEN, 300, most=5)
    states = {value(each.candidate): each.state for each in tuning.trials}
    assert states.pop(1) is State.FAILED
    assert len(states) == 5 and {*states.values()} == {State.MEASURED}


def test_a_picture(monkeypatch):
    """A bar for each candidate that was measured, as long as its time, and the estimates."""
    made = clock(
        monkeypatch,
        Made(lambda c: 4.0 - value(c), lambda c: 1 + (value(c) == 2), estimate=lambda c: 8.0),
    )
    tuning = tune(made, Space({"n": range(4)}), 300)
    picture = ElementTree.fromstring(svg([tuning]))
    named = {each.tag.partition("}")[2]: [] for each in picture.iter()}
    for each in picture.iter():
        named[each.tag.partition("}")[2]].append(each)
    bars = [float(each.get("width")) for each in named["rect"][1:]]
    assert len(bars) == 3 and abs(bars[0] / bars[2] - 0.25) < 0.01 and bars[1] / bars[2] < 0.76
    assert [each.get("fill") for each in named["rect"][1:]] == ["#54a24b", "#4c78a8", "#f58518"]
    places = {each.get("x1") for each in named["line"]}
    assert len(named["line"]) == 3 and len(places) == 1  # the estimate says that all are the same
    assert "wrong: results are not those of the plain schedule" in "".join(picture.itertext())
