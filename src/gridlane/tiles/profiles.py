"""The profile of a launch that was checked, by which the next one like it is native; see
launch/launcher_tiles.py."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gridlane.core import argtypes, trace
from gridlane.core.argtypes import ArgType
from gridlane.core.config import config
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.cuda.kernels.routes import ROUTES
from gridlane.frontends.triton.context import is_builtin
from gridlane.frontends.triton.functions import ConstexprFunction, TileFunction
from gridlane.frontends.triton.types import dtype
from gridlane.launch.dimensions import ALONE
from gridlane.launch.geometry import address_of
from gridlane.launch.launcher import Launcher, block_of, query_captures
from gridlane.launch.launcher_tensor_maps import maps_of
from gridlane.launch.launcher_tiles import (
    CONSTANT,
    CONTIGUOUS,
    FIT,
    HOST,
    IN_PLACE,
    OWN,
    PARTS,
    TENSOR,
    WHOLE,
)
from gridlane.launch.matchers import Matcher, matcher_of_number
from gridlane.launch.packing import Packer
from gridlane.launch.parameters import Piece
from gridlane.launch.plan import Plan
from gridlane.tiles.arguments import ALIGNMENT, Described, Parameter, TuplePart
from gridlane.tiles.descriptors import TensorDescriptor
from gridlane.tiles.launching import UNSET
from gridlane.tiles.streams import Handles, stream_at
from gridlane.tiles.wrappers import TensorWrapper

_FIXED = frozenset((bool, int, float, str, type(None)))
_SINGLE = dtype, TileFunction, ConstexprFunction, enum.Enum
"""Classes of constants that are the same where they are the same object."""
_OF_TENSORS = ("dtype", "is_cpu", "is_cuda", "is_neg", "data_ptr")
_RANGES: dict[ArgType, tuple[int, int]] = {
    argtypes.int32: (-(2**31), 2**31 - 1),
    argtypes.int64: (2**31, 2**63 - 1),
}
_ANY = -(2**63), 2**63 - 1


class _NotNative(Exception):
    """An argument has no matcher."""


class Checked(NamedTuple):
    """A launch that was checked.

    Attributes:
        values: the arguments of all parameters, as the caller passes them.
        described: what code depends on of each.
        parameters: those of the function.
        options: the values of the options, UNSET for those that are not given.
        params: the parameter block.
        result: of the call.
        handles: returns the CUstream of a launch; None for the default stream.
    """

    plan: Plan
    pack: Packer
    values: tuple[Any, ...]
    described: tuple[Described, ...]
    parameters: tuple[Parameter, ...]
    options: tuple[Any, ...]
    params: bytes
    result: Any
    handles: Handles | None = None


class _Matching:
    """The matchers of a launch's arguments.

    Args:
        attribute: the address of cuPointerGetAttribute; 0 where devices have no such function.
    """

    def __init__(self, checked: Checked, attribute: int) -> None:
        self.device = checked.plan.device
        self.attribute = attribute
        self._pieces = {
            (piece.argument, piece.items): piece for piece in checked.plan.parameters.pieces
        }

    def of(
        self, value: Any, described: Described, parameter: Parameter, place: int, *items: int
    ) -> Matcher:
        """The matcher of a value.

        Args:
            place: among the arguments of run time.
            items: the indices that lead to it through tuples.
        """
        if described.type is None:
            return _constant(value)
        if isinstance(described.type, TuplePart):
            inner = parameter._replace(fixed=None)
            parts = zip(value, described.type.parts, strict=True)
            matchers = [
                self.of(item, part, inner, place, *items, n) for n, (item, part) in enumerate(parts)
            ]
            return Matcher(PARTS, type(value), (None, tuple(matchers)))
        piece = self._pieces.get((place, items))
        slot = piece.slots[0] if piece is not None and len(piece.slots) == 1 else None
        if type(value) is int:
            return _whole(value, described, parameter, piece)
        if isinstance(value, bool | float | np.generic):
            found = None if slot is None else matcher_of_number(slot, value)
            if found is None:
                raise _NotNative
            return found
        if piece is None:
            raise _NotNative
        if isinstance(value, TensorDescriptor):
            return self._descriptor(value, piece, described)
        return self._pointer(value, ALIGNMENT if described.aligned else -ALIGNMENT, piece)

    def _pointer(self, value: Any, aligned: int, piece: Piece) -> Matcher:
        offset, kind = piece.offset, type(value)
        if kind is TensorWrapper:
            parts = self._pointer(value.base, aligned, piece), _constant(value.dtype)
            return Matcher(PARTS, kind, (("base", "dtype"), parts))
        if kind is DeviceNDArray:
            if value.buffer.device is not self.device or value.readonly:
                raise _NotNative
            return Matcher(OWN, kind, (value.__gridlane_launch__[0], aligned), offset, 8)
        if kind is np.ndarray and self.device.host_visible and _READS_NUMPY:
            flags = value.flags.num
            if flags & IN_PLACE != IN_PLACE or not flags & CONTIGUOUS or not value.dtype.isnative:
                raise _NotNative
            return Matcher(HOST, kind, (value.dtype, value.dtype.num, aligned), offset, 8)
        where = self._tensors_place(value)
        attribute = self.attribute if where == "is_cuda" else 0
        return Matcher(TENSOR, kind, (value.dtype, where, aligned, attribute), offset, 8)

    def _tensors_place(self, value: Any) -> str:
        """The attribute of a tensor like torch's that is True where its memory is the device's."""
        if not all(hasattr(type(value), name) for name in _OF_TENSORS):
            raise _NotNative
        if self.device.host_visible and value.is_cpu is True:
            return "is_cpu"
        if self.attribute and value.is_cuda is True:
            return "is_cuda"
        raise _NotNative

    def _descriptor(self, value: TensorDescriptor, piece: Piece, described: Described) -> Matcher:
        offsets = {slot.path[len(piece.items) :]: slot.offset for slot in piece.slots}
        base = value.base.base if type(value.base) is TensorWrapper else value.base
        size = getattr(base, "itemsize", None) or base.dtype.itemsize

        rank, start = len(value.shape), piece.offset
        places = [(name, axis) for name in ("shape", "strides") for axis in range(rank)]
        if [offsets[each] for each in places] != [start + 8 * n for n in range(1, 2 * rank + 1)]:
            raise _NotNative

        def numbers(name: str, factor: int) -> Matcher:
            parts = [
                Matcher(WHOLE, None, (*_ANY, factor, 0, 0), offsets[name, axis], 8)
                for axis in range(rank)
            ]
            return Matcher(PARTS, list, (None, tuple(parts)))

        is_mapped = described.block is not None and described.block.mapped
        block = tuple([_constant(extent) for extent in value.block_shape])
        parts = (
            self._pointer(value.base, 0, piece),
            numbers("shape", 1),
            numbers("strides", size),
            Matcher(PARTS, list, (None, block)),
            _constant(value.padding),
            Matcher(FIT, None, (rank, int(described.aligned), int(is_mapped)), start),
        )
        names = "base", "shape", "strides", "block_shape", "padding", "padding"
        return Matcher(PARTS, type(value), (names, parts))


def _constant(value: Any) -> Matcher:
    """The matcher of a constant, if equal ones select the same code."""
    kind = type(value)
    if kind is tuple:
        for item in value:
            _constant(item)
    elif kind not in _FIXED and not isinstance(value, _SINGLE) and not is_builtin(value):
        raise _NotNative
    return Matcher(CONSTANT, None, value)


def _whole(value: int, described: Described, parameter: Parameter, piece: Piece | None) -> Matcher:
    limits = _ANY
    if parameter.fixed is None:
        kind = described.type
        limits = None if isinstance(kind, TuplePart | None) else _RANGES.get(kind)
        if value < -(2**31):
            limits = _ANY[0], -(2**31) - 1
        if limits is None:
            raise _NotNative
    known = parameter.by_value and parameter.fixed is None
    aligned = (ALIGNMENT if described.aligned else -ALIGNMENT) if known else 0
    wanted = *limits, 1, int(known), aligned
    if piece is None:  # the program does not read it
        return Matcher(WHOLE, None, wanted)
    slot = piece.slots[0]
    if slot.dtype is None or not slot.dtype.is_integer:
        raise _NotNative
    return Matcher(WHOLE, None, wanted, slot.offset, slot.size)


def _reads_numpy() -> bool:
    """Whether the native launcher reads this numpy's arrays as they are."""
    probe = np.arange(5, dtype=np.float32)[1:]
    seen = getattr(Launcher, "_seen", None)
    return seen is None or seen(probe) == (address_of(probe), probe.dtype, probe.flags.num)


_READS_NUMPY = _reads_numpy()


def profile_of(checked: Checked) -> tuple[Any, ...] | None:
    """The arguments of ``Launcher._install`` for launches like one that was checked; None if each
    needs the slow path: accesses are checked or launches traced, or an argument has no matcher."""
    plan, kernel = checked.plan, checked.plan.kernel
    artifact = kernel.artifact
    if config().check or trace.enabled() or artifact.spins or artifact.coarse != 1:
        return None
    entry, attribute = None, 0
    is_alone = artifact.cluster == ALONE or artifact.requires_cluster
    prepare = ROUTES[plan.device.route].prepare
    if prepare is None:
        bound: Any = kernel
        entry, attribute = bound.native_launch(plan.device.default_stream), bound.pointer_attribute
        if entry is None and is_alone and not bound.raises():
            return None
    handles = checked.handles
    if prepare is None or not is_alone:
        target = partial(_launched, plan, handles)
    else:
        target = prepare(checked.pack, plan)
    matchers = _matchers(checked, attribute)
    values = *checked.values, *checked.options
    # What differs from the slow path's bytes is no way to read these arguments.
    if matchers is None or block_of(matchers, len(checked.params), values) != checked.params:
        return None
    geometry = *plan.device.limits.max_grid, *artifact.whole_block(plan.block)
    shared = plan.kernel.artifact.own_dynamic
    # Other streams wait for the allocation of our arrays, which the driver's function does not.
    if entry is None or (handles is not None and _has_own(matchers)):
        size = len(checked.params)
        return matchers, size, 0, 0, geometry, 0, 0, 0, 0, (plan,), target, checked.result
    if handles is not None:
        query_captures(entry.capture_query)
    # The driver refuses a block with the padding at its end.
    return (
        matchers, entry.param_size, entry.address, entry.function, geometry, shared, entry.stream,
        entry.flag, entry.sound, (entry.keep, plan), None, checked.result, handles,
        maps_of(artifact, entry.encode),
    )  # fmt: skip


def _launched(
    plan: Plan, handles: Handles | None, params: bytes, x: int, y: int, z: int, values: Any
) -> None:
    """Launch what needs more than the driver's function: a check, or to wait or be waited for."""
    stream = stream_at(handles(), plan.device) if handles is not None else None
    plan.launch((x, y, z), params, 0, stream, values)


def _has_own(matchers: Sequence[Matcher]) -> bool:
    return any(
        each.kind == OWN or (each.kind == PARTS and _has_own(each.wanted[1])) for each in matchers
    )


def _matchers(checked: Checked, attribute: int) -> tuple[Matcher, ...] | None:
    matching, place = _Matching(checked, attribute), 0
    matchers: list[Matcher] = []
    arguments: Sequence[tuple[Any, Described, Parameter]] = [
        *zip(checked.values, checked.described, checked.parameters, strict=True)
    ]
    try:
        for value, described, parameter in arguments:
            matchers.append(matching.of(value, described, parameter, place))
            place += described.type is not None
        matchers += [
            Matcher(CONSTANT, None, UNSET) if value is UNSET else _constant(value)
            for value in checked.options
        ]
    except _NotNative:
        return None
    return tuple(matchers)
