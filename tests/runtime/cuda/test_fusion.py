"""Fused launches on the driver: what is delayed, submitted, and recorded in graphs."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from cuda.bindings import driver

from gridlane import cuda
from gridlane.launch.fusion import Fusion, fused, recipes


def scale(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] * np.float32(2)


def names(machine):
    return [each.name for each in machine.launches]


def test_a_chain_is_one_launch_and_later_ones_need_no_python(machine, device):
    kernel = cuda.jit(scale)
    x, y = (cuda.to_device(np.ones(64, np.float32)) for _ in range(2))
    launch = kernel[2, 32]
    for _ in range(3):
        launch(x, y, 64)
    assert names(machine) == ["scale"] * 3
    for count in range(3, 6):
        with fused() as fusion:
            launch(x, y, 64)
            launch(y, x, 64)
            kernel[2, 32](x, y, 64)
            assert len(machine.launches) == count
        assert (fusion.launches, fusion.kernels) == (3, 1)
    assert names(machine)[3:] == ["fused_scale"] * 3
    for _ in range(3):
        launch(x, y, 64)
    assert names(machine)[6:] == ["scale"] * 3


def test_waits_copies_and_events_submit(machine, device):
    kernel, stream = cuda.jit(scale), cuda.stream()
    x, y = (cuda.to_device(np.ones(64, np.float32)) for _ in range(2))
    with fused():
        for count, submit in enumerate(
            (
                lambda: y.copy_to_host(),
                lambda: cuda.synchronize(),
                lambda: stream.synchronize(),
                lambda: cuda.event().record(stream),
                lambda: y.__cuda_array_interface__,
                lambda: x.copy_to_device(y),
            )
        ):
            kernel[2, 32, stream](x, y, 64)
            assert len(machine.launches) == count
            submit()
            stream.synchronize()
            assert len(machine.launches) == count + 1


def test_graphs_record_fused_kernels(machine, device):
    kernel, stream = cuda.jit(scale), cuda.stream()
    x, y = (cuda.to_device(np.ones(64, np.float32)) for _ in range(2))
    kernel[2, 32, stream](x, y, 64)
    stream.synchronize()
    with cuda.capture(stream, fused=True) as graph:
        kernel[2, 32, stream](x, y, 64)
        kernel[2, 32, stream](y, x, 64)
    assert len(graph) == 1 and "scale, scale: one kernel" in graph.explain()
    work = graph.instantiate()
    with fused():
        kernel[2, 32](x, y, 64)
        work.launch(stream)
    stream.synchronize()
    assert names(machine) == ["scale", "scale", "fused_scale"]


class Foreign:
    """An array in memory that the program has allocated by the driver."""

    def __init__(self, address):
        self.__cuda_array_interface__ = {
            "shape": (64,),
            "strides": None,
            "typestr": "<f4",
            "data": (address, False),
            "version": 3,
        }


def test_memory_of_others_is_written_on_return(machine, device):
    kernel = cuda.jit(scale)
    device.activate()
    address = int(driver.cuMemAlloc(256)[1])
    theirs, x = Foreign(address), cuda.to_device(np.ones(64, np.float32))
    view = cuda.as_cuda_array(theirs)[:32]
    with fused() as fusion:
        for count, array in enumerate((theirs, cuda.as_cuda_array(theirs), view), start=1):
            kernel[2, 32](x, array, 32)
            assert len(machine.launches) == count
        kernel[2, 32](x, x, 32)
        assert len(machine.launches) == 3
    assert "memory of the host or of a library" in fusion.explain()
    driver.cuMemFree(address)


def shift(x, y, by, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] + by


def known_block(launch):
    """A block of two launches that was submitted before, for a number."""
    x, y = (cuda.to_device(np.ones(64, np.float32)) for _ in range(2))

    def run(by):
        with fused() as fusion:
            launch(x, y, by, 64)
            launch(y, x, 2 * by, 64)
        return fusion

    for _ in range(3):
        run(1.0)
    return run


def test_a_block_that_is_one_native_kernel_again(machine, device, monkeypatch):
    run = known_block(cuda.jit(shift)[2, 32])
    count = len(machine.launches)
    monkeypatch.setattr(Fusion, "flush", lambda _: pytest.fail("it is known"))
    fusions = [run(by) for by in (2.0, 3.0)]
    assert [(each.launches, each.kernels) for each in fusions] == [(2, 1)] * 2
    assert "one kernel" in fusions[0].explain()
    two, three = [each.params for each in machine.launches[count:]]
    assert len(machine.launches) == count + 2 and len(two) == len(three)
    assert struct.pack("<d", 2.0) in two and struct.pack("<d", 4.0) in two
    assert struct.pack("<d", 3.0) in three and struct.pack("<d", 6.0) in three


def test_an_exception_at_the_end_of_a_known_block(machine, device, monkeypatch):
    """What a signal handler raises in front of the launch leaves it to be launched, once."""
    run = known_block(cuda.jit(shift)[2, 32])
    count, own, raised = len(machine.launches), recipes.Recipe.holds, []

    def holds(self):
        if not raised:
            raised.append(1)
            raise KeyboardInterrupt
        return own(self)

    monkeypatch.setattr(recipes.Recipe, "holds", holds)
    with pytest.raises(KeyboardInterrupt):
        run(5.0)
    assert len(machine.launches) == count + 1
    assert struct.pack("<d", 10.0) in machine.launches[-1].params
    run(6.0)
    assert len(machine.launches) == count + 2
