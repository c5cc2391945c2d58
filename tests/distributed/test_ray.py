"""Kernels and arrays in tasks and actors of Ray, which needs nothing of gridlane's: the processes
that send device arrays import ``gridlane.distributed``."""

from __future__ import annotations

import numpy as np
import pytest

from gridlane import cuda, xp
from gridlane.distributed import arrays

ray = pytest.importorskip("ray", reason="ray is not installed")


@pytest.fixture(scope="module")
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")  # no token in the user's home
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


def _adding(by):
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += by

    return kernel


def test_tasks(cluster):
    @ray.remote
    def task(kernel, array):

        arrays.register()  # which the import of gridlane.distributed has done
        own = cuda.to_device(array)
        kernel[1, 32](own)
        return own, xp.asarray([1, 2]) + 1

    array, lazy = ray.get(task.remote(_adding(5), cuda.to_device(np.arange(20)).copy_to_host()))
    assert array.copy_to_host().tolist() == [n + 5 for n in range(20)]
    assert np.asarray(lazy).tolist() == [2, 3]


def test_actors_keep_device_arrays(cluster):
    @ray.remote
    class Holder:
        def __init__(self, array):

            arrays.register()
            self.array = cuda.to_device(array.copy_to_host())

        def run(self, kernel):
            kernel[1, 32](self.array)
            return self.array

    holder, kernel = Holder.remote(cuda.to_device(np.arange(20))), _adding(3)
    once, twice = [ray.get(holder.run.remote(kernel)).copy_to_host() for _ in range(2)]
    assert once.tolist() == [n + 3 for n in range(20)] and twice.tolist() == (once + 3).tolist()


def test_shared_memory_is_read_only(cluster):
    """Ray's store maps its memory read-only: arrays that kernels may write to are copies."""
    reference = ray.put(cuda.to_device(np.arange(1 << 16)))
    one, other = ray.get(reference), ray.get(reference)
    _adding(1)[1 << 8, 1 << 8](one)
    assert one.copy_to_host()[3] == 4 and other.copy_to_host()[3] == 3
