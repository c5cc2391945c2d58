"""Clusters in kernels of Python: on the interpreter each block is one."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.running import cuda, launch, module_of, returned

from gridlane.core.errors import KernelError, TypingError
from gridlane.cuda import int32, uint32
from gridlane.frontends.python.stubs import (
    address_of,
    cluster_rank,
    cluster_size,
    cluster_sync,
    load_words_anywhere,
    peer_address,
    store_words_anywhere,
)


def test_a_block_is_a_cluster_of_its_own():
    def kernel(out):
        out[0] = cluster_rank()
        out[1] = cluster_size()

    assert returned(kernel, count=2).tolist() == [0, 1]


def test_memory_of_a_peer():
    def kernel(out):
        tile = cuda.shared.array(256, uint32)
        thread = cuda.threadIdx.x
        base = peer_address(tile, cluster_rank())
        store_words_anywhere(base + 16 * thread, thread, 7, thread + 1, 9)
        cluster_sync()
        a, b, c, d = load_words_anywhere(address_of(tile) + 16 * (63 - thread))
        out[thread] = a + 100 * b + 1000 * c + d + tile[4 * thread]

    out = np.zeros(64, np.int64)
    launch(kernel, 1, 64, out)
    other = 63 - np.arange(64)
    assert out.tolist() == (other + 700 + 1000 * (other + 1) + 9 + np.arange(64)).tolist()


def test_a_peer_that_there_is_not():
    def kernel(out):
        out[0] = int32(peer_address(cuda.shared.array(4, int32), 1))

    with pytest.raises(KernelError, match="no block 1: the launch asks for no clusters"):
        launch(kernel, 1, 1, np.zeros(1))


def test_refusals():
    def of_local(out):
        out[0] = peer_address(cuda.local.array(4, int32), 0)

    def by_float(out):
        out[0] = peer_address(cuda.shared.array(4, int32), 1.5)

    def of_number(out):
        out[0] = address_of(3)

    with pytest.raises(TypingError, match="takes an array, not int"):
        module_of(of_number, np.zeros(1))
    with pytest.raises(TypingError, match="takes a shared array"):
        module_of(of_local, np.zeros(1))
    with pytest.raises(TypingError, match="the rank of a block is an integer"):
        module_of(by_float, np.zeros(1))
