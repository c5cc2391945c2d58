"""Texture and surface objects: records in device memory, whose addresses are their handles."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Literal

from gridlane.abi.failure import INVALID_VALUE, fail
from gridlane.abi.state import memory
from gridlane.abi.state.arrays import Array, Mipmapped
from gridlane.abi.state.contexts import Context
from gridlane.core.texture_record import Geometry, Level, Record
from gridlane.memory.resource import Buffer
from gridlane.runtime.protocol import Device
from gridlane.textures.formats import ChannelFormatDescriptor
from gridlane.textures.records import linear_level

ObjectKind = Literal["texture", "surface"]


@dataclass(frozen=True, slots=True)
class Resource:
    """The memory of a texture or surface.

    Attributes:
        array: or ``levels``; both None for linear memory at ``address``.
        size: bytes of linear memory; 0 for rows, which have ``width``, ``height`` and ``pitch``.
    """

    form: ChannelFormatDescriptor
    array: Array | None = None
    levels: Mipmapped | None = None
    address: int = 0
    size: int = 0
    width: int = 0
    height: int = 0
    pitch: int = 0

    def content(self) -> tuple[Geometry, list[Level], int]:
        """The geometry, the levels, and how many layers they have.

        Raises:
            ArgumentError: linear memory has too many texels.
        """
        if self.levels is not None:
            first = self.levels.levels[0]
            return first.geometry, [each.level() for each in self.levels.levels], first.layers
        if self.array is not None:
            return self.array.geometry, [self.array.level()], self.array.layers
        if self.size:
            return Geometry.LINEAR, [linear_level(self.form, self.address, self.size)], 1
        return Geometry.TWO, [Level(self.address, self.width, self.height, 1, self.pitch)], 1


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a texture is read, as programs say it.

    Attributes:
        modes: of each axis; ``filter``: point or linear; ``levels``: the same between levels.
        as_numbers: whether integers are read as floats up to 1.
        unoptimised: whether filters between levels are exact; they always are.
    """

    modes: tuple[int, int, int]
    filter: int
    as_numbers: bool
    srgb: bool
    normalized: bool
    anisotropy: int
    levels: int
    bias: float
    lowest: float
    highest: float
    border: tuple[float, float, float, float]
    unoptimised: bool = False


@dataclass(slots=True, eq=False)
class Object:
    """A texture or surface.

    Attributes:
        handle: the address of its record.
        view: the bytes of the view that a program gave.
    """

    kind: ObjectKind
    context: Context
    record: Buffer = field(repr=False)
    resource: Resource
    sampling: Sampling | None = None
    view: bytes = b""

    @property
    def handle(self) -> int:
        """The number that kernels take."""
        return self.record.address


_lock = threading.Lock()
_objects: dict[tuple[Device, int], Object] = {}


def create(
    context: Context,
    record: Record,
    kind: ObjectKind,
    resource: Resource,
    sampling: Sampling | None = None,
    view: bytes = b"",
) -> Object:
    """Create an object, which ends with its context.

    Raises:
        DeviceError: OUT_OF_MEMORY.
    """
    device, data = context.device, record.packed()
    buffer = device.allocate(len(data))
    memory.hidden.add(buffer)
    device.upload(buffer.address, memoryview(data))
    device.default_stream.synchronize()  # before launches on any other stream
    result = Object(kind, context, buffer, resource, sampling, view)
    with _lock:
        _objects[device, result.handle] = result
        if "textures" not in context.kept:
            context.kept["textures"] = set[int]()
            context.ends.append(lambda: _end(context))
        context.kept["textures"].add(result.handle)
    return result


def _end(context: Context) -> None:
    with _lock:
        for handle in context.kept["textures"]:
            _objects.pop((context.device, handle), None)


def find(kind: ObjectKind, handle: int, context: Context) -> Object:
    """An object by its handle.

    Raises:
        Failure: INVALID_VALUE, there is none of this kind on the context's device.
    """
    known = _objects.get((context.device, handle))
    if known is None or known.kind != kind:
        fail(INVALID_VALUE, f"{handle:#x} is no {kind} object of the device {context.device.name}")
    known.context.check()
    return known


def destroy(ending: Object) -> None:
    """End an object after the work that may use it. Kernels that have its handle of elsewhere
    report an error while its memory is not another's."""
    device = ending.context.device
    ending.context.finish()
    with _lock:
        if _objects.pop((device, ending.handle), None) is None:
            fail(INVALID_VALUE, f"{ending.handle:#x} was destroyed")
        ending.context.kept["textures"].discard(ending.handle)
    device.fill(ending.handle, 0, ending.record.size)
