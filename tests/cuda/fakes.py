"""A device and a compiler that do nothing but write down what they are asked.

``Fakes.run`` is what a launch does, with the scalars of the parameter block by name.
"""

from __future__ import annotations

import ctypes
import struct
from types import SimpleNamespace

import numpy as np

from gridlane.core import argtypes
from gridlane.core.artifact import Artifact, ParamSlot
from gridlane.core.dtypes import i64
from gridlane.memory.host import HostResource
from gridlane.runtime.host_device import HostDevice, HostKernel
from gridlane.runtime.protocol import Limits


def slots_of(types):
    """ParamSlots as core/parameters.py lays them out, and the size of the block."""
    flat = []

    def add(n, type_, path):
        if isinstance(type_, argtypes.TupleType):
            for i, item in enumerate(type_.items):
                add(n, item, (*path, i))
        elif isinstance(type_, argtypes.ArrayType):
            flat.append((n, None, (*path, "data")))
            for what in ("shape", "strides"):
                flat.extend((n, i64, (*path, what, d)) for d in range(type_.ndim))
        elif isinstance(type_, argtypes.ComplexType):
            flat.append((n, type_.part, (*path, "real")))
            flat.append((n, type_.part, (*path, "imag")))
        elif isinstance(type_, argtypes.RecordType):
            flat.append((n, None, (*path, "record")))
        elif isinstance(type_, argtypes.EnumType):
            add(n, type_.number or argtypes.int64, path)
        elif isinstance(type_, argtypes.ScalarType):
            flat.append((n, type_.dtype, path))

    for n, type_ in enumerate(types):
        add(n, type_, ())
    slots, end = [], 0
    for n, dtype, path in flat:
        size = 8 if dtype is None else dtype.size
        offset = -(-end // size) * size
        slots.append(ParamSlot(f"p{len(slots)}", offset, dtype, n, path))
        end = offset + size
    return tuple(slots), end


def unpack(artifact, params):
    """{(argument, *path): value} of a parameter block."""
    values = {}
    assert len(params) == artifact.param_bytes
    for slot in artifact.params:
        if slot.dtype is None:
            value = struct.unpack_from("<Q", params, slot.offset)[0]
        else:
            value = np.frombuffer(params, slot.dtype.numpy, 1, slot.offset)[0]
        values[(slot.argument, *slot.path)] = value
    return values


class FakeDevice(HostDevice):
    name = "fake"
    limits = Limits()

    def __init__(self, host_visible=True):
        super().__init__(HostResource())
        self.host_visible = host_visible
        self.several_buffers = None
        self.run = lambda artifact, values, grid: None
        self.launches = []

    def copy(self, target, source, size):
        ctypes.memmove(target, source, size)

    def upload(self, target, source):
        ctypes.memmove(target, np.frombuffer(source, np.uint8).ctypes.data, source.nbytes)

    def download(self, target, source):
        ctypes.memmove(np.frombuffer(target, np.uint8).ctypes.data, source, target.nbytes)

    def fill(self, target, byte, size):
        ctypes.memset(target, byte, size)

    def load(self, artifact):
        return FakeKernel(self, artifact)

    def describe(self):
        return {"name": "fake device"}


class FakeKernel(HostKernel):
    def __init__(self, device, artifact):
        super().__init__(artifact)
        self.device = device

    def launch(self, params, gx, gy, gz, shared):
        values = unpack(self.artifact, params)
        self.device.launches.append((values, (gx, gy, gz), shared))
        self.device.run(self.artifact, values, (gx, gy, gz))


class FakeCompiler:
    """Stands for gridlane.compiler; kernels are never looked at."""

    def __init__(self):
        self.compiled = []

    def translate(self, source, types, options):
        return SimpleNamespace(static_shared=lambda: [], globals={}, functions={})

    def compile_kernel(self, source, types, options, target):
        self.compiled.append((source.name, types, target.block))
        slots, size = slots_of(types)
        return Artifact(target.name, "fake", b"", source.name, slots, size, block=target.block)


def view(values, argument, dtype, *path):
    """The array argument of a launch as a numpy array over its memory."""
    from gridlane.launch.geometry import view_of

    prefix = (argument, *path)
    shape = [int(v) for k, v in sorted(values.items()) if k[:-1] == (*prefix, "shape")]
    strides = [int(v) for k, v in sorted(values.items()) if k[:-1] == (*prefix, "strides")]
    address = int(values[(*prefix, "data")])
    return view_of(address, tuple(shape), tuple(strides), np.dtype(dtype), None)
