"""``fused()``: launches in a with block are delayed, and become as few kernels as they can."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from gridlane.core.source import UNKNOWN
from gridlane.launch import current
from gridlane.launch.fusion import seams
from gridlane.launch.fusion.deciding import Decision, Group, decide
from gridlane.launch.fusion.members import Delayed, allocation, found_of, is_own, lock
from gridlane.runtime.protocol import Device

MOST_DELAYED = 256
"""The most launches of a queue; the next one submits it."""
_MOST_DECISIONS = 256
_MOST_LINES = 1000


class Fusion:
    """The launches of a with block.

    Attributes:
        launches: how many there were so far.
        kernels: how many kernels were submitted for them.
    """

    def __init__(self, device: Device) -> None:
        self.launches = self.kernels = 0
        self._device = device
        self._delayed: list[Delayed] = []
        self._stream: Any = None
        self._is_submitting = False
        self._lines: list[str] = []

    # ---- for the user

    def flush(self) -> None:
        """Submit the launches so far, without waiting for them.

        Raises:
            KernelError: a kernel stopped itself, if its work is done on return.
        """
        if self._is_submitting or not self._delayed:
            return
        launches, self._delayed = self._delayed, []
        stream, self._stream = self._stream, None
        self._is_submitting = True
        try:
            self._submit(launches, stream)
        finally:
            self._is_submitting = False

    def explain(self) -> str:
        """The groups that were submitted so far, and why they are no larger, as text."""
        if not self._lines:
            return "no launches were submitted yet"
        counts = (self.launches, "launch", "es"), (self.kernels, "kernel", "s")
        title = ", ".join([f"{n} {name}{more if n != 1 else ''}" for n, name, more in counts])
        return "\n".join([title, *self._lines])

    def __repr__(self) -> str:
        return f"<fusion of {self.launches} launches, {len(self._delayed)} of them delayed>"

    # ---- for seams

    def append(self, stream: Any, kernel: Any, launch: tuple[Any, ...]) -> bool:
        """Delay a launch; see ``current.Delays``."""
        if self._is_submitting:
            return False
        if stream.device is not self._device:
            self.flush()
            return False
        if self._stream is not None and stream is not self._stream:
            self.flush()
        params, grid, shared, keep = launch
        own = is_own(keep, self._device)
        self._stream = stream
        self._delayed.append(Delayed(kernel, params, grid, shared, keep, own))
        self.launches += 1
        # The caller of what may raise, or of memory that is not ours, sees its end on return.
        if not own or kernel.artifact.raises or len(self._delayed) >= MOST_DELAYED:
            self.flush()
        return True

    # ---- details

    def _submit(self, launches: list[Delayed], stream: Any) -> None:
        decision = _decision(launches, self._device)
        for group in decision.groups:
            members = launches[group.first : group.first + group.count]
            self._note(group, members)
            self.kernels += 1
            if group.code is None:
                (only,) = members
                stream.launch(only.kernel, only.params, *only.grid, only.shared, only.keep)
                continue
            code = group.code
            params = code.pack([each.params for each in members])
            grid = members[0].grid
            plan = code.kernel.fitting(code.plan, grid, params)
            keep = [each.keep for each in members]
            plan.launch(grid, params, group.shared, stream, keep)

    def _note(self, group: Group, members: list[Delayed]) -> None:
        """Note a group for ``explain``."""
        if len(self._lines) >= _MOST_LINES:
            return
        names = ", ".join([each.name for each in members])
        line = f"{names}: {'one kernel' if group.code else 'launched alone'}"
        if group.barriers:
            waits = ", ".join([members[each].name for each in group.barriers])
            line += f", whose blocks wait in front of {waits}"
        self._lines.append(line)
        if group.why:
            self._lines.append(f"  {group.why}")


def _decision(launches: list[Delayed], device: Device) -> Decision:
    """What becomes of launches: as before, where the same ones were submitted once."""
    from gridlane.compiler.depth import at_any_depth  # not needed before the first submission

    found = found_of(device)
    key = tuple(
        [
            (each.kernel, found.facts_of(each.kernel).decisive(each.params), *each.shape)
            for each in launches
        ]
    )
    with lock:
        known = found.decisions.get(key)
        if known is not None and all(
            allocation(device, address) == own for address, own in known.ranges.items()
        ):
            found.decisions.move_to_end(key)
            return known
        decision = at_any_depth("a fused kernel", UNKNOWN, decide, launches, device)
        found.decisions[key] = decision
        while len(found.decisions) > _MOST_DECISIONS:
            found.decisions.popitem(last=False)
        return decision


@contextmanager
def fused() -> Generator[Fusion]:
    """Delay this thread's launches in the with block, and submit them at its end as few kernels.

    Consecutive launches become one kernel where each thread, or each block, touches its own part of
    what others of them write; the results are those of the launches one by one, bit for bit, but
    for kernels with ``fastmath``. Copies, waits, events, and launches on another stream submit what
    is delayed first, and so does ``flush``. A block in a block submits by itself. If an exception
    leaves the block, what is delayed is submitted, as it was launched in front of it.

    >>> import numpy as np
    >>> from gridlane import cuda
    >>> @cuda.jit
    ... def scale(x, by):
    ...     i = cuda.grid(1)
    ...     if i < x.size:
    ...         x[i] *= by
    >>> x = cuda.to_device(np.ones(4))
    >>> with fused() as fusion:
    ...     scale[1, 32](x, 2.0)
    ...     scale[1, 32](x, 5.0)
    >>> x.copy_to_host().tolist(), fusion.kernels
    ([10.0, 10.0, 10.0, 10.0], 1)
    """
    device, outer = current.device(), current.delays()
    if outer is not None:
        outer.flush()
    fusion = Fusion(device)
    seams.open_for(device)
    current.delay(fusion)
    try:
        try:
            yield fusion
        finally:
            fusion.flush()
    finally:
        current.delay(outer)
        seams.close_for(device)
