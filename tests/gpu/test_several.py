"""Several GPUs in one process."""

from __future__ import annotations

import pytest
from tests.gpu import programs

HEAD = """
import threading
import numpy as np
from gridlane import cuda
from gridlane.core.errors import DeviceError

@cuda.jit
def add(x, value):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += value

def on_each():
    for number in (0, 1):
        cuda.select_device(number)
        yield number

arrays = [cuda.to_device(np.zeros(1000)) for _ in on_each()]
"""


@pytest.fixture
def run(tmp_path):
    """A function that runs a program with an array on each of two GPUs."""
    counted = "from gridlane import cuda\nprint(len(cuda.gpus))\n"
    if int(programs.run(tmp_path, counted)) < 2:
        pytest.skip("there is one GPU")

    def run_program(body: str) -> str:
        import textwrap

        return programs.run(tmp_path, HEAD + textwrap.dedent(body))

    return run_program


def test_launches_go_to_the_selected_one(run):
    run("""
        for turn in range(3):
            for number in on_each():
                for _ in range(3):
                    add[4, 256](arrays[number], number + 1.0)
                cuda.synchronize()
        for number in on_each():
            assert (arrays[number].copy_to_host() == 9 * (number + 1)).all()
    """)


def test_threads_have_devices_of_their_own(run):
    run("""
        def work(number):
            cuda.select_device(number)
            for _ in range(200):
                add[4, 256](arrays[number], 1.0)
            cuda.synchronize()

        threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all((array.copy_to_host() == 200).all() for array in arrays)
    """)


def test_another_library_changes_the_current_context(run):
    run("""
        from cuda.bindings import driver

        cuda.select_device(0)
        add[4, 256](arrays[0], 1.0)
        _, other = driver.cuDevicePrimaryCtxRetain(1)
        assert int(driver.cuCtxSetCurrent(other)[0]) == 0
        add[4, 256](arrays[0], 1.0)
        cuda.synchronize()
        assert (arrays[0].copy_to_host() == 2).all() and not arrays[1].copy_to_host().any()
    """)


def test_copies_between_devices(run):
    run("""
        for number in on_each():
            arrays[number].copy_to_device(np.full(1000, number + 1.0))
        cuda.select_device(0)
        arrays[0].copy_to_device(arrays[1])
        assert (arrays[0].copy_to_host() == 2).all()
        cuda.select_device(1)
        assert (arrays[0].copy_to_host() == 2).all()
    """)


def test_kernels_use_a_peers_memory(run):
    run("""
        cuda.select_device(1)
        here = cuda.current_context()
        if not here.can_access_peer(0):
            try:
                here.enable_peer_access(0)
            except DeviceError as error:
                assert error.number == 217
            raise SystemExit
        here.enable_peer_access(0)
        try:
            here.enable_peer_access(0)
        except DeviceError as error:
            assert error.number == 704
        else:
            raise AssertionError("enabled twice")
        add[4, 256](arrays[0], 5.0)
        cuda.synchronize()
        assert (arrays[0].copy_to_host() == 5).all()
    """)
