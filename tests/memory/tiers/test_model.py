"""Arrays, views and writes under tiny quotas, against NumPy."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from tests.devices import DEVICES
from tests.effort import examples
from tests.memory.tiers.doubles import Device, MemoryStore

from gridlane.launch.devices import get_device
from gridlane.memory.tiers import Tiers, tiered

RECORD = np.dtype([("a", "<i4"), ("b", "<f8"), ("c", "u1", (3,)), ("d", "S2")])
DTYPES = [np.dtype(each) for each in ("<i4", "u1", "<f8", "<c16", ">i2", "M8[s]")] + [RECORD]
SIDES = st.integers(0, 9)


def bits(array):
    if array.dtype.names:  # what lies between the fields of a view is not its own
        return b"".join(bits(array[name]) for name in array.dtype.names)
    return np.ascontiguousarray(array).tobytes()


class Arrays(RuleBasedStateMachine):
    """Each array has a twin in NumPy; views are taken of both."""

    device_name = "double"

    @initialize(
        host=st.integers(1, 6),
        device=st.integers(1, 4),
        disk=st.booleans(),
        ahead=st.integers(0, 2),
        block=st.sampled_from([64, 100, 256]),
    )
    def start(self, host, device, disk, ahead, block):
        self.block = block
        self.store = MemoryStore() if disk else None
        # A record is 27 bytes, so each block has one at least. Without a disk all must fit.
        self.quota = host * block if self.store is not None else 1 << 20
        if self.device_name == "double":
            self.device = Device(limit=device * block)
        else:
            self.device = get_device(self.device_name)
        self.tiers = Tiers(self.quota, device * block, self.store, ahead=ahead)
        self.pairs = []

    def pick(self, data):
        return self.one_of(data, self.pairs)

    def one_of(self, data, items):
        """By its number, which reports show in place of the array."""
        return items[data.draw(st.integers(0, len(items) - 1))] if items else None

    @rule(shape=st.lists(SIDES, max_size=3), dtype=st.sampled_from(DTYPES))
    def make(self, shape, dtype):
        array = tiered(shape, dtype, self.tiers, self.block)
        twin = np.zeros(shape, dtype)
        assert (array.shape, array.dtype) == (twin.shape, twin.dtype)
        assert array.strides == twin.strides or not twin.size
        assert array.nbytes == twin.nbytes
        self.pairs.append((array, twin))

    @rule(data=st.data())
    def view(self, data):
        pair = self.pick(data)
        if pair is None:
            return
        array, twin = pair
        key = data.draw(npst.basic_indices(twin.shape, allow_newaxis=True, allow_ellipsis=True))
        part = twin[key]
        ours = array[key]
        if not isinstance(part, np.ndarray):
            assert bits(ours) == bits(part)
            return
        assert ours.shape == part.shape
        self.pairs.append((ours, part))

    @rule(data=st.data())
    def field(self, data):
        records = [pair for pair in self.pairs if pair[1].dtype.names]
        if records:
            array, twin = self.one_of(data, records)
            name = data.draw(st.sampled_from([*twin.dtype.names, [*twin.dtype.names[:2]]]))
            self.pairs.append((array[name], twin[name]))

    @rule(data=st.data())
    def turn(self, data):
        pair = self.pick(data)
        if pair is not None:
            self.pairs.append((pair[0].T, pair[1].T))

    @rule(data=st.data())
    def write(self, data):
        pair = self.pick(data)
        if pair is None:
            return
        array, twin = pair
        key = data.draw(npst.basic_indices(twin.shape, allow_newaxis=True, allow_ellipsis=True))
        shape = np.empty(twin.shape)[key].shape
        if shape and data.draw(st.booleans()):
            shape = tuple(1 if data.draw(st.booleans()) else each for each in shape)
        size = int(np.prod(shape)) * twin.dtype.itemsize
        fill = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
        value = np.frombuffer(fill.bytes(size), twin.dtype).reshape(shape)
        array[key] = value
        twin[key] = value

    @rule(data=st.data())
    def write_other(self, data):
        """A view of another array, or of the same one, which may overlap."""
        pair, source = self.pick(data), self.pick(data)
        if pair is None or pair[1].dtype != source[1].dtype:
            return
        try:
            pair[1].copy()[...] = source[1]
        except ValueError:
            with pytest.raises(ValueError, match="could not broadcast"):
                pair[0][...] = source[0]
            return
        pair[0][...] = source[0]
        pair[1][...] = source[1].copy()

    @rule(data=st.data(), write=st.booleans())
    def on_device(self, data, write):
        wholes = [pair for pair in self.pairs if pair[1].base is None and pair[1].size]
        if not wholes:
            return
        array, twin = self.one_of(data, wholes)
        block = self.one_of(data, [*array.blocks(prefetch=0)])
        flat = twin.reshape(-1)[block.start : block.stop]
        with block.on(self.device, write) as address:
            found = np.empty(block.nbytes, np.uint8)
            self.download(found, address)
            assert flat.tobytes() == found.tobytes()
            if write:
                new = np.arange(block.nbytes, dtype=np.uint8) + data.draw(st.integers(0, 255))
                new = new.astype(np.uint8)
                self.upload(address, new)
                flat[...] = new.view(twin.dtype)

    def download(self, out, address):
        if self.device_name == "double":
            out[:] = self.device.memory[address]
        else:
            self.device.download(out.data, address)

    def upload(self, address, data):
        if self.device_name == "double":
            self.device.memory[address][:] = data
        else:
            self.device.upload(address, data.data)

    @rule(data=st.data(), device=st.booleans())
    def prefetch(self, data, device):
        wholes = [pair for pair in self.pairs if pair[1].base is None]
        if wholes:
            for block in self.one_of(data, wholes)[0].blocks(prefetch=0):
                block.prefetch(self.device if device else None)
            self.tiers.wait()

    @rule(data=st.data())
    def on_host(self, data):
        wholes = [pair for pair in self.pairs if pair[1].base is None and pair[1].size]
        if wholes:
            array, twin = self.one_of(data, wholes)
            for block in array.blocks(prefetch=2):
                with block.on_host(write=block.index % 2 == 0) as elements:
                    flat = twin.reshape(-1)[block.start : block.stop]
                    assert bits(elements) == bits(flat)
                    if elements.flags.writeable:
                        elements[:] = elements[::-1].copy()
                        flat[:] = flat[::-1].copy()

    @rule(data=st.data())
    def forget(self, data):
        if self.pairs:
            del self.pairs[data.draw(st.integers(0, len(self.pairs) - 1))]

    @rule()
    def flush(self):
        if self.store is not None:
            for array, twin in self.pairs:
                if twin.base is None:
                    array.flush()

    @invariant()
    def same(self):
        for pair in getattr(self, "pairs", ())[-3:]:
            self.compare(*pair)

    @invariant()
    def within_quotas(self):
        if hasattr(self, "tiers"):
            facts = self.tiers.statistics()
            assert facts.host_used <= facts.host_peak <= self.quota
            assert facts.pinned == 0

    def teardown(self):
        if not hasattr(self, "tiers"):
            return
        if sys.exc_info()[1] is not None:  # a step has failed, whose frames have its arrays
            return
        try:
            while self.pairs:
                assert self.pairs[-1][0].shape == self.pairs[-1][1].shape
                self.compare(*self.pairs.pop())
            self.check_ends()
        finally:
            self.pairs.clear()
            self.tiers.close()

    def compare(self, array, twin):
        out = np.empty(twin.shape, twin.dtype)
        assert bits(array.copy_to_host(out)) == bits(twin)

    def check_ends(self):
        gc.collect()
        self.tiers.wait()
        facts = self.tiers.statistics()
        assert (facts.blocks, facts.host_used) == (0, 0), facts
        assert not any(facts.device_used.values())
        if self.device_name == "double":
            assert self.device.used == 0 and not self.device.memory
        assert self.store is None or not self.store.blocks


TestArrays = Arrays.TestCase
TestArrays.settings = settings(
    max_examples=examples(40, 1000), stateful_step_count=30, deadline=None
)


@pytest.mark.parametrize("name", [each for each in DEVICES if each != "interp"])
def test_on_devices(name):
    kind = type("OnDevice", (Arrays,), {"device_name": name})
    run_state_machine_as_test(
        kind, settings=settings(max_examples=examples(15, 200), stateful_step_count=20)
    )
