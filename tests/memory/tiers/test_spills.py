"""Tiered arrays with real files as their disk."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from gridlane.memory.tiers import BlockStore, SpillError, StoreCorrupt, Tiers, tiered

BLOCK = 1 << 12


def bytes_of(folder):
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


@pytest.mark.parametrize("codec", ["raw", "lz4"])
def test_an_array_larger_than_the_host_is_in_files(tmp_path, codec):
    with BlockStore(tmp_path, codec, temporary=True) as store:
        tiers = Tiers(4 * BLOCK, disk=store)
        array = tiered((32, BLOCK // 8), np.float64, tiers, BLOCK)
        data = np.random.default_rng(3).normal(size=array.shape).round(1)
        array[...] = data
        tiers.wait()
        assert len(store) >= 28 and bytes_of(tmp_path) > 0
        for _ in range(3):
            array[::2] = array[1::2]
            data[::2] = data[1::2]
            assert (array.copy_to_host(np.empty(array.shape)) == data).all()
        del array
        gc.collect()
        tiers.wait()
        assert not len(store)
        tiers.close()
    assert not bytes_of(tmp_path)


def test_flushed_blocks_are_in_the_files_of_a_kept_store(tmp_path):
    with BlockStore(tmp_path, "raw") as store:
        array = tiered(3 * BLOCK, np.uint8, Tiers(8 * BLOCK, disk=store), BLOCK)
        array[...] = np.arange(array.size) % 199
        array.flush()
        with BlockStore(tmp_path, mode="r") as reader:
            keys = sorted(reader, key=lambda key: int(key.rpartition("-")[2]))
            flushed = b"".join(bytes(reader.read(key)) for key in keys)
        assert (np.frombuffer(flushed, np.uint8) == np.asarray(array)).all()
        array.close()


def test_a_full_disk_is_an_error_and_nothing_is_lost(tmp_path):
    with BlockStore((tmp_path, 8 * BLOCK), "raw", temporary=True) as store:
        tiers = Tiers(2 * BLOCK, disk=store, ahead=0)
        other = tiered(4 * BLOCK, np.uint8, tiers, BLOCK)
        other[...] = 5
        array = tiered(40 * BLOCK, np.uint8, tiers, BLOCK)
        written = 0
        with pytest.raises(SpillError, match="cannot leave the tier host"):
            for block in array.blocks(prefetch=0):
                with block.on_host(write=True) as elements:
                    elements[:] = block.index + 1
                    written = block.stop
        assert 3 * BLOCK <= written <= 10 * BLOCK
        other.close()  # its blocks on disk make room
        for begin in range(0, written, BLOCK):
            with array_block(array, begin).on_host() as elements:
                assert (elements == begin // BLOCK + 1).all()
        array.close()
        other = tiered(4 * BLOCK, np.uint8, tiers, BLOCK)
        other[...] = 6
        assert (other.copy_to_host(np.empty(other.shape, np.uint8)) == 6).all()


def array_block(array, begin):
    return [*array.blocks(prefetch=0)][begin // BLOCK]


def test_a_flipped_byte_is_an_error_of_its_block_alone(tmp_path):
    with BlockStore(tmp_path, "raw") as store:
        tiers = Tiers(BLOCK, disk=store, ahead=0)
        array = tiered(6 * BLOCK, np.uint8, tiers, BLOCK)
        for index in range(6):
            array[index * BLOCK : (index + 1) * BLOCK] = index + 1
        array.flush()
        (file,) = tmp_path.glob("*.blocks")
        with open(file, "r+b") as opened:
            place = opened.read().index(bytes([2]) * BLOCK)
            opened.seek(place + 100)
            opened.write(b"\xff")
        for index in range(6):
            part = array[index * BLOCK : (index + 1) * BLOCK]
            if index == 1:
                with pytest.raises(StoreCorrupt):
                    np.asarray(part)
            else:
                assert (np.asarray(part) == index + 1).all()
        array[BLOCK : 2 * BLOCK] = 9  # a block that is wholly replaced is not read
        assert (np.asarray(array[BLOCK : 2 * BLOCK]) == 9).all()
        array.close()
