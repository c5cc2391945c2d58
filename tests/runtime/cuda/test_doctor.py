"""How far ``gridlane doctor`` gets with a GPU: the steps of its probe, on the fake driver."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from gridlane import cuda
from gridlane.cli import probe
from gridlane.core.errors import DeviceError


@pytest.fixture
def ladder(machine, monkeypatch):
    """The steps, in order, by name. Kernels do nothing unless told."""
    # What was compiled for the machine of another test is of no use on this one.
    monkeypatch.setattr(probe, "sample", cuda.jit(probe.sample.py_func))
    climber = probe.Probe("cuda")
    return {name: getattr(climber, name) for name in probe.STEPS}


def compute(ran):
    """What the sample kernel does, by the bytes of its parameters."""
    _, size, _, out, _, _, total, _, _ = struct.unpack("<9q", ran.params)
    assert (size, ran.grid, ran.block) == (probe.SIZE, (2, 1, 1), (probe.THREADS, 1, 1))
    wanted, count = probe.expected()
    np.frombuffer((ctypes.c_float * size).from_address(out), np.float32)[:] = wanted
    ctypes.c_int32.from_address(total).value += count // probe.LAUNCHES


def test_a_gpu_that_works(machine, ladder):
    machine.on_launch("*", compute)
    said = {name: step() for name, step in ladder.items()}
    assert said["compiled"].endswith(" bytes of ptx")
    assert said["initialised"] == (
        "Fake GPU 0, compute capability 9.0, 4 multiprocessors, 64 MiB, driver for CUDA 13.0"
    )
    assert len(machine.launches) == probe.LAUNCHES


def test_a_gpu_whose_later_launches_do_nothing(machine, ladder):
    """As a defect of the C extension would be."""
    launches = iter([compute, lambda ran: None])
    machine.on_launch("*", lambda ran: next(launches)(ran))
    for name in probe.STEPS[:-1]:
        ladder[name]()
    with pytest.raises(ArithmeticError, match="atomic sum"):
        ladder["verified"]()


def test_no_gpu(machine, ladder):
    machine.reset(devices=0)
    ladder["compiled"]()
    with pytest.raises(DeviceError, match="CUDA_ERROR_NO_DEVICE"):
        ladder["available"]()


def test_a_gpu_without_memory(machine, ladder):
    machine.reset(memory=100)
    ladder["available"]()
    with pytest.raises(DeviceError, match="OUT_OF_MEMORY"):
        ladder["initialised"]()
