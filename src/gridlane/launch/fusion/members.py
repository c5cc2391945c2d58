"""A delayed launch, and what is known of its kernel."""

from __future__ import annotations

import struct
import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gridlane.launch.kernel import Kernel, Origin, origin_of
from gridlane.launch.parameters import Packed, code_of, struct_of
from gridlane.memory.resource import Buffer

if TYPE_CHECKING:
    from gridlane.compiler.fusion import MemberCode
    from gridlane.core.artifact import ParamSlot
    from gridlane.runtime.protocol import Device

Grid = tuple[int, int, int]


@dataclass(slots=True, eq=False)
class Delayed:
    """A launch that is not submitted yet.

    Attributes:
        kernel: the bound kernel.
        params, grid, shared, keep: as those of ``Stream.launch``.
        is_own: whether it touches no memory of the host or of other libraries.
    """

    kernel: Any
    params: bytes
    grid: Grid
    shared: int
    keep: Any
    is_own: bool

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.artifact.name

    @property
    def shape(self) -> tuple[Any, ...]:
        """What decisions depend on beside the kernel and its parameters."""
        return self.grid, self.shared, self.is_own


class Facts:
    """What fusion knows of a bound kernel.

    Attributes:
        bound: the kernel; it lives as long as its facts.
        origin: where it comes from; None if it cannot be compiled again.
        why: the reason for which it is never fused; "" if there is none.
        code: its IR; None where it is never fused.
        integers: the places and readers of the pointers and integers of its parameter block.
    """

    def __init__(self, bound: Any) -> None:
        self.bound, self.origin = bound, _origin(bound)
        self.code: MemberCode | None = None
        self.why = self._reason()
        slots: tuple[ParamSlot, ...] = bound.artifact.params
        self.slots = slots
        self.integers = tuple(
            [
                (place, slot.offset, struct.Struct(f"<{code_of(slot.dtype)}"))
                for place, slot in enumerate(slots)
                if not slot.by_value
                and (slot.dtype is None or slot.dtype.is_integer or slot.dtype.is_bool)
            ]
        )
        decisive = {place for place, *_ in self.integers}
        codes = [
            (slot.offset, code_of(slot.dtype) if place in decisive else f"{slot.size}x")
            for place, slot in enumerate(slots)
        ]
        self.decisive = struct.Struct(struct_of(codes, bound.artifact.param_bytes)).unpack
        """Reads a parameter block without its floats, which decide nothing."""

    def _reason(self) -> str:
        from gridlane.compiler.fusion import Apart

        artifact = self.bound.artifact
        if self.origin is None:
            return "its code is not made of IR here"
        if artifact.raises:
            return "it can raise"
        if artifact.spins:
            return "it may wait for the host"
        if artifact.prints:
            return "it prints"
        if tuple(artifact.cluster) != (1, 1, 1) or artifact.cooperative:
            return "its blocks work together"
        if getattr(self.bound, "in_parts", False):
            return "it is launched in parts"
        try:
            self.code = _code_of(self.origin.kernel)
        except Apart as error:
            return error.why
        own = [param.value.type for param in self.code.module.kernel.params]
        if len(own) != len(artifact.params):
            return "its parameters are not those of its IR"
        return ""

    def numbers(self, params: bytes) -> dict[int, int]:
        """The pointers and integers of a parameter block, by place."""
        return {
            place: int(reader.unpack_from(params, offset)[0])
            for place, offset, reader in self.integers
        }


class Found:
    """What was found for a device. The device has it, so that it ends with the device.

    Attributes:
        facts: of bound kernels, by their identity; facts keep them alive.
        decisions: what becomes of queues.
        kernels: fused kernels, by their members and how they are joined.
    """

    def __init__(self) -> None:
        self.facts: dict[int, Facts] = {}
        self.decisions: OrderedDict[Hashable, Any] = OrderedDict()
        self.kernels: dict[Hashable, Kernel] = {}

    def facts_of(self, bound: Any) -> Facts:
        """The facts of a bound kernel, found once."""
        known = self.facts.get(id(bound))
        if known is None:
            with lock:
                if len(self.facts) >= _MOST:
                    self.facts.clear()
                known = self.facts[id(bound)] = Facts(bound)
        return known


lock = threading.RLock()
_codes: weakref.WeakKeyDictionary[Kernel, Any] = weakref.WeakKeyDictionary()
_MOST = 512
_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes, Buffer))


def found_of(device: Any) -> Found:
    """What was found for a device so far."""
    found = device.__dict__.get("_fusions")
    return found if found is not None else device.__dict__.setdefault("_fusions", Found())


def _origin(bound: Any) -> Origin | None:
    origin = origin_of(bound)
    return origin if origin is not None and origin.kernel.is_of_ir else None


def _code_of(kernel: Kernel) -> MemberCode:
    """The IR of a kernel, made once.

    Raises:
        Apart: it is never fused.
    """
    from gridlane.compiler.fusion import Apart, MemberCode

    with lock:
        known = _codes.get(kernel)
        if known is None:
            try:
                known = MemberCode(kernel.source, kernel.types, kernel.options)
            except Apart as error:
                known = error
            _codes[kernel] = known
    if isinstance(known, Apart):
        raise Apart(known.why)
    return known


def allocation(device: Device, address: int) -> tuple[int, int] | None:
    """The range of a device's allocation that holds an address."""
    buffer = device.memory.find(address, 1)
    return None if buffer is None else (buffer.address, buffer.address + buffer.size)


def is_own(keep: Any, device: Device) -> bool:
    """Whether the objects of a launch are numbers and memory that the device has allocated. Hot."""
    if keep.__class__ in _PLAIN:
        return True
    if isinstance(keep, (tuple, list)):
        for each in cast("tuple[Any, ...]", keep):
            if each.__class__ not in _PLAIN and not is_own(each, device):
                return False
        return True
    if isinstance(keep, Packed):  # views of other libraries' memory name no owner
        return not keep.address or allocation(device, keep.address) is not None
    if getattr(keep, "outside", None) is False:  # the storage of arrays of ``xp``
        return True
    return isinstance(keep, (np.generic, int, float, complex, str, bytes, Buffer))
