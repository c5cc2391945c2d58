"""Damaged files: a named error for the block that is concerned, and the others go on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.effort import NIGHTLY

from gridlane.memory.tiers import BlockStore, StoreCorrupt, StoreUnavailable

BLOCKS = {"one": b"1" * 40, "two": os.urandom(50), "three": bytes(70), "four": b"x"}


def made(folder: Path) -> Path:
    """A store with one file; its path."""
    with BlockStore(folder) as store:
        store["one"] = b"older"
        store["gone"] = b"deleted"
        store.update(BLOCKS)
        del store["gone"]
    (file,) = folder.glob("*.blocks")
    return file


def test_each_flipped_byte(tmp_path):
    """A flip is an error of one block at most, at the next start as in a running process, and never
    another answer: neither an older block of the name, nor a deleted one."""
    file = made(tmp_path)
    good = file.read_bytes()
    running = BlockStore(tmp_path, mode="r")
    concerned = set()
    for place in range(len(good)):
        bad = bytearray(good)
        bad[place] ^= 1 << place % 8
        file.write_bytes(bad)
        for store in (running, BlockStore(tmp_path, mode="r")):
            wrong = []
            for key, data in BLOCKS.items():
                try:
                    assert store[key] == data
                except StoreCorrupt as error:
                    assert repr(key) in str(error) and str(file) in str(error)
                    wrong.append(key)
            assert len(wrong) <= 1 and sorted(store) == sorted(BLOCKS)
            assert store.statistics().lost == 0
            concerned |= {(each, store is running) for each in wrong}
            with pytest.raises(KeyError):
                store["gone"]
            if store is not running:
                store.close()
    running.close()
    assert concerned == {(key, now) for key in BLOCKS for now in (False, True)}


def test_every_part_of_a_block_is_checked(tmp_path):
    with BlockStore(tmp_path, "raw") as store:
        store["a"] = b"block of some length" * 10
    (file,) = tmp_path.glob("*.blocks")
    good = file.read_bytes()
    note = 2 * 52  # of the flush, at the end
    for place in range(len(good)):
        bad = bytearray(good)
        bad[place] ^= 0x80
        file.write_bytes(bad)
        with BlockStore(tmp_path, mode="r") as store:
            if place < len(good) - note:
                with pytest.raises(StoreCorrupt, match="block 'a'"):
                    store["a"]
            else:
                assert store["a"] == b"block of some length" * 10


def test_each_length_of_a_torn_file(tmp_path):
    """The blocks before the cut are there, and what follows is gone: the next writer removes it."""
    made(tmp_path / "whole")
    (file,) = (tmp_path / "whole").glob("*.blocks")
    good, states = file.read_bytes(), []
    with BlockStore(tmp_path / "again") as again:
        again["one"] = b"older"
        for key, data in (("gone", b"deleted"), *BLOCKS.items(), ("gone", None)):
            states.append((again.statistics().disk, dict(again)))
            if data is None:
                del again[key]
            else:
                again[key] = data
        states.append((again.statistics().disk, dict(again)))
    for length in range(len(good)):
        folder = tmp_path / "cut"
        folder.mkdir()
        torn = folder / file.name
        torn.write_bytes(good[:length])
        (folder / (file.name.partition("-")[0] + ".keeps")).touch()  # its writer was killed
        expected = max(
            (state for state in states if state[0] <= length), key=lambda s: s[0], default=(0, {})
        )
        with BlockStore(folder, mode="r") as store:
            assert dict(store) == expected[1]
        if NIGHTLY or length % 6 == 0:  # a writer waits for the disk
            continued(folder, expected[1], length, torn)
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()


def continued(folder: Path, expected: dict[str, bytes], size: int, file: Path) -> None:
    """Write to a store after its writer was killed."""
    with BlockStore(folder) as store:
        assert dict(store) == expected
        assert store.statistics().torn == size - file.stat().st_size <= 400
        store["new"] = b"after"
    with BlockStore(folder) as store:
        assert dict(store) == expected | {"new": b"after"}
        assert store.statistics().torn == 0


def test_a_removed_range_puts_what_is_older_in_doubt(tmp_path):
    """Where nothing is known of a range, a newer block of any name may have been in it."""
    file = made(tmp_path)
    good = file.read_bytes()
    start, end = good.index(b"1" * 40) - 60, good.index(BLOCKS["two"]) + 120
    file.write_bytes(good[:start] + bytes(end - start) + good[end:])
    with BlockStore(tmp_path) as store:
        assert store.statistics().lost == 1
        for key in ("one", "three", "two", "another"):
            with pytest.raises(StoreCorrupt, match=r"bytes \d+ to \d+.*accept_losses"):
                store[key]
            with pytest.raises(StoreCorrupt):
                store.get(key)
            with pytest.raises(StoreCorrupt):
                key in store
        with pytest.raises(StoreCorrupt):
            del store["another"]
        store["one"] = b"new"
        del store["three"]
        assert store["one"] == b"new"
        store.compact()
        assert store.statistics().lost == 1 and file.exists()
    with BlockStore(tmp_path, accept_losses=True) as store:
        assert dict(store) == {"one": b"new", "four": BLOCKS["four"]}
        with pytest.raises(KeyError):
            store["two"]
        store.compact()
        assert not file.exists()
    with BlockStore(tmp_path) as store:
        assert dict(store) == {"one": b"new", "four": BLOCKS["four"]}


def test_a_damaged_block_is_replaced_or_deleted(tmp_path):
    file = made(tmp_path)
    good = file.read_bytes()
    for part in (b"1" * 40, BLOCKS["two"]):
        at = good.index(part)
        good = good[:at] + b"?" + good[at + 1 :]
    file.write_bytes(good)
    with BlockStore(tmp_path) as store:
        for key in ("one", "two"):
            with pytest.raises(StoreCorrupt, match="checksum"):
                store[key]
        store.compact()
        assert file.exists(), "a damaged block is no reason to lose it"
        store["one"] = b"new"
        del store["two"]
        store.compact()
        assert not file.exists()
        rest = {key: BLOCKS[key] for key in ("three", "four")}
        assert dict(store) == rest | {"one": b"new"}
    with BlockStore(tmp_path) as store:
        assert dict(store) == rest | {"one": b"new"}


def test_records_within_a_block_are_no_records(tmp_path):
    """The bytes of a block file as a block, whose own header is damaged."""
    inner = made(tmp_path / "inner").read_bytes()
    with BlockStore(tmp_path / "outer", "raw") as store:
        store["file"] = inner * 3
        store["last"] = b"1"
    (file,) = (tmp_path / "outer").glob("*.blocks")
    good = bytearray(file.read_bytes())
    good[8] ^= 1
    file.write_bytes(good)
    with BlockStore(tmp_path / "outer", mode="r") as store:
        assert sorted(store) == ["file", "last"] and store["last"] == b"1"
        with pytest.raises(StoreCorrupt, match="'file'"):
            store["file"]


def test_what_was_not_flushed_ends_at_its_first_damage(tmp_path):
    """As after a loss of power: later bytes of a file may be on disk, and earlier ones not."""
    store = BlockStore(tmp_path)
    store["a"] = b"flushed"
    store.flush()
    store["a"] = b"newer block"
    store["b"] = b"last"
    store._log.release()
    (file,) = tmp_path.glob("*.blocks")
    file.write_bytes(file.read_bytes().replace(b"newer block", bytes(11)))
    with BlockStore(tmp_path) as again:
        assert dict(again) == {"a": b"flushed"} and again.statistics().torn > 0
    with BlockStore(tmp_path) as again:
        assert dict(again) == {"a": b"flushed"} and again.statistics().torn == 0


def test_flushed_damage_is_an_error(tmp_path):
    store = BlockStore(tmp_path)
    store["a"] = b"older"
    store["a"] = b"newer block"
    store.flush()
    store._log.release()
    (file,) = tmp_path.glob("*.blocks")
    file.write_bytes(file.read_bytes().replace(b"newer block", bytes(11)))
    with BlockStore(tmp_path) as again:
        with pytest.raises(StoreCorrupt, match="checksum"):
            again["a"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"form": 1}'])
def test_unreadable_notes_of_folders(tmp_path, text):
    made(tmp_path)
    (tmp_path / "store.json").write_text(text)
    with pytest.raises(StoreCorrupt, match=r"store\.json"):
        BlockStore(tmp_path)


def test_another_form(tmp_path):
    made(tmp_path)
    (tmp_path / "store.json").write_text('{"form": 2}')
    with pytest.raises(StoreUnavailable, match="form 2"):
        BlockStore(tmp_path)
