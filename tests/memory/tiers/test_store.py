"""Stores of blocks: what goes in comes out, and bad arguments are refused."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import lz4.block
import ml_dtypes
import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gridlane.memory.tiers import BlockStore, CodecMissing, StoreUnavailable
from gridlane.memory.tiers.codecs import shuffle, unshuffle

ARRAYS = {
    "floats": np.linspace(0, 1, 1000, dtype=np.float32).reshape(10, 100),
    "bfloat16": np.ones(100, ml_dtypes.bfloat16),
    "complex": np.arange(500) * 1j,
    "booleans": np.ones(100, np.bool_),
    "records": np.zeros(50, np.dtype([("a", "u1"), ("b", "f8")])),
    "empty": np.empty((0, 3), np.float32),
    "scalar": np.array(3.0),
    "dates": np.arange(100).astype("M8[s]"),
    "random": np.frombuffer(np.random.default_rng(1).bytes(5000), np.uint8),
    "large items": np.zeros(3, "S1000"),
}


@pytest.mark.parametrize("codec", ["raw", "lz4", "zstd"])
@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(tmp_path, codec, name):
    array = ARRAYS[name]
    with BlockStore(tmp_path, codec) as store:
        store.put("block", array)
        into = np.empty_like(array)
        assert store.read("block", into) is into
        assert into.tobytes() == array.tobytes() == bytes(store["block"])
        assert store.length("block") == array.nbytes
    with BlockStore(tmp_path, mode="r") as store:
        assert store["block"] == array.tobytes()


def test_views_and_bytes(tmp_path):
    with BlockStore(tmp_path) as store:
        for data in (b"abc", bytearray(b"abc"), memoryview(b"xabcx")[1:4]):
            store["a"] = data
            assert store["a"] == b"abc"
        store.put("readonly", np.frombuffer(bytes(400), np.float64))
        assert store["readonly"] == bytes(400)


@given(data=st.binary(max_size=300), itemsize=st.integers(2, 20))
def test_shuffled_bytes(data, itemsize):
    whole = len(data) - len(data) % itemsize
    planes = [data[n:whole:itemsize] for n in range(itemsize)]
    shuffled = bytes(shuffle(data, itemsize)) if data else b""
    assert shuffled == b"".join(planes) + data[whole:]
    if data:
        back = bytearray(len(data))
        unshuffle(shuffled, itemsize, memoryview(back))
        assert back == data


def stored(folder: Path) -> bytes:
    """The bytes of a store's only file."""
    (file,) = folder.glob("*.blocks")
    return file.read_bytes()


def test_files_have_what_the_codecs_libraries_read(tmp_path):
    array = np.arange(5000, dtype=np.int32)
    planes = array.view(np.uint8).reshape(-1, 4).T.tobytes()
    packed = {
        "lz4": lz4.block.compress(planes, store_size=False),
        "zstd": zstandard.ZstdCompressor(level=3).compress(planes),
    }
    for codec, expected in packed.items():
        folder = tmp_path / codec
        with BlockStore(folder, codec) as store:
            store.put("a", array)
        data = stored(folder)
        at = data.index(expected)
        assert data[:4] == b"GLB1" and data[at + len(expected) :][:4] == b"GLE1"
        assert zlib.crc32(expected).to_bytes(4, "little") in data[:at]


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_levels(tmp_path, codec):
    data = b"".join(b"%d," % n for n in range(20000))
    sizes = []
    for level in (1, 12):
        with BlockStore(tmp_path / str(level), codec, level) as store:
            store["a"] = data
            assert store["a"] == data
            sizes.append(store.statistics().stored)
    assert sizes[1] < sizes[0] < len(data)


@pytest.mark.parametrize("random", range(1000, 0, -30))
def test_blocks_that_compression_hardly_shrinks_are_stored_as_they_are(tmp_path, random):
    data = np.random.default_rng(2).bytes(random) + bytes(1000 - random)
    with BlockStore(tmp_path) as store:
        store["a"] = data
        size = store.statistics().stored
        packed = len(lz4.block.compress(data, store_size=False))
        assert size == (packed if packed <= 950 else 1000)
        assert store["a"] == data


def test_missing_codec(tmp_path, monkeypatch):
    with BlockStore(tmp_path) as store:
        store["a"] = bytes(1000)
    monkeypatch.setitem(sys.modules, "lz4.block", None)
    with pytest.raises(CodecMissing, match=r"lz4.*gridlane\[tiers\].*codec=\"raw\""):
        BlockStore(tmp_path)
    with BlockStore(tmp_path, "raw") as store:
        with pytest.raises(CodecMissing, match="lz4"):
            store["a"]
        store["b"] = bytes(1000)
        assert store["b"] == bytes(1000)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"codec": "gzip"}, "codecs are raw, lz4, zstd"),
        ({"level": 13}, "levels of lz4 are 1 to 12"),
        ({"codec": "raw", "level": 1}, "raw has no levels"),
        ({"codec": "zstd", "level": 23}, "levels of zstd are -7 to 22"),
        ({"mode": "a"}, "modes are r and w"),
        ({"mode": "r", "temporary": True}, "temporary"),
        ({"segment_bytes": 0}, "segment_bytes=0"),
        ({"paths": []}, "needs a folder"),
        ({"paths": ["x", ("./x", 5)]}, "comes twice"),
        ({"paths": [("x", 0)]}, "quota of 0"),
    ],
)
def test_bad_arguments(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        BlockStore(**{"paths": "x", **arguments})


def test_bad_blocks(tmp_path):
    with BlockStore(tmp_path) as store:
        store["a"] = b"old"
        with pytest.raises(ValueError, match="not contiguous"):
            store["a"] = np.zeros((4, 4))[:, 0]
        with pytest.raises(ValueError, match="not contiguous"):
            store["a"] = memoryview(b"abcdef")[::2]
        with pytest.raises(TypeError, match="Python objects"):
            store["a"] = np.array([None])
        with pytest.raises(TypeError):
            store["a"] = "text"
        with pytest.raises(TypeError, match="names of blocks are str"):
            store[b"a"] = b""
        with pytest.raises(ValueError, match="4096 are the most"):
            store["a" * 4097] = b""
        with pytest.raises(ValueError):
            store["\ud800"] = b""
        with pytest.raises(ValueError, match="itemsize=0"):
            store.put("a", b"abc", itemsize=0)
        with pytest.raises(ValueError, match=r"has 3 bytes.*has 4"):
            store.read("a", bytearray(4))
        with pytest.raises(ValueError, match="read only"):
            store.read("a", b"123")
        with pytest.raises(KeyError, match="missing"):
            store["missing"]
        with pytest.raises(KeyError, match="missing"):
            del store["missing"]
        assert dict(store) == {"a": b"old"}
        store["a" * 4096] = b"long"
        store["a"] = np.zeros((4, 4)).T.copy()
    with BlockStore(tmp_path) as store:
        assert store["a" * 4096] == b"long"


def test_no_use_after_the_end(tmp_path):
    store = BlockStore(tmp_path)
    store["a"] = b"1"
    store.close()
    store.close()
    for use in (
        lambda: store["a"],
        lambda: store.put("a", b""),
        lambda: store.delete("a"),
        lambda: list(store),
        lambda: len(store),
        lambda: "a" in store,
        store.flush,
        store.refresh,
        store.compact,
        store.statistics,
    ):
        with pytest.raises(StoreUnavailable, match="closed"):
            use()
    assert "closed" in repr(store)


def test_readers_do_not_write(tmp_path):
    BlockStore(tmp_path).close()
    files = sorted(tmp_path.iterdir())
    with BlockStore(tmp_path, mode="r") as store:
        for use in (lambda: store.put("a", b""), lambda: store.delete("a"), store.flush):
            with pytest.raises(StoreUnavailable, match="opened to read"):
                use()
    assert sorted(tmp_path.iterdir()) == files
    with pytest.raises(StoreUnavailable, match="none"):
        BlockStore(tmp_path / "none", mode="r")


def test_compaction_frees_and_keeps(tmp_path):
    blocks = {str(n): os.urandom(1000) for n in range(100)}
    with BlockStore(tmp_path, segment_bytes=10_000) as store:
        for n in range(5):
            store.update(blocks)
        for n in range(0, 100, 2):
            del store[str(n)], blocks[str(n)]
        before = store.statistics()
        freed = store.compact()
        after = store.statistics()
        assert freed == before.disk - after.disk > 45_000
        assert after.dead < 2000 and after.blocks == 50 and dict(store) == blocks
        assert sum(each.stat().st_size for each in tmp_path.glob("*.blocks")) == after.disk
    with BlockStore(tmp_path) as store:
        assert dict(store) == blocks


def test_dead_bytes_do_not_pile_up(tmp_path):
    with BlockStore(tmp_path, segment_bytes=50_000) as store:
        for n in range(2000):
            store["same"] = n.to_bytes(4, "little") + os.urandom(2000)
            assert store.statistics().disk < 300_000
        assert store["same"][:4] == (1999).to_bytes(4, "little")


@pytest.mark.parametrize("temporary", [False, True])
def test_threads(tmp_path, temporary):
    """Each thread has blocks of its own, and all replace a shared one; files are small, so that
    compaction goes on all the time."""
    errors: list[BaseException] = []
    store = BlockStore([tmp_path / "a", tmp_path / "b"], temporary=temporary, segment_bytes=20_000)

    def work(thread: int) -> None:
        choose = np.random.default_rng(thread)
        mine: dict[str, bytes] = {}
        try:
            for n in range(300):
                key = f"{thread}-{choose.integers(10)}"
                if choose.random() < 0.2 and key in mine:
                    del store[key], mine[key]
                else:
                    store[key] = mine[key] = choose.bytes(int(choose.integers(3000)))
                shared = choose.bytes(100)
                store["shared"] = shared + zlib.crc32(shared).to_bytes(4, "little")
                for each, data in mine.items():
                    assert store[each] == data
                shared = store["shared"]
                assert zlib.crc32(shared[:100]) == int.from_bytes(shared[100:], "little")
                if n % 50 == 0:
                    store.flush()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[n]) for n in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors
    assert store.statistics().compactions > 0
    kept = dict(store)
    store.close()
    if temporary:
        assert not [each for each in tmp_path.rglob("*") if each.is_file()]
    else:
        with BlockStore([tmp_path / "a", tmp_path / "b"]) as store:
            assert dict(store) == kept


def test_nothing_is_imported_that_stores_do_not_need():
    text = "import sys, gridlane.memory.tiers; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert not {"lz4", "zstandard", "zarr", "llvmlite"} & set(done.stdout.split())


@given(st.dictionaries(st.text(max_size=20), st.binary(max_size=200), max_size=20))
def test_any_names(blocks):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        try:
            names = {key.encode(): key for key in blocks}
        except UnicodeEncodeError:
            return
        with BlockStore(folder) as store:
            store.update(blocks)
            assert len(names) == len(store)
        with BlockStore(folder) as store:
            assert dict(store) == blocks
