"""Kernels of a nest, compiled at their first launch, and their launches."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from gridlane import cuda
from gridlane.compute.choosing import SMALL
from gridlane.compute.emitted import Emitted, KernelText
from gridlane.compute.known import Steps
from gridlane.compute.metadata import Metadata
from gridlane.compute.model import Nest
from gridlane.compute.splitting import SplitText, pick, second_of
from gridlane.compute.typing import CONVERSIONS, NAMES, Typing
from gridlane.core.generated_text import function_of
from gridlane.cuda.arrays.devicearray import DeviceNDArray
from gridlane.launch import current
from gridlane.launch.geometry import address_of

_MOST_BLOCKS = 65535
"""Blocks along y and z that every device has."""
_THREADS = 256
_MOST_WITH_ARRAYS = 256
"""Launches that are kept with arrays of their own."""
_LINE = 64
"""Bytes of a line of the processor's caches."""
_RESIDENT = 2048
"""Threads that a multiprocessor has at once."""
_SCOPE = {"cuda": cuda, "math": math, **CONVERSIONS}


class Program:
    """Kernels of a nest, compiled at their first launch.

    Attributes:
        same: the arrays for which it is, by tensors that are the same array as another one.
    """

    def __init__(
        self,
        nest: Nest,
        typing: Typing,
        emitted: Emitted,
        same: dict[str, str],
        metadata: Metadata,
        fastmath: bool,
    ) -> None:
        self.nest, self.typing, self.metadata = nest, typing, metadata
        self.emitted, self.same = emitted, same
        scope = {**_SCOPE, **nest.captured}
        self.fastmath = fastmath
        # Calls with arrays that share memory are refused, but for those that are the same.
        is_apart = not same and current.device().host_visible
        self.options: dict[str, Any] = {**metadata.options, "apart": is_apart}
        jit = cuda.jit(fastmath=fastmath, **self.options)
        self._split_kernels: dict[str, Any] = {}
        self._with_arrays = 0
        self.kernels = [jit(function_of(k.text, k.name, scope)) for k in emitted.kernels]
        self.host = function_of(emitted.host, "host", {})
        self.small: Program | None = None
        if emitted.small is not None and metadata.workgroup is None:
            self.small = Program(nest, typing, emitted.small, same, metadata, fastmath)

    def run(
        self, given: dict[str, Any], extents: dict[str, int], steps: Steps | None = None
    ) -> None:
        """Run the host's function.

        Args:
            steps: gets the launches.
        """
        if self.small is not None and max(extents.values(), default=0) <= SMALL:
            self.small.run(given, extents, steps)
            return
        values = dict(given)
        if self.emitted.cells:
            current.submit_delayed()  # each call fills them: a capture refuses that
        for name in self.emitted.cells:
            kind = CONVERSIONS[NAMES[str(self.typing.type_of(name))]]
            values[f"{name}__cell"] = cuda.to_device(np.zeros(1, kind))
        order = self.emitted.order
        if order.shift:
            values[order.shift] = elements_behind_line(given[order.aligned])
        if steps is not None and self.emitted.cells:
            steps.refuse()  # the cells are of one call
        self.host(partial(self._launch, steps), **{**values, **extents})

    def _launch(
        self,
        steps: Steps | None,
        number: int,
        spans: tuple[tuple[int, int, int], ...],
        args: tuple[Any, ...],
        lengths: tuple[int, int, bool] = (0, 0, False),
    ) -> None:
        """Launch a kernel over all values of its loops, by several grids if one is too large."""
        counts = [(last - first) // step + 1 for first, last, step in spans]
        if any(count < 1 for count in counts):
            return
        text, kernel = self.emitted.kernels[number], self.kernels[number]
        is_own = self.metadata.workgroup is None and not self.metadata.launch_bounds
        is_own = is_own or any(each.blocks for each in text.splits)
        if text.splits and is_own and self._has_split(steps, text, spans, counts, args, lengths):
            return
        block = self._block(text, counts)
        blocks = [-(-count // extent) for count, extent in zip(counts, block, strict=True)]
        firsts = [first for first, _, _ in spans]
        grids = [(blocks, firsts)]
        for axis in (1, 2):
            grids = [part for each in grids for part in _split(*each, axis, block, spans)]
        for blocks, firsts in grids:
            values = {f"{s.name}__first": n for s, n in zip(text.spans, firsts, strict=True)}
            more = [values[name] for name in text.arguments if name.endswith("__first")]
            shape = tuple(blocks) or (1,), block or (text.threads,)
            where = *shape, 0, self.metadata.shared_bytes
            launch = kernel[where]
            launch(*args, *more)
            if steps is not None:
                steps.add(launch, text.arguments, (*args, *more))

    def _has_split(
        self,
        steps: Steps | None,
        text: KernelText,
        spans: tuple[tuple[int, int, int], ...],
        counts: list[int],
        args: tuple[Any, ...],
        lengths: tuple[int, int, bool],
    ) -> bool:
        """Launch kernels whose threads share iterations, if those are faster here."""
        resident = current.device().limits.multiprocessors * _RESIDENT
        found = pick(text.splits, counts, lengths, text.is_strided, resident)
        if found is None:
            return False
        split, blocks = found
        own = [each for each in text.arguments if not each.endswith("__first")]
        values: dict[str, Any] = dict(zip(own, args, strict=True))
        values |= {f"{s.name}__first": first for s, (first, *_) in zip(text.spans, spans)}
        values[split.count] = blocks
        shape = blocks, *(counts[1:] or [1]), *(counts[:1] or [1])
        if split.arrays and steps is not None:
            self._with_arrays += 1  # launches that are kept keep them
            if self._with_arrays > _MOST_WITH_ARRAYS:
                steps.refuse()
        for name, kind in split.arrays.items():
            values[name] = cuda.device_array(shape, np.dtype(CONVERSIONS[NAMES[kind]]))
        for place, names in enumerate(split.arguments):
            kernel = self._split_kernel(split, place)
            where = *split.shape(place, counts, blocks), 0, self.metadata.shared_bytes
            given = tuple([values[name] for name in names])
            launch = kernel[where]
            launch(*given)
            if steps is not None:
                steps.add(launch, names, given)
        return True

    def _split_kernel(self, split: SplitText, place: int) -> Any:
        key = split.texts[place]
        if key not in self._split_kernels:
            function = function_of(key, split.names[place], {**_SCOPE, **self.nest.captured})
            way = split.way if place == 0 else second_of(split.way)
            options: dict[str, Any] = {
                **self.options,
                "launch_bounds": way.threads * way.across,
            }
            jit = cuda.jit(fastmath=self.fastmath, **options)
            self._split_kernels[key] = jit(function)
        return self._split_kernels[key]

    def _block(self, text: KernelText, counts: list[int]) -> tuple[int, ...]:
        if text.is_walk:
            return (1,) * len(counts)
        asked = self.metadata.workgroup
        if asked is not None:
            return (*asked, 1, 1)[: len(counts)]
        if not counts:
            return ()
        most = min(_THREADS, *self.metadata.launch_bounds[:1] or (_THREADS,))
        x = min(most, max(32, 1 << (counts[0] - 1).bit_length()))
        others = [1] * (len(counts) - 1)
        if others and not current.device().host_visible:
            x = min(x, 32)
            others[0] = min(most // x, 1 << (counts[1] - 1).bit_length())
        return (x, *others)


def elements_behind_line(array: Any) -> int:
    """How many elements in front of an array its line of memory has, of an array all of whose rows
    begin so; 0 for any other.

    >>> elements_behind_line(np.zeros((4, 3)))
    0
    """
    if type(array) is np.ndarray:
        address = address_of(array)
    elif type(array) is DeviceNDArray:
        address = array.address
    else:
        return 0
    size, strides = array.dtype.itemsize, array.strides
    if strides[-1] != size or any(step % _LINE for step in strides[:-1]) or address % size:
        return 0
    return address % _LINE // size


def _split(
    blocks: list[int],
    firsts: list[int],
    axis: int,
    block: tuple[int, ...],
    spans: tuple[tuple[int, int, int], ...],
) -> list[tuple[list[int], list[int]]]:
    """Grids whose blocks along an axis are as few as devices have."""
    if axis >= len(blocks) or blocks[axis] <= _MOST_BLOCKS:
        return [(blocks, firsts)]
    found: list[tuple[list[int], list[int]]] = []
    step = _MOST_BLOCKS * block[axis] * spans[axis][2]
    for start in range(0, blocks[axis], _MOST_BLOCKS):
        count = min(_MOST_BLOCKS, blocks[axis] - start)
        moved = firsts[axis] + start // _MOST_BLOCKS * step
        fewer, later = [*blocks], [*firsts]
        fewer[axis], later[axis] = count, moved
        found.append((fewer, later))
    return found
