"""Files of checkpoints: whole or not at all, and never a wrong restore."""

from __future__ import annotations

import json
import os
import signal
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from tests.actors.samples import Number, Total, total

from gridlane import actors
from gridlane.actors import CheckpointError
from gridlane.actors.checkpoint import dtypes, file
from gridlane.actors.checkpoint.snapshot import Snapshot
from gridlane.actors.checkpoint.table import read_table
from gridlane.actors.processes import identity
from gridlane.cuda import float32, int32, int64


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    """A small checkpoint, with a message and an array of a topic."""
    path = tmp_path_factory.mktemp("checkpoint") / "small"
    with actors.Runtime("cpu") as runtime:
        runtime.topic("numbers", Number)
        ref = runtime.launch(total, state=Total(5, 1), capacity=2)
        runtime.subscribe(ref, "#")
        ref.send(Number(3))
        ref.send(Number(4))
        ref.send(Number(4), on_full="dead")
        runtime.checkpoint(path)
    return path


def restore(path, given=(total,), **options):
    with actors.Runtime.restore(path, actors=given, **options):
        pass


def test_only_this_user_may_read_it(written):
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    assert [each.name for each in written.parent.iterdir()] == ["small"]
    restore(written)


def test_cut_short_at_every_byte(written, tmp_path):
    whole, path = written.read_bytes(), tmp_path / "short"
    path.write_bytes(whole)
    for size in reversed(range(len(whole))):
        os.truncate(path, size)
        with pytest.raises(CheckpointError, match="cut short"):
            file.read_file(path)
    with pytest.raises(CheckpointError, match="cut short"):
        restore(path)
    path.write_bytes(whole + b"x")
    with pytest.raises(CheckpointError, match="damaged"):
        restore(path)


def test_every_byte_changed(written, tmp_path):
    whole, path = written.read_bytes(), tmp_path / "changed"
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(CheckpointError):
            file.read_file(path)
        assert path.read_bytes() != whole, place
    path.write_bytes(whole)
    file.read_file(path)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "it has 0 bytes"),
        (b"x" * 63, "it has 63 bytes"),
        (b"x" * 100, "it begins with b'xxxxxxxx'"),
        (struct.pack("<8sIIQQ32s", b"GLACTORS", 2, 0, 0, 0, bytes(32)), "of version 2"),
        (struct.pack("<8sIIQQ32s", b"GLACTORS", 1, 0, 0, 0, bytes(32)), "checksum"),
        (struct.pack("<8sIIQQ32s", b"GLACTORS", 1, 0, 2**64 - 1, 0, bytes(32)), "cut short"),
        (struct.pack("<8sIIQQ32s", b"GLACTORS", 1, 0, 1, 2**64 - 1, bytes(32)), "cut short"),
    ],
)
def test_what_is_no_checkpoint(tmp_path, content, match):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(CheckpointError, match=match):
        restore(tmp_path / "a")


def test_folders_pipes_and_nothing(tmp_path):
    with pytest.raises(CheckpointError, match="a folder or a device"):
        restore(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="a folder or a device"):
        restore(tmp_path / "pipe")
    with pytest.raises(FileNotFoundError):
        restore(tmp_path / "nothing")


def leaves(value, way=()):
    """The ways to all values of a table."""
    yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*way, key))


def test_wrong_tables_with_the_right_checksum(written):
    """Each value of the table replaced: an error in words, or a snapshot, and nothing else."""
    text, data = file.read_file(written)
    refused = 0
    for way in leaves(json.loads(text)):
        for wrong in (None, -1, 1 << 70, "x", [], {}, 3.5):
            table = json.loads(text)
            if not way:
                table = wrong
            else:
                place = table
                for key in way[:-1]:
                    place = place[key]
                place[way[-1]] = wrong
            try:
                found = read_table("a", json.dumps(table).encode(), data)
            except CheckpointError:
                refused += 1
            else:
                assert isinstance(found, Snapshot)
    assert refused > 500


def changed(written, tmp_path, change) -> Path:
    text, data = file.read_file(written)
    table = json.loads(text)
    change(table)
    file.write_file(tmp_path / "wrong", json.dumps(table).encode(), bytes(data))
    return tmp_path / "wrong"


def set_in(*way, value):
    def change(table):
        for key in way[:-1]:
            table = table[key]
        table[way[-1]] = value

    return change


def array(**changes):
    """Give the first actor an array of 4 int64, but for some changes."""
    table = {"offset": 0, "shape": [4], "strides": [8], "dtype": "<i8", "readonly": False}

    def change(whole):
        whole["memory"] = [[0, 32]]
        whole["actors"][0]["arrays"] = [{"memory": 0, **table, **changes}]

    return change


def indexed(ctx, state, number: Number, values):
    values[0] += number.value
    ctx.reply(number)


indexed.__name__ = "total"
indexing = actors.kernel(state=Total, replies=Number)(indexed)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (set_in("actors", 0, "queues", "handled", value=3), "messages handled does not fit"),
        (set_in("actors", 0, "options", "capacity", value=3), "not a power of two"),
        (set_in("actors", 0, "now", value=[0, 8]), "state of total has another size"),
        (set_in("actors", 0, "queues", "inbox", value=[0, 20]), "cut short"),
        (set_in("actors", 0, "lifecycle", value="TERMINATING"), "a state of the lifecycle"),
        (set_in("actors", 0, "number", value=9), "an actor's number"),
        (set_in("subscriptions", value=[["#", 7]]), "a subscriber that is no actor"),
        (set_in("topics", value=[["a..b", 3]]), "a class without layout"),
        (set_in("topics", 0, 1, value=0), "a class without layout"),
        (set_in("topics", 0, 0, value=""), "no topic: words"),
        (set_in("subscriptions", 0, 0, value="<f8"), "no pattern of topics"),
        (set_in("actors", 0, "queues", "code", value=1 << 31), "no number of an error"),
        (set_in("actors", 0, "queues", "handled", value=1 << 40), "no number of 32 bits"),
        (set_in("actors", 0, "first", value=[0, 8]), "state of total has another size"),
        (set_in("dead", 0, 1, 1, value=0), "is no checkpoint of a runtime: IndexError"),
        (set_in("dead", 0, 1, 0, value=0), "no checkpoint of a runtime.* not a valid Reason"),
        (set_in("next_number", value=(1 << 64) - 1), "the number of the next actor"),
        (array(readonly=-1), "whether an array is read-only"),
        (array(shape=[-4]), "no number of 64 bits"),
        (array(shape=[1 << 62, 4], strides=[0, 8]), "an array's shape"),
        (array(shape=[4, 4]), "an array's strides"),
        (array(offset=8), "does not lie in its memory"),
        (array(shape=[3], offset=4), "elements are not where int64 lies"),
        (array(dtype="O"), "objects of Python"),
    ],
)
def test_wrong_snapshots(written, tmp_path, change, match):
    given = indexing if change.__qualname__.startswith("array.") else total
    with pytest.raises(CheckpointError, match=match):
        restore(changed(written, tmp_path, change), (given,))


def test_an_array_of_a_launch(written, tmp_path):
    restore(changed(written, tmp_path, array()), (indexing,))


# ---- classes


def of(fields: dict, name="Total"):
    return actors.state(type(name, (), {"__annotations__": fields, "__module__": __name__}))


def body(ctx, state, number: Number):
    state.value += number.value
    ctx.reply(number)


body.__name__ = "total"


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"value": int64}, r"field seen \(int64 at byte 8\) is missing"),
        ({"value": int64, "seen": int32}, "field seen is int64 at byte 8 .* and int32 at byte 8"),
        ({"seen": int64, "value": int64}, "field value is int64 at byte 0 .* int64 at byte 8"),
        (
            {"value": int64, "seen": int64, "more": float32},
            r"field more \(float32 at byte 16\) is not in the checkpoint",
        ),
    ],
)
def test_a_class_that_has_changed(written, fields, match):
    given = actors.kernel(state=of(fields), replies=Number)(body)
    with pytest.raises(CheckpointError, match=rf"total: the class of its state, Total.*{match}"):
        restore(written, [given])


def test_other_classes_and_handlers(written):
    with pytest.raises(CheckpointError, match="it is Total in the checkpoint, and Sum is given"):
        restore(written, [actors.kernel(state=of({"a": int64}, "Sum"), replies=Number)(body)])
    with pytest.raises(CheckpointError, match="its state is Total in the checkpoint, and none"):
        restore(written, [actors.kernel(replies=Number)(body)])
    with pytest.raises(CheckpointError, match="threads in the checkpoint, and 32"):
        restore(written, [actors.kernel(state=Total, replies=Number, threads=32)(body)])
    with pytest.raises(CheckpointError, match="whose handler is total: give it in actors="):
        restore(written, [])
    with pytest.raises(CheckpointError, match="two handlers of the name total"):
        restore(written, [total, total])
    with pytest.raises(TypeError, match="is no actor"):
        restore(written, [Total])


@actors.message
class Unheard:
    value: int64


def test_classes_of_topics_that_nobody_handles(tmp_path):
    with actors.Runtime("cpu") as runtime:
        runtime.topic("unheard", Unheard)
        runtime.checkpoint(tmp_path / "a")
    with pytest.raises(CheckpointError, match=r"restore with messages=\[Unheard\]"):
        restore(tmp_path / "a", [])
    restore(tmp_path / "a", [], messages=[Unheard])
    other = actors.message(
        type("Unheard", (), {"__annotations__": {"value": int32}, "__module__": __name__})
    )
    with pytest.raises(CheckpointError, match="field value is int64 at byte 0"):
        restore(tmp_path / "a", [], messages=[other])


def test_types_of_elements():
    import ml_dtypes
    import numpy as np

    pair = np.dtype([("x", "f4"), ("y", "u1")], align=True)
    for each in (
        *map(np.dtype, ("f4", "?", "u8", "c8", "f2", ml_dtypes.bfloat16)),
        np.dtype([("a", "u1"), ("b", "<i8", (2, 3)), ("n", pair)], align=True),
        np.dtype({"names": ["a"], "formats": ["f4"], "offsets": [4], "itemsize": 12}),
    ):
        made = dtypes.from_table(json.loads(json.dumps(dtypes.to_table(each))))
        assert made == each
        assert made.isalignedstruct == each.isalignedstruct
    with pytest.raises(TypeError, match="objects of Python"):
        dtypes.from_table("|O")


# ---- writing


def test_a_failed_write_leaves_the_old_file(written, tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(number):
        raise OSError(28, "no space left")

    with actors.Runtime("cpu") as runtime:
        with monkeypatch.context() as changed:
            changed.setattr(os, "fsync", fail)
            with pytest.raises(OSError, match="no space"):
                runtime.checkpoint(path)
        assert [each.name for each in tmp_path.iterdir()] == ["a"]
        assert path.read_bytes() == b"old"
        runtime.checkpoint(path)
        with pytest.raises(FileNotFoundError):
            runtime.checkpoint(tmp_path / "none" / "a")
    restore(path, [])


CHILD = """
import os, signal, sys
from gridlane import actors
from tests.actors.samples import Number, total

with actors.Runtime("cpu") as runtime:
    ref = runtime.launch(total)
    ref.activate()
    ref.call(Number(1))
    runtime.checkpoint(sys.argv[1])
    ref.call(Number(1))

    def stop(number):
        print("now", flush=True)
        signal.pause()

    os.fsync = stop
    runtime.checkpoint(sys.argv[1])
"""


def test_a_process_that_is_killed_while_it_writes_leaves_the_old_file(tmp_path):
    root = Path(__file__).parents[2]
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path / "a")],
        cwd=root,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}"},
    )
    assert child.stdout is not None
    with child.stdout:
        assert child.stdout.readline() == b"now\n"
        child.send_signal(signal.SIGKILL)
        child.wait(60)
    with actors.Runtime.restore(tmp_path / "a", actors=[total]) as runtime:
        assert runtime["total"].read_state() == Total(1, 1)
        left = [each.name for each in tmp_path.iterdir() if each.name != "a"]
        assert len(left) == 1
        runtime.checkpoint(tmp_path / "b")
        assert (tmp_path / left[0]).exists()  # it is of another file
        runtime.checkpoint(tmp_path / "a")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"]


def test_parts_of_writers_that_run_stay(tmp_path):
    """Those of this process, of a process whose number another one has by now, of another machine,
    and what no writer has written."""
    mine = identity.mark_of(os.getpid())
    here, pid, start = mine.split("-")
    stays = [
        f".a.{mine}.x.part",
        f".a.{identity.mark_of(os.getppid())}.x.part",
        f".a.00000000-{pid}-00000000.x.part",
        ".a.part",
        ".a.x.part",
        ".a.-.part",
        f".a.{here}-x-{start}.y.part",
        ".ab.x.part",
    ]
    goes = [f".a.{here}-{pid}-00000000.x.part", f".a.{here}-4194305-{start}.x.part"]
    for name in (*stays, *goes):
        (tmp_path / name).write_bytes(b"part")
    (tmp_path / f".a.{here}-4194305-{start}.folder.part").mkdir()
    file.write_file(tmp_path / "a", b"{}", b"")
    there = {each.name for each in tmp_path.iterdir() if each.is_file()}
    assert there == {"a", *stays}
