"""A delayed launch, and what is known of its kernel."""

from __future__ import annotations

import struct
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gridlane.launch import current
from gridlane.launch.kernel import Kernel, Origin, origin_of
from gridlane.launch.parameters import Packed, code_of
from gridlane.memory.resource import Buffer

if TYPE_CHECKING:
    from gridlane.compiler.fusion import MemberCode
    from gridlane.core.artifact import ParamSlot
    from gridlane.runtime.protocol import Device

Grid = tuple[int, int, int]


@dataclass(slots=True, eq=False)
class Form:
    """What launches of a kernel have in common; one object for each.

    Attributes:
        kernel: the bound kernel.
        grid, shared: as those of ``Stream.launch``.
        is_own: whether they touch no memory of the host or of other libraries.
        numbers: the offset and the size of each parameter that decides nothing, as a float.
    """

    kernel: Any
    grid: Grid
    shared: int
    is_own: bool
    numbers: tuple[tuple[int, int], ...]

    def split(self, params: bytes) -> tuple[bytes, list[bytes]]:
        """A parameter block without what decides nothing, and that."""
        key, numbers = bytearray(params), list[bytes]()
        for offset, size in self.numbers:
            numbers.append(params[offset : offset + size])
            key[offset : offset + size] = bytes(size)
        return bytes(key), numbers

    def joined(self, key: bytes, numbers: Sequence[bytes]) -> bytes:
        """The parameter block; see ``split``."""
        params = bytearray(key)
        for (offset, size), each in zip(self.numbers, numbers, strict=True):
            params[offset : offset + size] = each
        return bytes(params)


@dataclass(slots=True, eq=False)
class Delayed:
    """A launch that is not submitted yet.

    Attributes:
        form: what it shares with others.
        params, keep: as those of ``Stream.launch``.
    """

    form: Form
    params: bytes
    keep: Any

    @property
    def kernel(self) -> Any:
        """The bound kernel."""
        return self.form.kernel

    @property
    def grid(self) -> Grid:
        """Blocks along each axis."""
        return self.form.grid

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory."""
        return self.form.shared

    @property
    def is_own(self) -> bool:
        """Whether it touches no memory of the host or of other libraries."""
        return self.form.is_own

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.artifact.name


class Facts:
    """What fusion knows of a bound kernel.

    Attributes:
        bound: the kernel; it lives as long as its facts.
        origin: where it comes from; None if it cannot be compiled again.
        why: the reason for which it is never fused; "" if there is none.
        code: its IR; None where it is never fused.
        integers: the places and readers of the pointers and integers of its parameter block on
            which decisions depend.
    """

    def __init__(self, bound: Any) -> None:
        self.bound, self.origin = bound, _origin(bound)
        self.code: MemberCode | None = None
        self.why = self._reason()
        slots: tuple[ParamSlot, ...] = bound.artifact.params
        self.slots = slots
        passed_on = self.code.passed_on if self.code is not None else frozenset(range(len(slots)))
        self.integers = tuple(
            [
                (place, slot.offset, struct.Struct(f"<{code_of(slot.dtype)}"))
                for place, slot in enumerate(slots)
                if not slot.by_value
                and place not in passed_on
                and (slot.dtype is None or slot.dtype.is_integer or slot.dtype.is_bool)
            ]
        )
        decisive = {place for place, *_ in self.integers}
        others = [each for place, each in enumerate(slots) if place not in decisive]
        self.others = tuple(sorted((each.offset, each.size) for each in others))
        """Of a parameter block, the offset and the size of what decides nothing."""

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
        number: ``current.delaying_number`` of the device.
        facts: of bound kernels, by their identity; facts keep them alive.
        forms: by what they have.
        own: the bytes that describe arrays in memory of the device, each by itself.
        recipes: what becomes of queues.
        kernels: fused kernels, by their members and how they are joined.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.facts: dict[int, Facts] = {}
        self.forms: dict[Hashable, Form] = {}
        self.own: dict[bytes, bytes] = {}
        self.recipes: OrderedDict[Hashable, Any] = OrderedDict()
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

    def form_of(self, kernel: Any, grid: Grid, shared: int, own: bool) -> Form:
        """The form of launches, found once."""
        key = kernel, grid, shared, own
        known = self.forms.get(key)
        if known is None:
            numbers = self.facts_of(kernel).others
            with lock:
                if len(self.forms) >= _MOST_FORMS:
                    self.forms.clear()
                known = self.forms.setdefault(key, Form(kernel, grid, shared, own, numbers))
        return known

    def note_own(self, keep: Any) -> None:
        """Note arrays whose memory is the device's: launches with them are appended in C."""
        if isinstance(keep, tuple):
            if len(self.own) >= _MOST_FORMS:
                self.own.clear()
            for each in cast("tuple[Any, ...]", keep):
                if isinstance(each, Packed):
                    packed = each.__gridlane_packed__
                    # Of two arrays with the same bytes the latter may have other memory.
                    self.own.pop(packed, None)
                    self.own[packed] = packed


lock = threading.RLock()
_MOST = 512
_MOST_FORMS = 4096
_PLAIN = frozenset((type(None), bool, int, float, complex, str, bytes, Buffer))


def found_of(device: Any) -> Found:
    """What was found for a device so far."""
    found = device.__dict__.get("_fusions")
    if found is None:
        found = device.__dict__.setdefault("_fusions", Found(current.delaying_number(device)))
    return found


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
        known = kernel.fused
        if known is None:
            try:
                known = MemberCode(kernel.source, kernel.types, kernel.options)
            except Apart as error:
                known = error
            kernel.fused = known
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
