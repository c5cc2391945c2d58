"""zarr's own tests of stores, on stores of blocks."""

from __future__ import annotations

import asyncio
import tempfile

import numpy as np
import pytest
import zarr
from hypothesis import settings
from tests.effort import examples
from zarr.core.buffer import cpu
from zarr.testing.stateful import ZarrHierarchyStateMachine, ZarrStoreStateMachine
from zarr.testing.store import StoreTests

from gridlane.memory.tiers import BlockStore
from gridlane.memory.tiers.zarr_store import ZarrStore


class TestZarrStore(StoreTests[ZarrStore, cpu.Buffer]):
    store_cls = ZarrStore
    buffer_cls = cpu.Buffer

    @pytest.fixture
    def store_kwargs(self, tmp_path):
        return {"paths": str(tmp_path)}

    @pytest.fixture
    def store(self, open_kwargs):
        store = asyncio.run(self.store_cls.open(**open_kwargs))
        yield store
        store.close()

    @pytest.fixture
    def store_not_open(self, store_kwargs):
        return self.store_cls(**store_kwargs)

    async def set(self, store, key, value):
        store.blocks.put(key, value.to_bytes())

    async def get(self, store, key):
        return self.buffer_cls.from_bytes(bytes(store.blocks[key]))

    def test_store_repr(self, store, tmp_path):
        assert str(store) == repr(store) == f"ZarrStore({str(tmp_path)!r})"

    def test_store_supports_writes(self, store):
        assert store.supports_writes

    def test_store_supports_listing(self, store):
        assert store.supports_listing


def stateful(machine):
    class Machine(machine):
        def __init__(self):
            self.folder = tempfile.TemporaryDirectory()
            super().__init__(ZarrStore(self.folder.name))

        def teardown(self):
            store = getattr(self.store, "store", self.store)
            kept = dict(store.blocks)
            store.close()
            with BlockStore(self.folder.name) as again:
                assert dict(again) == kept
            self.folder.cleanup()

    case = Machine.TestCase
    case.settings = settings(max_examples=examples(5, 200), stateful_step_count=20, deadline=None)
    return case


TestStateful = stateful(ZarrStoreStateMachine)
TestHierarchy = stateful(ZarrHierarchyStateMachine)


def test_arrays_of_two_processes_writers(tmp_path):
    """Two stores over one folder, as in two processes."""
    one, two = ZarrStore(tmp_path), ZarrStore(tmp_path)
    data = np.arange(10_000, dtype=np.float64).reshape(100, 100)
    array = zarr.create_array(one, name="a", shape=data.shape, chunks=(10, 100), dtype="f8")
    other = zarr.open_array(two, path="a")
    array[:50], other[50:] = data[:50], data[50:]
    assert np.array_equal(array[:], data) and np.array_equal(other[:], data)
    array[:] = -data
    assert np.array_equal(other[:], -data)
    one.close()
    two.close()
    assert np.array_equal(zarr.open_array(ZarrStore(tmp_path, read_only=True), path="a")[:], -data)
