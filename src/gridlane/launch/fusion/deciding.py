"""Decides which delayed launches become one, and how; every decision has its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gridlane.core.compact import COARSE, MANY_BLOCKS, Variant
from gridlane.core.device_errors import handled
from gridlane.core.errors import CompileError, DeviceError, LaunchError
from gridlane.launch import compact
from gridlane.launch.fusion.members import Delayed, Facts, allocation, found_of
from gridlane.launch.kernel import Kernel
from gridlane.launch.plan import Plan

if TYPE_CHECKING:
    from gridlane.core.options import Target
    from gridlane.runtime.protocol import Device

MOST_BYTES = 3584
"""The most bytes of a fused kernel's parameters: 4096 on NVIDIA GPUs, with room for the driver."""
MOST_MEMBERS = 32
"""The most launches of a group: each is compared with all others of it."""
Memory = Callable[[int], "tuple[int, int] | None"]


@dataclass(slots=True, eq=False)
class Code:
    """A fused kernel on a device.

    Attributes:
        kernel, plan: its code.
        moves: for each member the copies from its parameter block: (offset there, offset, size).
    """

    kernel: Kernel
    plan: Plan
    moves: tuple[tuple[tuple[int, int, int], ...], ...]

    def pack(self, blocks: Sequence[bytes]) -> bytes:
        """The parameter block, of those of the members."""
        params = bytearray(self.plan.kernel.artifact.param_bytes)
        for block, moves in zip(blocks, self.moves, strict=True):
            for source, target, size in moves:
                params[target : target + size] = block[source : source + size]
        return bytes(params)


@dataclass(slots=True, eq=False)
class Group:
    """Launches that follow each other.

    Attributes:
        first, count: their places in the queue.
        code: the kernel in their place; None for one launch.
        why: why the next launch is not among them; "" at the end of the queue.
        barriers: the places of launches whose blocks wait in front of them.
        shared: bytes of dynamic shared memory.
    """

    first: int
    count: int
    code: Code | None = None
    why: str = ""
    barriers: tuple[int, ...] = ()
    shared: int = 0


class Member:
    """A launch with its facts and its accesses."""

    def __init__(self, launch: Delayed, facts: Facts, memory: Memory, target: Target) -> None:
        from gridlane.compiler.fusion import Launch, Side

        assert facts.code is not None and facts.origin is not None
        self.launch, self.facts, self.code = launch, facts, facts.code
        self.block = facts.origin.block
        self.numbers = facts.numbers(launch.params)
        threads = self.code.extents or self.block
        self.code.require_settled(target)
        self.found = self.code.footprint(Launch(launch.grid, threads, self.numbers))
        self.side = Side(self.found, self.numbers, memory)


@dataclass(slots=True, eq=False)
class Decision:
    """What becomes of a queue. ``ranges``: the allocations that it relies on, by address."""

    groups: list[Group] = field(default_factory=list[Group])
    ranges: dict[int, tuple[int, int] | None] = field(
        default_factory=dict[int, "tuple[int, int] | None"]
    )


def decide(launches: Sequence[Delayed], device: Device) -> Decision:
    """The groups of a queue, in its order."""
    decision = Decision()
    maker = _Maker(launches, device, decision)
    place = 0
    while place < len(launches):
        group = maker.group(place)
        decision.groups.append(group)
        place += group.count
    return decision


class _Maker:
    """Makes groups, each as long as possible."""

    def __init__(self, launches: Sequence[Delayed], device: Device, decision: Decision) -> None:
        self.launches, self.device, self.decision = launches, device, decision
        self.members: dict[int, Member | str] = {}

    def memory(self, address: int) -> tuple[int, int] | None:
        """The range of the allocation at an address; it is a part of the decision."""
        known = self.decision.ranges
        if address not in known:
            known[address] = allocation(self.device, address)
        return known[address]

    def group(self, first: int) -> Group:
        group = Group(first, 1)
        members = [self._member(first)]
        if isinstance(members[0], str):
            group.why = f"{self.launches[first].name} is not fused: {members[0]}"
            return group
        chosen = [members[0]]
        barriers: set[int] = set()
        for place in range(first + 1, len(self.launches)):
            member = self._member(place)
            why, waits = self._joins(chosen, member)
            if why or isinstance(member, str):
                name, before = self.launches[place].name, self.launches[place - 1].name
                group.why = f"{name} is apart from {before}: {why or member}"
                break
            if waits:
                barriers.add(place - first)
            chosen.append(member)
        return self._longest(group, chosen, barriers)

    def _member(self, place: int) -> Member | str:
        """A launch's member, or the reason why it has none."""
        from gridlane.compiler.fusion import Apart

        if place not in self.members:
            launch = self.launches[place]
            facts = found_of(self.device).facts_of(launch.kernel)
            known: Member | str = facts.why or "an argument is memory of the host or of a library"
            if not facts.why and launch.is_own:
                try:
                    assert facts.origin is not None
                    target = self.device.target(facts.origin.block)
                    known = Member(launch, facts, self.memory, target)
                except Apart as error:
                    known = error.why
            self.members[place] = known
        return self.members[place]

    def _joins(self, chosen: list[Member], member: Member | str) -> tuple[str, bool]:
        """Why a launch does not join others, and whether blocks wait in front of it."""
        from gridlane.compiler.fusion import Reach, meeting

        if isinstance(member, str):
            return member, False
        first = chosen[0]
        if len(chosen) >= MOST_MEMBERS:
            return f"a kernel takes the place of {MOST_MEMBERS} launches at the most", False
        if (member.launch.grid, member.block) != (first.launch.grid, first.block):
            shapes = f"{member.launch.grid} of {member.block}"
            return f"its grid is {shapes}, and theirs {first.launch.grid} of {first.block}", False
        if member.code.options != first.code.options:
            return "its options are others", False
        sizes = {each.launch.shared for each in (*chosen, member)}
        if len(sizes) > 1 and any(each.code.reads_shared_size for each in (*chosen, member)):
            return "it has shared memory of another size", False
        if not first.code.has_shape_of(member.code):
            return "one is a program over tiles of other extents, or with other warps", False
        threads = first.code.extents or first.block
        extents = {
            **{("block", axis): extent for axis, extent in enumerate(first.launch.grid)},
            **{("thread", axis): extent for axis, extent in enumerate(threads)},
        }
        waits = member.found.shares and any(each.found.shares for each in chosen)
        for each in chosen:
            met = meeting(each.side, member.side, extents)
            if met.reach is Reach.GRID:
                return _crossing(each, member, met.places), False
            # The threads of a program may have other elements of one tile than of another.
            waits |= met.reach > (Reach.NONE if member.code.tiled else Reach.THREAD)
        return "", waits

    def _longest(self, group: Group, chosen: list[Member], barriers: set[int]) -> Group:
        """The longest beginning of launches that makes a kernel."""
        from gridlane.compiler.fusion import Apart

        fits, fails, why, code = 1, len(chosen) + 1, "", None
        count = len(chosen)
        while fits + 1 < fails:
            try:
                code = code_of(chosen[:count], tuple(sorted(barriers)), self.device)
                fits = count
            except (Apart, CompileError, DeviceError, LaunchError) as error:
                handled(error)
                why = error.why if isinstance(error, Apart) else str(error).splitlines()[0]
                fails = count
            count = (fits + fails) // 2
        group.count, group.code = fits, code
        group.barriers = tuple(sorted(each for each in barriers if each < fits))
        group.shared = max(each.launch.shared for each in chosen[:fits])
        if fits < len(chosen):
            name, before = chosen[fits].launch.name, chosen[fits - 1].launch.name
            group.why = f"{name} is apart from {before}: {why}"
        return group


def _crossing(one: Member, other: Member, places: Any) -> str:
    where = ""
    if places is not None and places[0].line and places[1].line:
        where = f" ({places[0]} and {places[1]})"
    return f"a thread may touch what another one writes in {one.launch.name}{where}"


# ---- code


def code_of(members: list[Member], barriers: tuple[int, ...], device: Device) -> Code:
    """The fused kernel of launches on a device.

    Raises:
        Apart: it is too large, a product may round in another way, or registers do not suffice.
        CompileError, DeviceError, LaunchError: the device refuses it.
    """
    from gridlane.compiler import fusion

    places = _places(members)
    apart, written = _memory(members, places)
    barriers = tuple([each for each in barriers if each < len(members)])
    joint = fusion.Joint(places, barriers, apart, written)
    first = members[0]
    target = device.target(first.block)
    codes = tuple([member.code for member in members])
    fusion.require_same_lanes(codes, target)
    key = (tuple(map(id, codes)), joint, target)
    kernels = found_of(device).kernels
    kernel = kernels.get(key)
    if kernel is None:
        source = fusion.FusedSource(codes, joint, target)
        kernel = kernels[key] = Kernel(source, (), first.code.options)
    plan = kernel.plan(first.block, _variant(first, device), device)
    artifact = plan.kernel.artifact
    if artifact.param_bytes > MOST_BYTES:
        raise fusion.Apart(f"the parameters take more than {MOST_BYTES} bytes")
    shared = max(member.launch.shared for member in members)
    plan.check(artifact.name, first.launch.grid, shared, device.default_stream)
    _require_registers(members, kernel, device)
    moves = [
        tuple([(slot.offset, artifact.params[n].offset, slot.size) for slot, n in zip(own, to)])
        for own, to in zip([m.facts.slots for m in members], places, strict=True)
    ]
    return Code(kernel, plan, tuple(moves))


def _variant(member: Member, device: Device) -> Variant:
    """The variant for a grid; parameters are tested at the launch."""
    if device.route == "inline" or member.code.tiled:
        return Variant()
    if not compact.grid_holds(member.launch.grid, member.block):
        return Variant()
    x, y, z = member.launch.grid
    many = x * y * z >= MANY_BLOCKS * device.limits.multiprocessors
    return Variant(True, x % COARSE == 0 and many)


def _places(members: list[Member]) -> tuple[tuple[int, ...], ...]:
    """The parameters of the fused kernel: those with one type and one value are one, but floats."""
    known: dict[Any, int] = {}
    places: list[tuple[int, ...]] = []
    for number, member in enumerate(members):
        own: list[int] = []
        for place, param in enumerate(member.code.module.kernel.params):
            value = member.numbers.get(place)
            key = (param.value.type, param.align, value) if value is not None else (number, place)
            own.append(known.setdefault(key, len(known)))
        places.append(tuple(own))
    return tuple(places)


def _memory(
    members: list[Member], places: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The pointer parameters whose memory no other reaches, and those whose memory is written."""
    touched: dict[int, list[tuple[tuple[int, int] | None, bool]]] = {}
    pointers = {
        place
        for member, own in zip(members, places, strict=True)
        for place, param in zip(own, member.code.module.kernel.params, strict=True)
        if hasattr(param.value.type, "space")
    }
    strays: list[tuple[tuple[int, int] | None, bool]] = []
    for member, own in zip(members, places, strict=True):
        for access in member.found.accesses:
            reached = member.side.extent(access), access.writes
            if access.roots is None or len(access.roots) > 1:
                strays.append(reached)
            for root in access.roots or ():
                touched.setdefault(own[root], []).append(reached)
    apart, written = list[int](), list[int]()
    for place in sorted(pointers):
        mine = touched.get(place, [])
        others = [each for n, all_ in touched.items() if n != place for each in all_] + strays
        if not any(_meet(one, other) for one, _ in mine for other, _ in others):
            apart.append(place)
        if any(writes and _meet(one, o) for one, _ in mine for o, writes in (*mine, *others)):
            written.append(place)
    return tuple(apart), tuple(written)


def _meet(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    return one is None or other is None or (one[0] < other[1] and other[0] < one[1])


def _require_registers(members: list[Member], kernel: Kernel, device: Device) -> None:
    """Require that a fused kernel keeps in registers what its members keep there.

    Raises:
        Apart: it would spill, or a block has too many threads for it.
    """
    from gridlane.compiler.fusion import Apart

    figures = kernel.loaded(device).figures()
    if figures is None:
        return
    x, y, z = members[0].block
    if x * y * z > figures.max_threads:
        raise Apart(f"a block of the fused kernel has {figures.max_threads} threads at the most")
    own = 0
    for member in members:
        assert member.facts.origin is not None
        alone = member.facts.origin.kernel.loaded(device).figures()
        own = max(own, alone.local_bytes if alone is not None else 0)
    if figures.local_bytes > own:
        raise Apart("the fused kernel has too few registers, and would use local memory")
