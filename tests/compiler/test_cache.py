"""The disk cache: what goes in comes out, and nothing else ever does."""

from __future__ import annotations

import json
import os
import stat
import struct
import subprocess
import sys
import textwrap
import time
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridlane.compiler import cache, cache_codec, cache_key
from gridlane.compiler.cache import DiskCache, decode, default_cache, encode, make_key
from gridlane.core import dtypes, private_files
from gridlane.core.artifact import Artifact, KernelErrorSite, ParamSlot, PrintSite
from gridlane.core.config import config
from gridlane.core.source import Loc
from gridlane.core.tensor_map import Element, TensorMapUse

KEY = "a" * 64
WHOLE = Artifact(
    target="cpu",
    format="object",
    code=bytes(range(256)) * 3,
    entry="scale",
    params=(
        ParamSlot("x", 0, None, 0, ("data",)),
        ParamSlot("n", 8, dtypes.i64, 0, ("shape", 0)),
        ParamSlot("f", 16, dtypes.bf16, 1, (2, "real")),
        ParamSlot("m", 64, None, 0, (), 128),
    ),
    param_bytes=192,
    static_shared=128,
    block=(8, 4, 2),
    scratch=4096,
    errors=(
        KernelErrorSite(
            "ValueError", "ein Fehler: ü \ud800", Loc("k.py", 3, 5, 9, "k"), detail="{} ü"
        ),
        KernelErrorSite("IndexError", "", Loc("a.py", 1).inlined_at(Loc("b.py", 2)), late=True),
    ),
    prints=(PrintSite(("i =", None, "\n"), (dtypes.i32,), ("%3d",), ""),),
    work=77,
    symbols=("_ZGVeN16v_sinf",),
    notes=("f16 is computed in f32",),
    needs=("x86-64", "avx2"),
    uses_dynamic_shared=True,
    own_dynamic=512,
    extra_threads=32,
    cooperative=True,
    requires_cluster=True,
    non_portable=True,
    cluster=(2, 1, 1),
    coarse=4,
    kernel="<locals>.scale",
    buffers=(1, 0),
    constants=b"\1\2",
    untraced=True,
    accesses=1,
    asks_host=True,
    places=(Loc("a.py", 3, 1, 2, "f", Loc("b.py", 5)),),
    tensor_maps=(TensorMapUse(0, (1, 1), (1,), Element.F16, (8, 16), 32, True, 3),),
    starts=(0, 64),
    by_address=True,
)
SMALL = Artifact("interp", "ir", b"", "k", (), 0)


@pytest.fixture
def kept(tmp_path):
    """A cache with one entry, and the entry's file."""
    disk = DiskCache(tmp_path / "kernels")
    disk.put(KEY, WHOLE)
    return disk, disk.root / f"{KEY}{cache.SUFFIX}"


# --- there and back ---


@pytest.mark.parametrize("artifact", [WHOLE, SMALL, replace(WHOLE, block=None)])
def test_what_is_put_is_got(tmp_path, artifact):
    disk = DiskCache(tmp_path / "deep" / "kernels")
    assert disk.get(KEY) is None
    disk.put(KEY, artifact)
    assert disk.get(KEY) == artifact
    assert DiskCache(disk.root).get(KEY) == artifact
    assert disk.get("b" * 64) is None


def test_every_field_is_kept():
    assert {field.name for field in fields(Artifact)} == {*cache_codec.PLAIN, *cache_codec.SHAPED}
    for field in fields(Artifact):
        assert getattr(WHOLE, field.name) != getattr(SMALL, field.name), "the test must see a loss"
    assert len(fields(ParamSlot)) == 6 and len(fields(KernelErrorSite)) == 5
    assert len(fields(PrintSite)) == 4 and len(fields(Loc)) == 6


def test_every_dtype_is_kept(tmp_path):
    disk = DiskCache(tmp_path)
    slots = tuple(ParamSlot(d.name, 8 * n, d, n) for n, d in enumerate(dtypes.ALL))
    artifact = replace(SMALL, params=slots, param_bytes=8 * len(slots))
    disk.put(KEY, artifact)
    assert disk.get(KEY) == artifact


def test_putting_again_replaces(kept):
    disk, _ = kept
    disk.put(KEY, SMALL)
    assert disk.get(KEY) == SMALL
    assert disk.stats().entries == 1


def test_files_are_the_owners_own_and_no_others_are_left(kept):
    disk, path = kept
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(disk.root.stat().st_mode) == 0o700
    assert {item.name for item in disk.root.iterdir()} == {path.name, cache._SWEPT}


def test_stats_and_clear(kept):
    disk, _ = kept
    disk.put("b" * 64, SMALL)
    (disk.root / f".{KEY}.1.2.tmp").write_bytes(b"left by a process that died")
    size = sum(item.stat().st_size for item in disk.root.glob("*" + cache.SUFFIX))
    assert disk.stats() == cache.CacheStats(2, size, cache.DEFAULT_LIMIT)
    assert disk.clear() == 2
    assert disk.stats().entries == 0
    assert disk.get(KEY) is None
    assert not list(disk.root.glob("*.tmp")) and not list(disk.root.glob(".*.tmp"))


@pytest.mark.parametrize("key", ["", "../etc", "a/b", "a.b"])
def test_a_key_is_no_path(tmp_path, key):
    with pytest.raises(ValueError, match="letters and digits"):
        DiskCache(tmp_path).get(key)


# --- damage ---


def test_truncation_at_every_length():
    whole = encode(KEY, WHOLE)
    for length in range(len(whole)):
        with pytest.raises(ValueError):
            decode(KEY, whole[:length])
    assert decode(KEY, whole) == WHOLE


def test_every_bit_flip():
    whole = bytearray(encode(KEY, WHOLE))
    for n in range(len(whole)):
        for bit in range(8):
            whole[n] ^= 1 << bit
            with pytest.raises(ValueError):
                decode(KEY, bytes(whole))
            whole[n] ^= 1 << bit


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: b"\0" * len(data),
        lambda data: encode("b" * 64, WHOLE),
        lambda data: data[:8] + struct.pack("<I", 99) + data[12:],
    ],
    ids=["empty", "short", "long", "zeros", "of another key", "of another version"],
)
def test_a_damaged_entry_is_removed_and_replaced(kept, damage):
    disk, path = kept
    path.write_bytes(damage(path.read_bytes()))
    assert disk.get(KEY) is None
    assert not path.exists()
    disk.put(KEY, WHOLE)
    assert disk.get(KEY) == WHOLE


@given(st.binary(max_size=300))
def test_any_bytes_are_an_artifact_or_a_value_error(data):
    with pytest.raises(ValueError):
        decode(KEY, data)


def resealed(change):
    """An entry with a right digest, and metadata that ``change`` has altered."""
    metadata = json.loads(cache_codec.to_json(WHOLE))
    metadata = json.dumps(change(metadata) or metadata).encode()
    payload = struct.pack("<I", len(metadata)) + metadata + WHOLE.code
    return cache._HEADER.pack(cache.MAGIC, cache.VERSION, cache._digest(KEY, payload)) + payload


def test_resealing_as_it_was():
    assert decode(KEY, resealed(lambda fields: None)) == WHOLE


def _nested(depth):
    place = None
    for _ in range(depth):
        place = ["f", 1, 1, 1, "g", place]
    return place


@pytest.mark.parametrize(
    "change",
    [
        lambda f: [f],
        lambda f: f.pop("entry") and None,
        lambda f: f.update(entry=3),
        lambda f: f.update(param_bytes=True),
        lambda f: f.update(param_bytes=-1),
        lambda f: f.update(scratch=1.5),
        lambda f: f.update(block=[1, 2]),
        lambda f: f.update(block=[0, 1, 1]),
        lambda f: f.update(block="xyz"),
        lambda f: f.update(symbols="libc"),
        lambda f: f.update(notes=[1]),
        lambda f: f["params"][0].__setitem__(1, 188),
        lambda f: f["params"][0].__setitem__(1, -8),
        lambda f: f["params"][1].__setitem__(2, "i65"),
        lambda f: f["params"][1].__setitem__(3, -1),
        lambda f: f["params"][1].__setitem__(4, [None]),
        lambda f: f["params"][1].pop() and None,
        lambda f: f["params"][3].__setitem__(5, -1),
        lambda f: f["params"][3].__setitem__(5, 129),
        *(
            lambda f, n=n, value=value: f["tensor_maps"][0].__setitem__(n, value)
            for n, value in (
                (0, 4),
                (1, [1]),
                (2, []),
                (2, [9]),
                (3, 13),
                (4, []),
                (5, 16),
                (7, -1),
            )
        ),
        lambda f: f["errors"][0].__setitem__(2, None),
        lambda f: f["errors"][0].__setitem__(2, _nested(900)),
        lambda f: f["prints"][0].__setitem__(0, [3]),
        lambda f: f["prints"][0].__setitem__(1, [None]),
    ],
)
def test_a_right_digest_does_not_make_wrong_content_right(change):
    data = resealed(change)
    try:
        decode(KEY, data)
    except ValueError:
        return
    # The one that may pass: deep, and whole.
    assert b'"g", ["f"' in data


# --- the directory ---


def test_reading_leaves_nothing_behind(tmp_path):
    disk = DiskCache(tmp_path / "none")
    assert disk.get(KEY) is None
    assert disk.stats() == cache.CacheStats(0, 0, cache.DEFAULT_LIMIT)
    assert disk.clear() == 0
    assert disk.problem() == ""
    assert not disk.root.exists()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_directory_that_only_an_attempt_tells(tmp_path):
    """os.access() says that root may write there."""
    assert DiskCache("/proc/gridlane").problem()
    disk = DiskCache(tmp_path)
    assert disk.problem() == "" and not list(tmp_path.iterdir())


def test_a_file_in_the_directorys_place(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cache.trace, "enabled", lambda: True)
    (tmp_path / "file").write_text("")
    disk = DiskCache(tmp_path / "file")
    for _ in range(3):
        disk.put(KEY, WHOLE)
    assert "is not a directory" in disk.problem()
    assert capsys.readouterr().err.count("cache-off") == 1, "said once"
    assert disk.get(KEY) is None


@pytest.mark.parametrize("call", ["replace", "open", "makedirs"])
def test_a_disk_that_fails_turns_writing_off(kept, monkeypatch, capsys, call):
    disk, _ = kept
    monkeypatch.setattr(cache.trace, "enabled", lambda: True)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(private_files.os, call, full)
        disk.put("b" * 64, WHOLE)
        disk.put("c" * 64, WHOLE)
    assert capsys.readouterr().err.count("No space left") == 1
    assert disk.get("b" * 64) is None
    assert disk.get(KEY) == WHOLE, "what is there can still be read"
    assert not list(disk.root.glob(".*.tmp"))


def test_an_entry_that_is_no_file(kept):
    disk, path = kept
    path.unlink()
    path.mkdir()
    assert disk.get(KEY) is None
    path.rmdir()
    os.mkfifo(path)
    assert disk.get(KEY) is None, "and it does not wait for a writer"


def test_the_oldest_used_go_first(tmp_path):
    size = len(encode(KEY, WHOLE))
    disk, roomy = DiskCache(tmp_path, limit=10 * size), DiskCache(tmp_path)
    keys = [f"{n:064x}" for n in range(14)]
    for n, key in enumerate(keys):
        roomy.put(key, WHOLE)
        used = time.time() - 10 * 3600 + n
        os.utime(tmp_path / f"{key}{cache.SUFFIX}", (used, used))
    assert disk.get(keys[0]) == WHOLE, "use makes it the newest"
    disk.sweep()
    left = [key for key in keys if disk.get(key) is not None]
    assert left == [keys[0], *keys[-6:]]
    assert disk.stats().bytes <= disk.limit * 3 // 4


def test_putting_sweeps_now_and_then(tmp_path):
    size = len(encode(KEY, WHOLE))
    disk = DiskCache(tmp_path, limit=4 * size)
    for n in range(40):
        disk.put(f"{n:064x}", WHOLE)
    assert disk.stats().bytes <= disk.limit
    # Another process, later: what the first one left unswept is seen by the time of the last look.
    stale = tmp_path / ".x.1.2.tmp"
    stale.write_bytes(b"")
    old = time.time() - 2 * 3600
    for path in (tmp_path / cache._SWEPT, stale):
        os.utime(path, (old, old))
    DiskCache(tmp_path).put(KEY, WHOLE)
    assert not stale.exists()


# --- several processes ---

WORKER = textwrap.dedent("""
    import sys
    from dataclasses import replace
    from gridlane.compiler.cache import DiskCache
    from gridlane.core.artifact import Artifact

    disk, mine, key = DiskCache(sys.argv[1]), int(sys.argv[2]), "a" * 64
    found = 0
    for n in range(200):
        size = 1 + (mine * 7919 + n * 104729) % 50000
        disk.put(key, Artifact("cpu", "object", bytes([mine]) * size, "k", (), 0))
        other = disk.get(key)
        if other is not None:
            assert set(other.code) in ({0}, {1}, {2}, {3}), "a mix of two entries"
            found += 1
        if n % 50 == mine:
            disk.sweep()
    assert disk._writable
    print(found)
""")


def test_processes_write_and_read_one_key(tmp_path):
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path), str(n)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    for worker in workers:
        out, err = worker.communicate(timeout=120)
        assert worker.returncode == 0, err
        assert int(out) == 200, "an entry is whole at any time"
    assert DiskCache(tmp_path).stats().entries == 1


def test_a_reader_beside_a_process_that_damages(tmp_path):
    """Removing a damaged entry may remove a good one just put: a miss, never a wrong answer."""
    disk, path = DiskCache(tmp_path), tmp_path / f"{KEY}{cache.SUFFIX}"
    for n in range(50):
        disk.put(KEY, WHOLE)
        path.write_bytes(path.read_bytes()[: n * 7])
        assert disk.get(KEY) is None
    assert disk.get(KEY) is None


# --- keys ---


def test_keys_keep_parts_apart():
    keys = [
        make_key(),
        make_key(""),
        make_key("a", "b"),
        make_key("ab"),
        make_key("a", "b", ""),
        make_key(b"ab"),
        make_key("s2:ab"),
        make_key("b", "a"),
        make_key("\ud800"),
    ]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 and key.isalnum() for key in keys)
    assert make_key("a", b"\xff") == make_key("a", b"\xff")


def test_keys_are_the_same_in_every_process():
    code = """if True:
        from gridlane.compiler import cache_key
        cache_key.compiler_digest = lambda package: b""  # someone may be editing the source
        print(cache_key.make_key("a", b"b"))
    """
    keys = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(keys) == 1


def test_the_compilers_source_is_part_of_the_key(tmp_path):
    for room in cache_key.COMPILER_HALF:
        (tmp_path / room / "inner").mkdir(parents=True)
        (tmp_path / room / "inner" / "a.py").write_text("x = 1\n")
    seen = {cache_key.compiler_digest(tmp_path)}
    assert cache_key.compiler_digest(tmp_path) in seen
    for n, room in enumerate(cache_key.COMPILER_HALF):
        path = tmp_path / room / "inner" / "a.py"
        os.utime(path, ns=(10**9, 10**9 + n))
        seen.add(cache_key.compiler_digest(tmp_path))
        path.write_text("x = 10\n")
        seen.add(cache_key.compiler_digest(tmp_path))
    for name in ("new.py", "numbers.txt"):
        (tmp_path / "passes" / name).write_text("")
        seen.add(cache_key.compiler_digest(tmp_path))
    assert len(seen) == 3 + 2 * len(cache_key.COMPILER_HALF)
    before = cache_key.compiler_digest(tmp_path)
    (tmp_path / "passes" / "__pycache__").mkdir()
    (tmp_path / "passes" / "__pycache__" / "a.pyc").write_bytes(b"")
    (tmp_path / "elsewhere").mkdir()
    assert cache_key.compiler_digest(tmp_path) == before


# --- the process's own ---


@pytest.fixture
def environment(monkeypatch):
    """Set GRIDLANE_ variables as if the process had started with them."""

    def set_(**values):
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        config.cache_clear()
        default_cache.cache_clear()

    yield set_
    monkeypatch.undo()
    config.cache_clear()
    default_cache.cache_clear()


def test_the_default_cache(environment, tmp_path):
    environment(GRIDLANE_CACHE="1", GRIDLANE_CACHE_DIR=str(tmp_path))
    assert default_cache().root == tmp_path
    assert default_cache() is default_cache()
    environment(GRIDLANE_CACHE="0")
    assert default_cache() is None
    environment(GRIDLANE_CACHE="1", GRIDLANE_CACHE_DIR="", XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert default_cache().root.name == "gridlane"
