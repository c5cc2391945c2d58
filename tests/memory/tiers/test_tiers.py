"""Quotas, eviction, pins and the background, with doubles of the store and the device."""

from __future__ import annotations

import gc
import pickle
import threading

import numpy as np
import pytest
from tests.memory.tiers.doubles import Device, MemoryStore
from tests.waiting import until_blocked

from gridlane.memory.tiers import BlockInUse, SpillError, TierError, TierFull, Tiers, tiered

BLOCK = 256


def filled(tiers, blocks=4, dtype=np.uint8):
    array = tiered(blocks * BLOCK // np.dtype(dtype).itemsize, dtype, tiers, BLOCK)
    array[...] = np.arange(array.size) % 251
    return array


def right(array):
    return (array.copy_to_host(np.empty(array.shape, array.dtype)) == expected(array)).all()


def expected(array):
    return (np.arange(array.size) % 251).astype(array.dtype)


def nth(array, index):
    return [*array.blocks(prefetch=0)][index]


@pytest.mark.parametrize("host", [1, 2, 3, 100])
def test_memory_stays_within_the_quota_of_the_host(host):
    store = MemoryStore()
    tiers = Tiers(host * BLOCK, disk=store, ahead=0)
    array = filled(tiers, 8)
    assert right(array)
    facts = tiers.statistics()
    assert facts.host_used == facts.host_peak == min(host, 8) * BLOCK
    assert facts.to_disk == (8 * BLOCK if host < 8 else 0)
    assert right(array)
    assert tiers.statistics().to_disk == facts.to_disk  # a clean block is not written again
    assert store.nbytes == facts.to_disk


def test_memory_stays_within_the_quota_of_a_device():
    device = Device(limit=2 * BLOCK)
    tiers = Tiers(4 * BLOCK, 2 * BLOCK, MemoryStore(), ahead=0)
    array = filled(tiers, 8)
    for block in array.blocks():
        with block.on(device) as address:
            device.memory[address] += 1
    assert device.peak == 2 * BLOCK
    assert (array.copy_to_host(np.empty(array.shape, np.uint8)) == expected(array) + 1).all()


def test_zeros_take_no_memory():
    store = MemoryStore()
    tiers = Tiers(BLOCK, disk=store)
    array = tiered((1 << 40,), np.float64, tiers, 1 << 36)
    assert not np.any(array[5 : 1 << 20 : 1000].copy_to_host(np.empty(1049, np.float64))[:10])
    assert (tiers.statistics().host_used, store.nbytes) == (0, 0)


def test_a_used_block_gets_a_second_chance():
    tiers = Tiers(3 * BLOCK, disk=MemoryStore(), ahead=0)
    array = filled(tiers, 6)
    blocks = [*array.blocks(prefetch=0)]
    for each in blocks[:3]:
        with each.on_host():
            pass
    with blocks[3].on_host():  # the clock clears all and evicts the first
        pass
    with blocks[1].on_host():
        pass
    before = tiers.statistics()
    with blocks[4].on_host():  # block 2 goes, as block 1 was used
        pass
    with blocks[1].on_host():
        pass
    after = tiers.statistics()
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 1)


def test_no_room_is_an_error_with_the_bytes():
    tiers = Tiers(2 * BLOCK, disk=MemoryStore())
    array = filled(tiers, 4)
    blocks = [*array.blocks(prefetch=0)]
    with blocks[0].on_host(), blocks[1].on_host(), pytest.raises(TierFull) as error:
        blocks[2].on_host().__enter__()
    error = error.value
    assert (error.needed, error.pinned, error.allowed) == (BLOCK, 2 * BLOCK, 2 * BLOCK)
    assert "256 bytes are needed in the tier host, where 512 of the 512" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert right(array)


def test_without_a_disk_what_does_not_fit_is_refused():
    tiers = Tiers(2 * BLOCK)
    array = tiered(3 * BLOCK, np.uint8, tiers, BLOCK)
    with pytest.raises(TierFull, match="add a disk"):
        array[...] = 1
    assert array.copy_to_host(np.empty(3 * BLOCK, np.uint8)).sum() == 2 * BLOCK
    with pytest.raises(TierError, match="no disk"):
        array.flush()


def test_reading_more_than_the_quota_at_once_is_refused():
    tiers = Tiers(2 * BLOCK, disk=MemoryStore())
    array = filled(tiers, 3)
    with pytest.raises(TierFull, match="768 bytes"):
        np.asarray(array)
    assert (np.asarray(array[: 2 * BLOCK]) == expected(array)[: 2 * BLOCK]).all()


@pytest.mark.parametrize("write", [(True, False), (False, True), (True, True)])
def test_pins_of_two_tiers_exclude_writes(write):
    tiers, device = Tiers(4 * BLOCK, 4 * BLOCK), Device()
    block = nth(filled(tiers), 0)
    first, second = write
    with block.on(device, write=first), pytest.raises(BlockInUse, match="tier device double"):
        block.on_host(write=second).__enter__()
    with block.on_host(write=first), pytest.raises(BlockInUse, match="tier host"):
        block.on(device, write=second).__enter__()
    with block.on(device, write=False), block.on_host() as elements:
        assert elements[5] == 5


def test_a_block_is_on_one_device_at_a_time():
    tiers = Tiers(4 * BLOCK, 4 * BLOCK)
    one, two = Device(name="one"), Device(name="two")
    array = filled(tiers)
    block = nth(array, 1)
    with block.on(one) as address:
        one.memory[address][:] = 9
        with pytest.raises(BlockInUse, match="another device"):
            block.on(two, write=False).__enter__()
    with block.on(two, write=False) as address:
        assert (two.memory[address] == 9).all()
    assert one.used == 0
    assert (np.asarray(array[BLOCK : 2 * BLOCK]) == 9).all()


def test_a_copy_waits_for_the_work_on_its_device():
    store, device = MemoryStore(), Device(inline=False)
    tiers = Tiers(4 * BLOCK, BLOCK, store)
    array = filled(tiers)
    busy = device.default_stream.busy = threading.Event()
    with nth(array, 0).on(device) as address:
        memory = device.memory[address]
    device.default_stream.busy = None
    thread = threading.Thread(target=nth(array, 1).on(device, write=False).__enter__)
    thread.start()
    until_blocked(thread)
    assert device.used == BLOCK  # the first block is there: a kernel uses it
    memory[:] = 77
    busy.set()
    thread.join()
    assert (np.asarray(array[:BLOCK]) == 77).all()


def test_pinned_elements_are_read_only_unless_written():
    array = filled(Tiers(4 * BLOCK))
    with nth(array, 0).on_host() as elements, pytest.raises(ValueError, match="read-only"):
        elements[0] = 1
    with nth(array, 0).on_host(write=True) as elements:
        elements[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        elements[0] = 2
    assert array[0] == 1


def test_a_prefetched_block_is_a_hit():
    store, device = MemoryStore(), Device()
    tiers = Tiers(3 * BLOCK, 2 * BLOCK, store, ahead=0)
    array = filled(tiers, 8)
    nth(array, 0).prefetch()
    nth(array, 1).prefetch(device)
    tiers.wait()
    before = tiers.statistics()
    with nth(array, 0).on_host() as elements, nth(array, 1).on(device) as address:
        assert (elements == expected(array)[:BLOCK]).all()
        assert (device.memory[address] == expected(array)[BLOCK : 2 * BLOCK]).all()
    after = tiers.statistics()
    assert after.hits - before.hits == 2 and after.misses == before.misses
    assert after.prefetched == 2


def test_dirty_blocks_are_written_ahead():
    store = MemoryStore()
    tiers = Tiers(4 * BLOCK, disk=store, ahead=2)
    array = filled(tiers, 12)
    tiers.wait()
    facts = tiers.statistics()
    assert facts.cleaned > 0 and right(array)


def test_a_failed_prefetch_is_raised_at_the_use_of_its_block_alone():
    store = MemoryStore()
    tiers = Tiers(BLOCK, disk=store, ahead=0)
    array, other = filled(tiers, 4), filled(tiers, 1)
    store.fails = lambda number: store.calls[-1] == "read"
    nth(array, 2).prefetch()
    tiers.wait()
    store.fails = lambda number: False
    assert right(other) and right(array[:BLOCK])
    with pytest.raises(OSError, match="read is call"):
        np.asarray(array[2 * BLOCK : 3 * BLOCK])
    assert (np.asarray(array[2 * BLOCK : 3 * BLOCK]) == expected(array)[2 * BLOCK :][:BLOCK]).all()


def test_two_threads_that_need_a_block_read_it_once():
    store = MemoryStore()
    tiers = Tiers(2 * BLOCK, disk=store, ahead=0)
    array = filled(tiers, 8)
    entered, gate = threading.Event(), threading.Event()

    def hold(name):
        if name == "read":
            entered.set()
            assert gate.wait(60)

    store.gate, before = hold, store.calls.count("read")
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(right(array[:BLOCK]))) for _ in range(5)
    ]
    for each in threads:
        each.start()
    assert entered.wait(60)
    until_blocked(*threads)
    # The lock is not held meanwhile: other blocks are used.
    with nth(array, 7).on_host() as elements:
        assert elements[0] == 7 * BLOCK % 251
    gate.set()
    for each in threads:
        each.join()
    assert found == [True] * 5
    assert store.calls.count("read") - before == 1


@pytest.mark.parametrize("collected", [True, False])
def test_all_bytes_return(collected):
    store, device = MemoryStore(), Device()
    tiers = Tiers(2 * BLOCK, 2 * BLOCK, store)
    array = filled(tiers, 6)
    for block in array.blocks():
        with block.on(device):
            pass
    view = array[5::7]
    if collected:
        del array, block
        gc.collect()
        assert tiers.statistics().blocks == 6  # the view has them
        del view
        gc.collect()
    else:
        array.close()
        for each in (view, array, array[3:4]):
            with pytest.raises(TierError, match="closed"):
                each[...] = 1
            with pytest.raises(TierError, match="closed"):
                np.asarray(each[:1])
        array.close()
    tiers.wait()
    facts = tiers.statistics()
    assert (facts.blocks, facts.host_used, facts.device_used) == (0, 0, {"double": 0})
    assert not store.blocks and not device.memory
    tiers.close()


def test_closed_tiers_free_all_and_refuse():
    store, device = MemoryStore(), Device()
    tiers = Tiers(2 * BLOCK, BLOCK, store)
    array = filled(tiers, 5)
    with nth(array, 0).on(device), pytest.raises(BlockInUse):
        tiers.close()
    tiers.close()
    assert not store.blocks and not device.memory
    with pytest.raises(TierError, match="closed"):
        np.asarray(array[:3])
    with pytest.raises(TierError, match="closed"):
        tiered(3, np.uint8, tiers)
    tiers.close()


def test_a_block_that_was_not_deleted_is_reported():
    store = MemoryStore()
    tiers = Tiers(BLOCK, disk=store, ahead=0)
    array = filled(tiers, 3)
    store.fails = lambda number: store.calls[-1] == "delete"
    array.close()
    assert tiers.statistics().undeleted == 2
    with pytest.raises(OSError, match="delete is call"):
        tiers.close()
    store.fails = lambda number: False
    tiers.close()
    assert not store.blocks


def test_flush_writes_what_the_disk_lacks():
    store, device = MemoryStore(), Device()
    tiers = Tiers(8 * BLOCK, 8 * BLOCK, store, ahead=0)
    array = filled(tiers, 3)
    with nth(array, 1).on(device) as address:
        device.memory[address][:] = 3
    with nth(array, 0).on_host(write=True), pytest.raises(BlockInUse):
        array.flush()
    array.flush()
    parts = sorted(store.flushed.items(), key=lambda item: int(item[0].rpartition("-")[2]))
    flushed = np.frombuffer(b"".join(data for _, data in parts), np.uint8)
    assert (flushed == np.asarray(array)).all() and (flushed[BLOCK : 2 * BLOCK] == 3).all()
    calls = store.calls.count("put")
    array.flush()
    assert store.calls.count("put") == calls


def test_sixteen_threads():
    store, device = MemoryStore(), Device(limit=6 * BLOCK)
    tiers = Tiers(6 * BLOCK, 6 * BLOCK, store)
    array = tiered((16, 5 * BLOCK // 8), np.int64, tiers, BLOCK)
    errors = []

    def work(number):
        fill = np.random.default_rng(number)
        twin = np.zeros(array.shape[1], np.int64)
        try:
            for step in range(60):
                begin, end = sorted(fill.integers(0, twin.size + 1, 2))
                if step % 3:
                    array[number, begin:end] = twin[begin:end] = fill.integers(0, 99, end - begin)
                part = np.empty(end - begin, np.int64)
                assert (array[number, begin:end].copy_to_host(part) == twin[begin:end]).all()
                place = number * 5 + int(fill.integers(5))
                if step % 5 == 0:
                    array_block = blocks[place]
                    try:
                        with array_block.on(device, write=True) as address:
                            device.memory[address].view(np.int64)[:] += 1
                    except TierFull:  # others have pinned all of it
                        continue
                    begin = place % 5 * (BLOCK // 8)
                    twin[begin : begin + BLOCK // 8] += 1
        except BaseException as error:
            errors.append(error)
        twins[number] = twin

    blocks, twins = [*array.blocks(prefetch=0)], {}
    threads = [threading.Thread(target=work, args=[number]) for number in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors, errors
    out = array.copy_to_host(np.empty(array.shape, np.int64))
    assert all((out[number] == twins[number]).all() for number in twins)
    facts = tiers.statistics()
    assert facts.host_peak <= 6 * BLOCK and facts.pinned == 0
    assert device.peak <= 6 * BLOCK


def test_an_error_of_a_device_leaves_the_block():
    device = Device()
    tiers = Tiers(2 * BLOCK, BLOCK, MemoryStore(), ahead=0)
    array = filled(tiers, 4)
    for number in range(40):
        device.fails = lambda call, number=number: call == number
        try:
            for block in array.blocks(prefetch=0):
                with block.on(device) as address:
                    device.memory[address] += 0
        except (OSError, SpillError):
            pass
        device.fails = lambda call: False
        assert right(array)
    assert tiers.statistics().pinned == 0


def test_no_quota_for_devices_is_refused():
    with pytest.raises(TierError, match="no quota for the device double"):
        nth(filled(Tiers("1KiB")), 0).on(Device()).__enter__()


def test_bad_arguments():
    tiers = Tiers("1KiB")
    with pytest.raises(TypeError, match="objects"):
        tiered(3, object, tiers)
    with pytest.raises(TypeError, match="bytes"):
        tiered(3, "S0", tiers)
    with pytest.raises(ValueError, match="negative"):
        tiered((3, -1), np.int32, tiers)
    with pytest.raises(ValueError, match="at least one"):
        tiered(3, np.int32, tiers, block_bytes=0)
    with pytest.raises(ValueError, match="no size"):
        Tiers("1 mebi")
    with pytest.raises(ValueError, match="fewer"):
        Tiers(-1)
    with pytest.raises(ValueError, match="fewer"):
        Tiers(1, ahead=-1)
    array = tiered((3, 4), np.int32, tiers)
    for key in [3, (0, 4), (0, 0, 0), (..., ...), "a", np.array([1]), True, 1.5]:
        with pytest.raises(IndexError):
            array[key]
    with pytest.raises(ValueError, match="broadcast"):
        array[...] = np.zeros((2, 3))
    with pytest.raises(OverflowError):
        tiered(3, np.uint8, tiers)[...] = 300
    with pytest.raises(TypeError, match="not compared"):
        array == array
    with pytest.raises(ValueError, match="ambiguous"):
        bool(array)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(array)
    with pytest.raises(ValueError, match="whole"):
        [*array[1:].blocks()]
    with pytest.raises(ValueError, match="without a copy"):
        array[:, 1:].reshape(-1)


def test_an_element_larger_than_a_block_is_one():
    array = tiered(3, "V1000", Tiers("1MiB"), 100)
    assert array.block_bytes == 1000
    array[1] = np.void(b"x" * 1000)
    assert bytes(array[1]) == b"x" * 1000 and bytes(array[2]) == bytes(1000)


def test_a_reshaped_view_shares_the_blocks():
    tiers = Tiers("1MiB")
    array = tiered((4, 6), np.int32, tiers, 32)
    array[...] = np.arange(24).reshape(4, 6)
    array[2:].reshape(3, -1)[1] = -1
    assert (np.asarray(array)[2:].reshape(-1)[4:8] == -1).all()
    assert [int(each.copy_to_host().sum()) for each in array[:2]] == [15, 51]
    assert len(array) == 4 and array.ndim == 2 and repr(array).startswith("<TieredArray of shape")


def test_a_prefetch_of_a_block_that_is_written_elsewhere_does_nothing():
    device = Device(limit=BLOCK)
    tiers = Tiers(4 * BLOCK, BLOCK, MemoryStore(), ahead=0)
    array = filled(tiers, 1)
    with nth(array, 0).on(device):
        nth(array, 0).prefetch()
        tiers.background.wait()
    assert right(array)


@pytest.mark.parametrize("disk", ["a folder", ("a folder", 1 << 20), {}])
def test_a_disk_that_is_no_store_is_refused(disk):
    with pytest.raises(TypeError, match=r"(?s)store of blocks.*BlockStore\("):
        Tiers(4 * BLOCK, disk=disk)
