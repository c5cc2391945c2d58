"""Latencies, Prometheus' text, traces, and what running programs publish."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.actors.conftest import NAMES
from tests.actors.samples import Ball, Number, player, relay, total
from tests.actors.waiting import until_later
from typer.testing import CliRunner

from gridlane import actors
from gridlane.actors.processes.identity import start_of
from gridlane.actors.processes.user_folder import verified_folder
from gridlane.actors.telemetry import folder, prometheus, publishing
from gridlane.actors.values.latencies import BUCKETS, ENDS, Latency

# ---- buckets


def test_buckets_are_quarters_of_powers_of_two():
    assert ENDS[:9].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    begins = np.array([0, *ENDS[:-1]])
    assert np.all(ENDS[4:] <= begins[4:] * 1.25)
    assert ENDS[-1] == 2**41


def test_c_and_python_have_the_same_buckets(on_cpu):
    """Each time is in the bucket that ends behind it."""
    ref = on_cpu.launch(total)
    times = sorted({0, *(2**n + d for n in range(41) for d in (-1, 0, 1, 2**n // 3))} - {2**41})
    for each in times:
        ref._there.note_call(each)
    found = ref.latencies()["calls"]
    expected = np.bincount(np.searchsorted(ENDS, times, side="right"), minlength=BUCKETS)
    assert found.buckets.tolist() == expected.tolist()
    assert found.count == len(times)
    assert found.mean == pytest.approx(np.mean(times) * 1e-9)
    assert found.largest == pytest.approx(times[-1] * 1e-9)
    ref._there.note_call(2**50)
    assert ref.latencies()["calls"].buckets[-1] == expected[-1] + 1


def test_quantiles():
    buckets = np.zeros(BUCKETS, np.uint64)
    buckets[[20, 40, 60]] = 98, 1, 1
    made = Latency(100, 0.0, 1.0, buckets)
    assert made.p50 == made.quantile(0.0) == ENDS[20] * 1e-9
    assert made.p99 == ENDS[40] * 1e-9
    assert made.p999 == made.quantile(1.0) == ENDS[60] * 1e-9
    assert Latency(100, 0.0, 1e-8, buckets).p50 == 1e-8  # not above the largest
    assert Latency(0, 0.0, 0.0, buckets * 0).p99 == 0.0
    with pytest.raises(ValueError, match="not between 0 and 1"):
        made.quantile(2)


def test_latencies_of_messages(runtime):
    """Every message is counted once in each kind that it has."""
    ref = runtime.launch(total, capacity=64)
    ref.send(Number(1))
    until_later(0.02)
    ref.activate()
    for n in range(5):
        ref.call(Number(n), timeout=60)

    async def ask():
        await ref.acall(Number(1), timeout=60)

    asyncio.run(ask())
    found = ref.latencies()
    counts = {name: each.count for name, each in found.items()}
    if ref.mode == "persistent":  # what the host can see
        assert counts == {"wait": 5, "handling": 0, "calls": 6}
    else:
        assert counts == {"wait": 7, "handling": 7, "calls": 6}
        assert found["wait"].largest >= 0.02
    some = [each for each in found.values() if each.count]
    assert all(0 < each.p50 <= each.p99 <= each.largest for each in some)


def test_a_failed_message_is_counted(on_cpu):
    ref = on_cpu.launch(total, restart="fresh")
    ref.activate()
    with pytest.raises(ValueError, match="negative"):
        ref.call(Number(-1), timeout=60)
    found = ref.latencies()
    assert (found["wait"].count, found["handling"].count, found["calls"].count) == (1, 1, 0)


# ---- Prometheus


def test_prometheus(on_cpu):
    parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus-client")
    ref = on_cpu.launch(total, capacity=1, name='odd"name')
    ref.activate()
    for n in range(3):
        ref.call(Number(n), timeout=60)
    ref.read_state()  # the last step is counted
    families = {
        each.name: each for each in parser.text_string_to_metric_families(on_cpu.prometheus())
    }
    (received,) = families["gridlane_actor_received"].samples
    assert (received.value, received.labels) == (3, {"actor": 'odd"name'})
    wait = families["gridlane_actor_calls_seconds"].samples
    buckets = [each.value for each in wait if each.name.endswith("_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 3
    bounds = [float(each.labels["le"]) for each in wait if each.name.endswith("_bucket")]
    assert bounds[:2] == pytest.approx([128e-9, 512e-9])
    (total_time,) = [each.value for each in wait if each.name.endswith("_sum")]
    assert total_time == pytest.approx(ref.latencies()["calls"].mean * 3)
    assert families["gridlane_actors_lost_letters"].samples[0].labels == {"device": "cpu"}


def test_prometheus_without_its_package(on_cpu, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(actors.ActorError, match=r"pip install 'gridlane\[metrics\]'"):
        on_cpu.prometheus()


def test_every_metric_is_one_that_there_is(on_cpu):
    ref = on_cpu.launch(total)
    assert set(prometheus.COUNTERS) | set(prometheus.GAUGES) == set(ref.metrics())


# ---- traces


def of_kind(trace, phase):
    return [each for each in trace["traceEvents"] if each["ph"] == phase]


@pytest.mark.parametrize("device", NAMES)
def test_a_trace_has_each_message(device, tmp_path):
    path = tmp_path / "trace.json"
    with actors.Runtime(device) as runtime:
        there, here = runtime.launch(total), runtime.launch(relay)
        there.activate()
        here.activate()
        with runtime.tracing(path):
            here.send(Number(5), replies=False)
            while here.read_state().seen < 2:
                pass
            there.call(Number(1), timeout=60)
        there.call(Number(1), timeout=60)  # not traced
        mode = there.mode
    trace = json.loads(path.read_text())
    assert trace["otherData"]["dropped"] == 0
    names = {each["tid"]: each["args"]["name"] for each in of_kind(trace, "M") if "tid" in each}
    assert names == {0: "host", there.id: "total", here.id: "relay"}
    begins = {each["id"]: each for each in of_kind(trace, "s")}
    ends = {each["id"]: each for each in of_kind(trace, "f")}
    arrows = sorted((names[begins[n]["tid"]], names[ends[n]["tid"]]) for n in ends)
    if mode == "persistent":  # what the host can see
        assert ("total", "host") in arrows
        return
    assert begins.keys() == ends.keys()
    assert arrows == [
        ("host", "relay"),
        ("host", "total"),
        ("relay", "total"),
        ("total", "host"),
        ("total", "relay"),
    ]
    assert all(begins[n]["ts"] <= ends[n]["ts"] + 1e5 for n in ends)
    roots = {each["args"]["trace"] for each in of_kind(trace, "X")}
    assert len(roots) == 2  # the message that was sent with all that followed, and the call
    boxes = of_kind(trace, "X")
    assert all(any(_encloses(box, arrow) for box in boxes) for arrow in of_kind(trace, "s"))


def _encloses(box, arrow):
    return box["tid"] == arrow["tid"] and box["ts"] <= arrow["ts"] <= box["ts"] + box["dur"]


def test_a_full_trace_keeps_the_newest_and_says_how_many_are_dropped(on_cpu, tmp_path):
    one, two = on_cpu.launch(player), on_cpu.launch(player)
    one.activate()
    two.activate()
    trace = on_cpu.trace(tmp_path / "a", events=16)
    one.send(Ball(99, two.id, one.id), replies=False)
    while one.read_state().seen + two.read_state().seen < 100:
        pass
    one.terminate()
    two.terminate()  # its last step has ended
    trace.stop()
    trace.stop()
    found = json.loads((tmp_path / "a").read_text())
    assert found["otherData"]["dropped"] == 200 - 16
    kinds = [each["ph"] for each in found["traceEvents"]]
    assert kinds.count("s") + kinds.count("f") == 16


def test_dead_letters_are_in_the_trace(on_cpu, tmp_path):
    ref = on_cpu.launch(total, capacity=1)
    with on_cpu.trace(tmp_path / "a"):
        ref.send(Number(1))
        ref.send(Number(2), on_full="dead")
    (event,) = of_kind(json.loads((tmp_path / "a").read_text()), "i")
    assert event["name"] == "dead letter for total: FULL"


def test_the_end_of_the_runtime_writes_the_trace(tmp_path):
    with actors.Runtime("cpu") as runtime:
        runtime.trace(tmp_path / "a")
        with pytest.raises(actors.ActorError, match="being made; stop it first"):
            runtime.trace(tmp_path / "b")
        with pytest.raises(ValueError, match="power of two"):
            runtime.trace(tmp_path / "b", events=3)
        with pytest.raises(FileNotFoundError):
            runtime.trace(tmp_path / "none" / "b")
    assert json.loads((tmp_path / "a").read_text())["otherData"]["dropped"] == 0


# ---- what is published


@pytest.fixture
def runtime_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "gridlane" / "actors"


def top(*words) -> str:
    from gridlane.cli.app import app

    done = CliRunner().invoke(app, ["actors", "top", "--once", *words], env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.output
    return done.output


def test_top_shows_a_running_program(runtime_folder, monkeypatch):
    monkeypatch.setattr(publishing, "INTERVAL", 0.02)
    with actors.Runtime("cpu", telemetry=True) as runtime:
        ref = runtime.launch(total, name="adder")
        ref.activate()
        for n in range(7):
            ref.call(Number(n), timeout=60)
        (path,) = runtime_folder.glob("*.json")  # beside it one may be being written
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(runtime_folder.stat().st_mode) == 0o700
        until = time.monotonic() + 60
        while not any(each["received"] == 7 for each in folder.read_all()[0]["actors"]):
            assert time.monotonic() < until
        output = top()
        assert "on cpu: 1 actors, 0 dead letters" in output
        assert any(line.split()[:3] == ["adder", "active", "7"] for line in output.splitlines())
    assert list(runtime_folder.iterdir()) == []
    assert "No program of yours publishes its actors" in top()


def test_nothing_is_published_unless_asked(runtime_folder):
    with actors.Runtime("cpu") as runtime:
        runtime.launch(total)
        assert not runtime_folder.exists()


CHILD = """
import signal
from gridlane import actors
from tests.actors.samples import total

with actors.Runtime("cpu") as runtime:
    runtime.launch(total)
    print("now", flush=True)
    signal.pause()
"""


def test_the_file_of_a_killed_process_is_removed(runtime_folder, tmp_path):
    root = Path(__file__).parents[2]
    search = f"{root}{os.pathsep}{root / 'src'}"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD],
        cwd=root,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": search, "GRIDLANE_TELEMETRY": "1"},
    )
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"now\n"
        assert [each["pid"] for each in folder.read_all()] == [child.pid]
        child.send_signal(signal.SIGKILL)
        child.wait(60)
    assert len(list(runtime_folder.iterdir())) >= 1
    assert folder.read_all() == []
    assert list(runtime_folder.iterdir()) == []


def test_a_file_of_an_earlier_process_of_the_same_number(runtime_folder):
    path = verified_folder() / f"{os.getpid()}-1.json"
    folder.write_facts(path, {"version": 1, "started": "of another boot", "pid": os.getpid()})
    assert folder.read_all() == []
    assert not path.exists()
    folder.write_facts(path, {"version": 99, "started": start_of(os.getpid())})
    assert folder.read_all() == []  # of another gridlane, and left alone
    assert path.exists()


def test_a_folder_of_others_is_refused(runtime_folder):
    verified_folder().chmod(0o755)
    with pytest.raises(actors.ActorError, match="chmod 700"):
        actors.Runtime("cpu", telemetry=True)
    runtime_folder.rmdir()
    runtime_folder.symlink_to("/tmp")
    with pytest.raises(actors.ActorError, match="no folder of this user alone"):
        verified_folder()
