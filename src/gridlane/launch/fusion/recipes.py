"""What becomes of a queue of launches, ready to be submitted again with other numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from gridlane.core import trace
from gridlane.core.source import UNKNOWN
from gridlane.launch.fusion.deciding import Group, decide
from gridlane.launch.fusion.members import Delayed, Found, allocation, lock
from gridlane.launch.kernel import Kernel
from gridlane.launch.launcher import ARRAY, Launcher
from gridlane.launch.plan import Plan
from gridlane.runtime import observing

_MOST_RECIPES = 256
_KEY = object()


class Block:
    """A parameter block, as a launcher takes an array.

    Args:
        size: of what the driver reads, without the bytes behind the last parameter.
    """

    __slots__ = "__gridlane_launch__", "keep", "params"

    def __init__(self, params: bytes, keep: Any, size: int) -> None:
        self.__gridlane_launch__ = _KEY, params[:size]
        self.params, self.keep = params, keep


class Step:
    """One kernel of a recipe.

    Args:
        group: the launches that it takes the place of.
        members: these.
        first: the place of their numbers among those of the queue.
        stream: of the first submission.
    """

    def __init__(self, group: Group, members: Sequence[Delayed], first: int, stream: Any) -> None:
        form = members[0].form
        self.kernel: Any = form.kernel
        self.grid, self.shared = form.grid, form.shared
        self.plan: Plan | None = None
        self._whole: Kernel | None = None
        params = members[0].params
        code = group.code
        places = list(form.numbers)
        if code is not None:
            params = code.pack([each.params for each in members])
            plan = self.plan = code.kernel.fitting(code.plan, form.grid, params)
            plan.check(plan.kernel.artifact.name, form.grid, group.shared, stream)
            self.kernel, self.shared = plan.kernel, group.shared
            self._whole = code.kernel if plan.variant.compact else None
            places = [
                (target + offset - source, size)
                for each, moves in zip(members, code.moves, strict=True)
                for offset, size in each.form.numbers
                for source, target, room in moves
                if source <= offset and offset + size <= source + room
            ]
        self.count = len(members)
        self.last = first + len(places)
        self._numbers = slice(first, self.last)
        order = sorted(range(len(places)), key=lambda each: places[each])
        self._order = None if order == list(range(len(order))) else order
        self._pieces = _pieces(params, [places[each] for each in order])
        if self._whole is not None and not _integers(self.kernel, places):
            self._whole = None  # what may differ decides about no code
        self._native: _Native | None = None
        native = getattr(self.kernel, "native_launch", None)
        if native is not None and stream is stream.device.default_stream:
            self._native = _Native(self, stream)

    def params(self, numbers: Sequence[bytes]) -> bytes:
        """The parameter block with the numbers of a queue. Hot."""
        pieces = self._pieces.copy()
        own = numbers[self._numbers]
        pieces[1::2] = own if self._order is None else [own[each] for each in self._order]
        return b"".join(pieces)

    @property
    def native(self) -> _Native | None:
        """The launcher of a launch that needs no other look at its numbers."""
        return self._native if self._whole is None else None

    def submit(self, numbers: Sequence[bytes], stream: Any, keep: Any) -> None:
        """Submit with the numbers of a queue. Hot."""
        params = self.params(numbers)
        if self._whole is not None and self.plan is not None and not self.plan.fits(params):
            large = self._whole.fitting(self.plan, self.grid, params)  # of larger integers
            stream.launch(large.kernel, params, *self.grid, self.shared, keep)
            return
        native = self._native
        if native is not None and stream is native.stream and not trace.enabled():
            native(Block(params, keep, native.size))
        else:
            self.launch(params, stream, keep)

    def launch(self, params: bytes, stream: Any, keep: Any) -> None:
        """Append the kernel to a stream."""
        if self.plan is not None and trace.enabled():
            self.plan.tell(self.kernel.artifact.name, self.grid, self.shared)
        stream.launch(self.kernel, params, *self.grid, self.shared, keep)


class _Native(Launcher):
    """A step on the default stream of a GPU, by the native launcher."""

    def __init__(self, step: Step, stream: Any) -> None:
        super().__init__()  # pyright: ignore[reportUnknownMemberType]  # C, or its equivalent
        self.step, self.stream, self.size = step, stream, 0
        self._prepare()

    def _prepare(self) -> None:
        step, kernel = self.step, self.step.kernel
        artifact = kernel.artifact
        entry = kernel.native_launch(self.stream)
        if entry is None or entry.encode or artifact.own_dynamic:
            return
        x, y, z = step.grid
        geometry = x // artifact.coarse, y, z, *kernel.block
        self.size = entry.param_size
        whole = ARRAY, Block, _KEY, 0, self.size
        place = entry.address, entry.function, geometry, step.shared, entry.stream
        self._install((whole,), entry.param_size, *place, entry.flag, entry.sound, entry.keep)

    def _launch_slowly(self, args: tuple[Any, ...]) -> None:
        """Launch what has no native launch, or none any more."""
        self._append(args[0])
        if not observing.observers:
            self._forget()
            self._prepare()

    def _append(self, block: Block) -> None:
        self.step.launch(block.params, self.stream, block.keep)

    def _failed(self, code: int, args: tuple[Any, ...]) -> None:
        """Repair or explain a launch that the driver refused and did not run."""
        self.stream.device.forget_thread()
        self._forget()
        self._append(args[0])

    def _elsewhere(self) -> Any:
        return self._append


class Recipe:
    """What becomes of a queue.

    Attributes:
        steps: its kernels.
        lines: the same as text.
        alone: its only kernel, if that is launched natively whatever the numbers are.
    """

    def __init__(self, launches: Sequence[Delayed], stream: Any) -> None:
        device = stream.device
        self._device, self._changes = device, device.memory.accounting.changes
        decision = decide(launches, device)
        self._ranges = decision.ranges
        self.steps, self.lines = list[Step](), list[str]()
        counts = [0, *accumulate(len(each.form.numbers) for each in launches)]
        for group in decision.groups:
            members = launches[group.first : group.first + group.count]
            self.steps.append(Step(group, members, counts[group.first], stream))
            self.lines += _lines(group, members)
        self.alone = self.steps[0] if len(self.steps) == 1 and self.steps[0].native else None

    def holds(self) -> bool:
        """Whether the allocations are those that it relies on. Hot."""
        changes = self._device.memory.accounting.changes
        if changes == self._changes:
            return True
        for address, own in self._ranges.items():
            if allocation(self._device, address) != own:
                return False
        self._changes = changes
        return True


def recipe_of(
    found: Found,
    key: tuple[Any, ...],
    numbers: Sequence[bytes],
    launches: Sequence[Any],
    stream: Any,
) -> Recipe:
    """The recipe of a queue, made once. Hot.

    Args:
        key: forms, and parameter blocks without what decides nothing, in turn; then whether the
            stream is the default one.
        numbers: what decides nothing, of all launches.
        launches: what each keeps alive.
    """
    recipe = found.recipes.get(key)
    if recipe is not None and recipe.holds():
        return recipe
    from gridlane.compiler.depth import at_any_depth  # not needed before the first submission

    with lock:
        queue = _queue(key, numbers, launches)
        recipe = at_any_depth("a fused kernel", UNKNOWN, Recipe, queue, stream)
        found.recipes[key] = recipe
        found.recipes.move_to_end(key)
        while len(found.recipes) > _MOST_RECIPES:
            found.recipes.popitem(last=False)
        return recipe


def _queue(
    key: tuple[Any, ...], numbers: Sequence[bytes], launches: Sequence[Any]
) -> list[Delayed]:
    queue, place = list[Delayed](), 0
    for form, block, keep in zip(key[:-1:2], key[1:-1:2], launches, strict=True):
        count = len(form.numbers)
        params = form.joined(block, numbers[place : place + count])
        queue.append(Delayed(form, params, keep))
        place += count
    return queue


def _integers(kernel: Any, places: Sequence[tuple[int, int]]) -> bool:
    """Whether parameters at places are integers or addresses."""
    offsets = {offset for offset, _ in places}
    floats = {s.offset for s in kernel.artifact.params if s.dtype is not None and s.dtype.is_float}
    return not offsets <= floats


def _pieces(params: bytes, places: Sequence[tuple[int, int]]) -> list[bytes]:
    """A block in pieces: each second one is that at a place."""
    pieces, end = list[bytes](), 0
    for offset, size in places:
        pieces += params[end:offset], params[offset : offset + size]
        end = offset + size
    return [*pieces, params[end:]]


def _lines(group: Group, members: Sequence[Delayed]) -> list[str]:
    """A group as text."""
    names = ", ".join([each.name for each in members])
    line = f"{names}: {'one kernel' if group.code else 'launched alone'}"
    if group.barriers:
        waits = ", ".join([members[each].name for each in group.barriers])
        line += f", whose blocks wait in front of {waits}"
    return [line, f"  {group.why}"] if group.why else [line]
