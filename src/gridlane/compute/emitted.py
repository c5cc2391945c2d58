"""What a nest's loops become: the texts of kernels, and of what launches them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gridlane.compute.schedules import Order
from gridlane.compute.splitting import SplitText
from gridlane.core.frozen import frozen


@frozen
class Span:
    """A parallel loop: the texts of its first and last value, on the host, and its step."""

    name: str
    first: str
    last: str
    step: int


@frozen
class KernelText:
    """A kernel.

    Attributes:
        name: of its function.
        text: of its function, in the dialect of numba.cuda.
        arguments: names of tensors, cells, parameters and loops of the host.
        spans: the loops that are threads, x first.
        loops: names of the loops that are threads, in the function's text.
        threads: of its only block, where no loops are.
        is_walk: each block has one thread, whose innermost loops are vectors.
        splits: kernels of threads that share iterations.
        is_strided: iterations along x are not next to each other, and those of shared sums are.
        notes: on what threads share, for ``explain``.
    """

    name: str
    text: str
    arguments: tuple[str, ...]
    spans: tuple[Span, ...]
    loops: tuple[str, ...]
    threads: int = 1
    is_walk: bool = False
    splits: tuple[SplitText, ...] = ()
    is_strided: bool = False
    notes: tuple[str, ...] = ()


@frozen
class Emitted:
    """A nest's kernels and its host's function.

    Attributes:
        host: the text of ``host(launch, ...)``, which calls ``launch(number, spans, arguments)``.
        cells: variables that several kernels share: one element each.
        order: that in which iterations run.
        cost: of the launches and iterations.
        is_strided: threads next to each other access elements that are not.
        small: the same for small extents, by a kernel of one block.
        strips: places of parallel loops in the order, of statements that are better in strips, and
            iterations of a strip.
        aligned: a tensor along whose memory strips would go.
    """

    kernels: tuple[KernelText, ...]
    host: str
    cells: tuple[str, ...]
    order: Order
    cost: float
    is_strided: bool
    small: Emitted | None = None
    strips: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    aligned: str = ""
