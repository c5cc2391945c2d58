"""Lattices in checkpoints, among a runtime's actors, in its metrics, and steps that do not end."""

from __future__ import annotations

import json
import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from tests.actors.conftest import NAMES
from tests.actors.lattice_samples import heat, pair, wave
from tests.actors.samples import Number, total
from tests.actors.test_lattices import Drive, Source, driven, random, same

from gridlane import actors, cuda
from gridlane.actors import CheckpointError, State
from gridlane.actors.checkpoint import file
from gridlane.actors.checkpoint.snapshot import Snapshot
from gridlane.actors.checkpoint.table import read_table
from gridlane.actors.lattices import resident, watch
from gridlane.actors.telemetry.publishing import facts_of
from gridlane.core.errors import DeviceError, LaunchError
from gridlane.runtime.drivers.cuda.multiprocessors import Multiprocessors

RESIDENT = {"mode": "resident", "blocks": (2, 2)}


def after(lattice, fields, steps, **options):
    """What the interpreter has after so many steps without a checkpoint."""
    with actors.Runtime("interp") as runtime:
        ref = runtime.lattice(lattice, next(iter(fields.values())).shape, **options)
        ref.write(**fields)
        ref.activate()
        ref.step(steps)
        return tuple(ref.read(name) for name, _ in lattice.fields)


@pytest.mark.parametrize("device", NAMES)
@pytest.mark.parametrize("mode", ["launches", "resident"])
def test_a_restore_takes_the_same_steps(tmp_path, device, mode):
    t, options = random((12, 10)), {"args": (0.2,), "periodic": (False, True), "boundary": "fixed"}
    expected = after(heat, {"t": t}, 7, **options)
    with actors.Runtime("interp") as here:
        more = RESIDENT if mode == "resident" else {}
        ref = here.lattice(heat, t.shape, **options, **more)
        other = here.launch(total)
        ref.write(t=t)
        ref.activate()
        ref.step(3)
        here.checkpoint(tmp_path / "a")
        ref.step(4)
        same((ref.read("t"),), expected)
    given = {"actors": [total], "lattices": [heat]}
    with actors.Runtime.restore(tmp_path / "a", device, **given) as there:
        again = there["heat"]
        assert (again.steps, again.state, again.id) == (3, State.ACTIVE, ref.id)
        assert [each.name for each in there.actors()] == ["total", "heat"]
        assert there["total"].id == other.id
        again.step(4)
        same((again.read("t"),), expected)
        there.checkpoint(tmp_path / "b")
    with actors.Runtime.restore(tmp_path / "b", "interp", **given) as back:
        assert back["heat"].steps == 7
        same((back["heat"].read("t"),), expected)


@pytest.mark.parametrize("lattice", [wave, pair])
def test_fields_that_share_memory_and_several_ones(tmp_path, lattice):
    shape = (5, 6, 7) if lattice is wave else (9, 12)
    kind = np.float32 if lattice is wave else np.int32
    fields = {
        name: (random(shape, kind) // (n + 1)).astype(kind)
        for n, (name, _) in enumerate(lattice.fields)
    }
    options = {"args": (0.1,)} if lattice is wave else {}
    expected = after(lattice, fields, 5, **options)
    with actors.Runtime("interp") as here:
        ref = here.lattice(lattice, shape, **options)
        ref.write(**fields)
        ref.activate()
        ref.step(2)
        here.checkpoint(tmp_path / "a")
    with actors.Runtime.restore(tmp_path / "a", "cpu", actors=[], lattices=[lattice]) as there:
        again = there[lattice.name]
        again.step(3)
        same(tuple(again.read(name) for name, _ in lattice.fields), expected)


@pytest.mark.parametrize("more", [{}, RESIDENT], ids=["launches", "resident"])
def test_the_state_and_messages_that_are_posted(tmp_path, more):
    """They are handled before the step that was told, here and there."""
    with actors.Runtime("interp") as here:
        ref = here.lattice(driven, (8, 8), **more)
        ref.activate()
        ref.step(2)
        assert ref.post(Source(1, 2, 5.0)) == 2
        here.checkpoint(tmp_path / "a")
        ref.step(2)
        expected = ref.read_state(), ref.read(driven.fields[0][0])
    with actors.Runtime.restore(tmp_path / "a", "cpu", actors=[], lattices=[driven]) as there:
        again = there["driven"]
        assert again.metrics()["received"] == 1
        again.step(2)
        assert again.read_state() == expected[0]
        assert isinstance(expected[0], Drive)
        same((again.read(driven.fields[0][0]),), expected[1:])


@actors.lattice(fields={"t": cuda.float32}, neighbours=4)
def weighted(ctx, t, weights, c, n):
    return weights[0] * t[0, 1] + c * t[0, -1] + n


def test_arrays_and_numbers_of_the_launch(tmp_path):
    t, weights = random((6, 5)), np.array([0.25], np.float32)
    given = {"args": (weights, 0.5, 3)}
    expected = after(weighted, {"t": t}, 3, **given)
    with actors.Runtime("cpu") as here:
        ref = here.lattice(weighted, t.shape, **given)
        ref.write(t=t)
        ref.activate()
        ref.step(1)
        here.checkpoint(tmp_path / "a")
    with actors.Runtime.restore(tmp_path / "a", "interp", actors=[], lattices=[weighted]) as there:
        there["weighted"].step(2)
        same((there["weighted"].read("t"),), expected)


def test_threads_that_step_meanwhile(tmp_path):
    """Each checkpoint has a whole step, and steps go on."""
    t = random((10, 10))
    stop = threading.Event()
    with actors.Runtime("cpu") as here:
        ref = here.lattice(heat, t.shape, args=(0.2,))
        ref.write(t=t)
        ref.activate()

        def go_on() -> None:
            while not stop.is_set():
                ref.step(50)

        thread = threading.Thread(target=go_on)
        thread.start()
        for n in range(4):
            here.checkpoint(tmp_path / str(n))
        stop.set()
        thread.join()
    for n in range(4):
        given = {"actors": [], "lattices": [heat]}
        with actors.Runtime.restore(tmp_path / str(n), "cpu", **given) as there:
            steps = there["heat"].steps
            found = there["heat"].read("t")
        with actors.Runtime("cpu") as again:
            ref = again.lattice(heat, t.shape, args=(0.2,))
            ref.write(t=t)
            ref.activate()
            ref.step(steps)
            same((found,), (ref.read("t"),))


# ---- files


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("lattice") / "small"
    with actors.Runtime("cpu") as runtime:
        ref = runtime.lattice(heat, (3, 3), args=(0.5,))
        ref.activate()
        ref.step(1)
        runtime.checkpoint(path)
    return path


def test_a_file_cut_short_at_every_byte(written, tmp_path):
    path = tmp_path / "short"
    path.write_bytes(written.read_bytes())
    for size in reversed(range(path.stat().st_size)):
        os.truncate(path, size)
        with pytest.raises(CheckpointError, match="cut short"):
            file.read_file(path)


def leaves(value, way=()):
    yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*way, key))


def test_wrong_tables(written):
    text, data = file.read_file(written)
    refused = 0
    for way in leaves(json.loads(text)["lattices"]):
        for wrong in (None, -1, 1 << 70, "x", [], {}, 3.5, 1e400):
            table = json.loads(text)
            place, keys = table, ("lattices", *way)
            for key in keys[:-1]:
                place = place[key]
            place[keys[-1]] = wrong
            try:
                found = read_table("a", json.dumps(table).encode(), data)
            except CheckpointError:
                refused += 1
            else:
                assert isinstance(found, Snapshot)
    assert refused > 100


def test_other_lattices_are_refused(written):
    with pytest.raises(CheckpointError, match="whose function is heat: give it in lattices="):
        actors.Runtime.restore(written, actors=[])
    with pytest.raises(TypeError, match="is no lattice"):
        actors.Runtime.restore(written, actors=[], lattices=[total])

    def heat(ctx, t, c):
        return t[0, 1] + c

    other = actors.lattice(fields={"t": cuda.float64}, neighbours=4)(heat)
    with pytest.raises(CheckpointError, match="the fields of heat is"):
        actors.Runtime.restore(written, actors=[], lattices=[other])


# ---- among the actors


def test_lattices_are_among_the_actors(monkeypatch):
    with actors.Runtime("cpu") as runtime:
        one, two = (runtime.lattice(heat, (4, 4), args=(0.1,)) for _ in range(2))
        ref = runtime.launch(total)
        assert [each.name for each in runtime.actors()] == ["total", "heat", "heat2"]
        assert runtime["heat2"] is two
        assert len({each.id for each in runtime.actors()}) == 3
        with pytest.raises(actors.ActorError, match="an actor 'total' already"):
            runtime.lattice(heat, (4, 4), args=(0.1,), name="total")
        with pytest.raises(actors.ActorError, match="a lattice 'heat' already"):
            runtime.launch(total, name="heat")
        two.activate()
        two.step(5)
        assert set(ref.metrics()) | {"steps"} == set(two.metrics())
        assert runtime.metrics()["actors"]["heat2"]["steps"] == 5
        published = facts_of(runtime._home, 0.0)
        assert published["count"] == 3
        shown = {each["name"]: each for each in published["actors"]}
        assert (shown["heat2"]["received"], shown["heat2"]["state"]) == (5, "active")
        one.terminate()
        assert [each.name for each in runtime.actors()] == ["total", "heat2"]
        del two
        assert [each.name for each in runtime.actors()] == ["total"]


def test_lattices_in_prometheus():
    parser = pytest.importorskip("prometheus_client.parser", reason="needs prometheus-client")
    with actors.Runtime("cpu") as runtime:
        ref = runtime.lattice(heat, (4, 4), args=(0.1,))
        ref.activate()
        ref.step(7)
        families = {
            each.name: each for each in parser.text_string_to_metric_families(runtime.prometheus())
        }
        (steps,) = families["gridlane_lattice_steps"].samples
        assert (steps.value, steps.labels) == (7, {"actor": "heat"})


def test_headers_have_the_epoch_of_the_blocks():
    with actors.Runtime("interp") as runtime:
        ref = runtime.lattice(heat, (8, 8), args=(0.1,), **RESIDENT)
        ref.activate()
        for n in range(3):
            ref.step(2)
            headers = ref.headers()
            known = headers["bytes"] > 0
            assert known.any()
            assert (headers["epoch"][known] == n).all()


# ---- a step that does not end


def stuck(monkeypatch, ref, queries):
    """A device that does other things at once, and whose step does not end."""
    stream = SimpleNamespace(query=lambda: next(queries), synchronize=lambda: None)
    device = SimpleNamespace(default_stream=stream, multiprocessors=None)
    monkeypatch.setattr(ref, "device", device)
    monkeypatch.setattr(
        "gridlane.actors.lattices.launched_lattice.using", lambda device: threading.Lock()
    )


def test_a_step_that_does_not_end_is_found(monkeypatch):
    with actors.Runtime("cpu") as runtime:
        ref = runtime.lattice(heat, (4, 4), args=(0.1,))
        ref.activate()
        ref.step(3)
        ref.wait()
        ref.step(1)
        ref._watch._limit = 0.05
        with monkeypatch.context() as changed:
            stuck(changed, ref, iter(lambda: False, None))
            with pytest.raises(actors.ActorError, match=r"heat has not ended its step 3 within"):
                ref.wait()
        assert ref.state is State.TERMINATED
        assert "watchdog" in str(ref.failure)
        with pytest.raises(actors.ActorError, match="has not ended its step 3"):
            ref.read("t")
        assert runtime.actors() == []
        other = runtime.launch(total)
        other.activate()
        assert other.call(Number(2), timeout=60).value == 2


def test_a_slow_step_is_not(monkeypatch):
    with actors.Runtime("cpu") as runtime:
        ref = runtime.lattice(heat, (4, 4), args=(0.1,))
        ref.activate()
        ref._watch._limit = 0.2
        ref.step(40)  # 0.2 s each at most
        with monkeypatch.context() as changed:
            stuck(changed, ref, iter([*[False] * 200, True]))
            ref.wait()
        assert ref.state is State.ACTIVE


def test_resident_blocks_that_do_not_go_on(monkeypatch):
    with actors.Runtime("interp") as runtime:
        ref = runtime.lattice(heat, (8, 8), args=(0.1,), **RESIDENT)
        ref.activate()
        ref.step(2)
        ref._watch._limit = 0.05
        blocks = ref._resident
        monkeypatch.setattr(blocks, "_runs", True)
        monkeypatch.setattr(type(blocks.orders), "left", False)
        monkeypatch.setattr(blocks, "_goal", 9)
        stream = SimpleNamespace(query=lambda: False)
        monkeypatch.setattr(blocks, "_device", SimpleNamespace(default_stream=stream))
        with pytest.raises(actors.ActorError, match="heat has not ended its step 2 within"):
            ref.wait()
        assert ref.state is State.TERMINATED
        assert ref.metrics()["failed"] == 1


# ---- one budget of multiprocessors


def budget(kernels: int) -> Multiprocessors:
    return Multiprocessors([SimpleNamespace(size=1)] * kernels, threading.RLock())


class Owner:
    """Of a lattice's blocks."""


def test_blocks_and_kernels_share_the_multiprocessors():
    found, owner = budget(2), Owner()
    assert found.left(8) == 6
    with pytest.raises(DeviceError, match=r"7 blocks: of 8 multiprocessors.*take 0, and 2 actors"):
        found.take(Owner(), 7, 8)
    found.take(owner, 6, 8)
    assert found.left(8) == 0
    with pytest.raises(DeviceError, match="blocks of lattices take 6, and 2 actors one each"):
        found.check("book", 8, [64, 64], 64)
    found.give_back(owner)
    found.check("book", 8, [64, 64], 64)
    with pytest.raises(DeviceError, match="holds 2 such blocks at once, and 2 kernels"):
        found.check("book", 8, [2, 2], 2)
    found.take(Owner(), 6, 8)  # its owner goes at once
    assert found.left(8) == 6


def test_a_lattice_takes_what_is_left(monkeypatch):
    with actors.Runtime("interp") as runtime:
        left = runtime.device.limits.multiprocessors
        monkeypatch.setattr(
            resident, "_most", lambda device: (3, ", besides 5 of actors and other lattices")
        )
        with pytest.raises(LaunchError, match=r"4 blocks.*holds 3.*besides 5 of actors"):
            runtime.lattice(heat, (8, 8), args=(0.1,), **RESIDENT)
        ref = runtime.lattice(heat, (8, 8), args=(0.1,), mode="resident")
        assert np.prod(ref.blocks) <= 3
        monkeypatch.setattr(resident, "_most", lambda device: (0, ", besides 8 of actors"))
        with pytest.raises(LaunchError, match="no multiprocessor of interp is left"):
            runtime.lattice(heat, (8, 8), args=(0.1,), mode="resident")
        assert left


def test_a_wait_is_a_little_longer_than_the_work_at_most(monkeypatch):
    """The pauses between two looks grow with the time so far, up to 2 ms."""
    now, slept = [100.0], []
    monkeypatch.setattr(watch.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(watch.time, "sleep", slept.append)
    made = watch.Watch("lattice", None)
    made.begin()
    for elapsed in (0.0, 0.0064, 1.0):
        now[0] = 100.0 + elapsed
        made.rest()
    assert slept == pytest.approx([0.0, 0.0001, 0.002])
