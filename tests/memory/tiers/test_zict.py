"""zict's own checks of mappings, and its layers over a store of blocks."""

from __future__ import annotations

import numpy as np
import zict
from zict.tests import utils_test

from gridlane.memory.tiers import BlockStore


def test_mapping(tmp_path):
    with BlockStore(tmp_path) as store:
        utils_test.check_mapping(store)


def test_temporary_mapping(tmp_path):
    with BlockStore(tmp_path, temporary=True) as store:
        utils_test.check_mapping(store)


def test_threads(tmp_path):
    with BlockStore(tmp_path, segment_bytes=5000) as store:
        utils_test.check_different_keys_threadsafe(store)
        utils_test.check_same_key_threadsafe(store)
        assert not store


def test_bad_keys(tmp_path):
    with BlockStore(tmp_path) as store:
        utils_test.check_bad_key_types(store)


def test_bad_values(tmp_path):
    with BlockStore(tmp_path) as store:
        utils_test.check_bad_value_types(store)


def test_buffer_over_a_store(tmp_path):
    """dask's way to spill: the newest arrays in memory, the others as bytes in the store."""
    store = BlockStore(tmp_path, temporary=True)
    slow = zict.Func(lambda array: array, lambda data: np.frombuffer(data, np.float32), store)
    fast: dict[str, np.ndarray] = {}
    buffer = zict.Buffer(fast, slow, n=5000, weight=lambda key, array: array.nbytes)
    arrays = {str(n): np.full(100 + n, n, np.float32) for n in range(40)}
    buffer.update(arrays)
    assert len(store) > 25 and len(buffer) == 40
    for key, array in arrays.items():
        assert np.array_equal(buffer[key], array)
    store.close()
