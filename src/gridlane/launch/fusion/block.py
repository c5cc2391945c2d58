"""``fused()``: launches in a with block are delayed, and become as few kernels as they can."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ContextDecorator
from typing import Any

from gridlane.core import trace
from gridlane.launch import current, launcher
from gridlane.launch.fusion import seams
from gridlane.launch.fusion.members import found_of, is_own
from gridlane.launch.fusion.recipes import Block, recipe_of
from gridlane.runtime.protocol import Device

MOST_DELAYED = 256
"""The most launches of a queue; the last one submits it."""
_MOST_LINES = 1000
_Lists = tuple[list[Any], list[bytes], list[Any], dict[bytes, bytes], int, Any]


class Fusion:
    """The launches of a with block.

    Attributes:
        kernels: how many kernels were submitted for them.
        device: the device of the block.
        number: see ``current.Delays``.
    """

    is_native = False

    __slots__ = (
        "_found", "_is_busy", "_is_closed", "_lines", "_lists", "_stream", "_submitted", "device",
        "kernels", "number",
    )  # fmt: skip

    def __init__(self, device: Device) -> None:
        self.kernels = self._submitted = 0
        self.device, self._found = device, found_of(device)
        self.number = self._found.number
        self._stream: Any = None
        self._is_busy = self._is_closed = False
        self._lines: Sequence[str] = ()
        self._lists = self._empty()

    # ---- for the user

    @property
    def launches(self) -> int:
        """How many there were so far."""
        return self._submitted + len(self._lists[2])

    def flush(self) -> None:
        """Submit the launches so far, without waiting for them. Hot.

        Raises:
            KernelError: a kernel stopped itself, if its work is done on return.
        """
        lists = self._lists
        keys, numbers, launches = lists[:3]
        if self._is_busy or not launches:
            return
        done, default = 0, self.device.default_stream
        stream = self._stream or default
        try:
            self._is_busy = True
            self._lists, self._stream = self._empty(), None
            if not self._is_closed:
                self._record()
            recipe = recipe_of(self._found, (*keys, stream is default), numbers, launches, stream)
            if not self._lines:
                self._lines = recipe.lines
            elif len(self._lines) < _MOST_LINES:
                self._lines = [*self._lines, *recipe.lines]
            for step in recipe.steps:
                first, done = done, done + step.count
                self.kernels += 1
                step.submit(numbers, stream, launches[first:done])
        except BaseException:  # of a signal handler: the rest is still to be submitted
            self._put_back(lists, done, stream)
            raise
        finally:
            self._submitted += done
            self._is_busy = False

    def explain(self) -> str:
        """The groups that were submitted so far, and why they are no larger, as text."""
        if not self._lines:
            return "no launches were submitted yet"
        counts = (self.launches, "launch", "es"), (self.kernels, "kernel", "s")
        title = ", ".join([f"{n} {name}{more if n != 1 else ''}" for n, name, more in counts])
        return "\n".join([title, *self._lines])

    def __repr__(self) -> str:
        return f"<fusion of {self.launches} launches, {len(self._lists[2])} of them delayed>"

    # ---- for seams

    @property
    def lists(self) -> _Lists | None:
        """See ``current.Delays``."""
        is_kept = self._stream is not None or self._is_closed or current.captures()
        return None if is_kept else self._lists

    def append(self, stream: Any, kernel: Any, launch: tuple[Any, ...]) -> bool:
        """Delay a launch; see ``current.Delays``."""
        if self._is_busy:
            return False
        if stream.device is not self.device or self._is_closed:
            self.flush()
            return False
        default = self.device.default_stream
        if stream is default:
            current.check_default_stream(self.device)
        if self._lists[2] and stream is not (self._stream or default):
            self.flush()
        params, grid, shared, keep = launch
        own = is_own(keep, self.device)
        form = self._found.form_of(kernel, grid, shared, own)
        key, others = form.split(params)
        self._add(stream, form, key, others, keep)
        if own:
            self._found.note_own(keep)
        # The caller of what may raise, or of memory that is not ours, sees its end on return.
        full = len(self._lists[2]) >= MOST_DELAYED
        if not own or kernel.artifact.raises or full:
            self.flush()
        return True

    def close(self) -> None:
        """Submit what is delayed, at the end of the block; later launches are not delayed, where an
        exception of a signal handler leaves this as what delays them."""
        self._is_closed = True
        launcher.record(None)
        try:
            if not self._is_submitted_again():
                self.flush()
        except BaseException:
            self.flush()  # what a signal handler has interrupted
            raise

    @property
    def is_closed(self) -> bool:
        """Whether its block has ended."""
        return self._is_closed

    # ---- details

    def _is_submitted_again(self) -> bool:
        """Submit all launches as the one native kernel that they were before; False where they are
        none. Hot: ``flush`` without what it has for others."""
        keys, numbers, launches = self._lists[:3]
        if not launches or self._is_busy or self._stream is not None or trace.enabled():
            return False
        recipe = self._found.recipes.get((*keys, True))
        if recipe is None or recipe.alone is None or not recipe.holds():
            return False
        step = recipe.alone
        native = step.native
        block = Block(step.params(numbers), launches, native.size)
        self._lists = self._empty()
        self._submitted += len(launches)
        self.kernels += 1
        if len(self._lines) < _MOST_LINES:
            self._lines = [*self._lines, *recipe.lines] if self._lines else recipe.lines
        native(block)
        return True

    def _put_back(self, lists: _Lists, done: int, stream: Any) -> None:
        """Put launches that were not submitted in front of those since."""
        later, rest = self._lists, self._empty()
        numbers = sum(len(form.numbers) for form in lists[0][: 2 * done : 2])
        for each, old, new, first in zip(
            rest[:3], lists[:3], later[:3], (2 * done, numbers, done), strict=True
        ):
            each += old[first:]
            each += new if new is not old else ()
        self._lists = rest
        self._stream = stream if stream is not self.device.default_stream and rest[2] else None
        self._record()

    def _empty(self) -> _Lists:
        """An empty queue: forms and parameter blocks in turn, the numbers that decide nothing, and
        for each launch what it keeps alive. Launchers append to it; see launcher.py."""
        return [], [], [], self._found.own, MOST_DELAYED, None if self._is_closed else self.flush

    def _record(self) -> None:
        """Let launchers append this thread's launches, where they are on the default stream."""
        if current.delays() is self:
            launcher.record(self.lists if current.device() is self.device else None)

    def _add(self, stream: Any, form: Any, key: bytes, others: list[bytes], keep: Any) -> None:
        """Add a launch as a whole, or, if a signal handler raises, not at all."""
        keys, numbers, launches, *_ = self._lists
        sizes = len(keys), len(numbers), len(launches)
        self._is_busy = True
        launcher.record(None)  # a handler's launches must not come in between
        try:
            keys += (form, key)
            numbers += others
            launches.append(keep)
            self._stream = None if stream is self.device.default_stream else stream
        except BaseException:
            for each, size in zip((keys, numbers, launches), sizes, strict=True):
                del each[size:]
            raise
        finally:
            self._record()
            self._is_busy = False


class fused(ContextDecorator):  # noqa: N801  # it is a function to its users
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

    def __init__(self) -> None:
        self._blocks: list[tuple[Fusion, Any]] = []

    def __enter__(self) -> Fusion:
        device, outer = current.device(), current.delays()
        if isinstance(outer, Fusion) and outer.is_closed:
            outer = None
        if outer is not None:
            outer.flush()
        fusion = Fusion(device)
        seams.open_for(device)
        self._blocks.append((fusion, outer))
        current.delay(fusion)
        return fusion

    def __exit__(self, *error: object) -> None:
        fusion, outer = self._blocks[-1]
        try:
            fusion.close()
        finally:
            current.delay(outer)
            self._blocks.pop()
            seams.close()

    def __del__(self) -> None:
        """End blocks whose end was interrupted, by an exception of a signal handler."""
        while getattr(self, "_blocks", None):
            if current.delays() is self._blocks[-1][0]:
                self.__exit__()
            else:  # another thread's
                self._blocks.pop()[0].close()
                seams.close()
