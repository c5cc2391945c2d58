"""Schedules of a nest by measurement: its orders, workgroups, vectors and unrolled loops."""

# pyright: reportPrivateUsage=false
# A candidate is the same function with other choices, which users do not see.

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from gridlane import cuda
from gridlane.compute.choosing import choose
from gridlane.compute.emission import Emitter
from gridlane.compute.emitted import Emitted
from gridlane.compute.hand import Schedule
from gridlane.compute.hinted import hinted
from gridlane.compute.hints import Hints
from gridlane.compute.libraries import Library
from gridlane.compute.metadata import Metadata
from gridlane.compute.model import Nest
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.schedules import orders_of
from gridlane.compute.strides import Rates
from gridlane.compute.typing import Typing
from gridlane.core.encoding import encode
from gridlane.launch import current
from gridlane.tuning import classes, memory
from gridlane.tuning.errors import TuningError
from gridlane.tuning.results import Tuning
from gridlane.tuning.search import tune
from gridlane.tuning.spaces import Candidate, Space

CHOSEN = "chosen"
"""The order, or the library's call, that is used without tuning: the plain schedule's."""
_WORKGROUPS = {1: (64, 128, 512), 2: ((32, 4), (64, 2), (16, 16), (8, 8)), 3: ((32, 4), (16, 8))}
"""Workgroups by the loops that are threads."""
_ON_HOST = {1: (32, 64, 1024), 2: ((32, 1), (32, 4), (64, 1)), 3: ((32, 1), (32, 4))}
_VECTORS, _UNROLLS = (1, 2, 4), (1, 2, 4)
_ORDERS_SHARE = 0.3
"""Of the deadline, after which no further order is computed."""
_COMPILE_S = 10.0
"""Seconds that the first run of a candidate may compile for."""


class Tunable(Protocol):
    """What a function of loops has that is tuned; see ``running.Compute``."""

    nest: Nest
    hints: Hints
    workgroup: tuple[int, ...] | None
    fastmath: bool
    metadata: Metadata
    _schedule: Schedule | None
    _orders: dict[Rates, tuple[Emitted, str]]
    _written: set[str]

    @cached_property
    def _polyhedra(self) -> Polyhedra: ...

    @cached_property
    def _typing(self) -> Typing: ...

    @cached_property
    def _library(self) -> tuple[Library | None, tuple[str, ...]]: ...

    def _chosen(self) -> tuple[Emitted, str]: ...

    def _run_untuned(self, args: tuple[Any, ...]) -> None: ...

    def with_choices(self, workgroup: tuple[int, ...] | None, hints: Hints) -> Any:
        """The same function with another workgroup and other hints."""
        ...


C = TypeVar("C", bound=Tunable)


class Variants(Generic[C]):
    """The candidates of a nest on a kind of device, each a function of its own.

    Args:
        seconds: for orders; those that isl has not found by then are none.
    """

    def __init__(self, compute: C, rates: Rates, seconds: float) -> None:
        self.compute, self.rates = compute, rates
        end = time.monotonic() + seconds
        self.orders: dict[str, Emitted] = {CHOSEN: compute._chosen()[0]}
        polyhedra, typing = compute._polyhedra, compute._typing
        if compute._schedule is None:
            for order in orders_of(polyhedra):
                emitted = Emitter(polyhedra, typing, order=order, rates=rates).emitted()
                is_new = all(emitted.kernels != each.kernels for each in self.orders.values())
                if is_new and polyhedra.keeps(order.map):
                    self.orders[order.name] = emitted
                if time.monotonic() > end:
                    break
        self._made: dict[Hashable, C] = {}
        self._chosen: dict[Rates, Emitted] = {}

    @cached_property
    def space(self) -> Space:
        """The orders, with what each may have."""
        compute = self.compute
        chosen = self.orders[CHOSEN]
        spans = max([len(each.spans) for each in chosen.kernels], default=0)
        groups = (_ON_HOST if current.device().host_visible else _WORKGROUPS).get(spans, ())
        groups = [compute.workgroup] if compute.workgroup else [None, *groups]
        by_hand = compute._schedule is not None
        vectors = (
            (compute.hints.vector_width,)
            if by_hand
            else _first(compute.hints.vector_width, _VECTORS)
        )
        unrolls = (compute.hints.unroll,) if by_hand else _first(compute.hints.unroll, _UNROLLS)
        return Space(
            {
                "order": [*self.orders],
                "workgroup": [(each,) if isinstance(each, int) else each for each in groups],
                "vector": vectors,
                "unroll": unrolls,
            }
        )

    def of(self, candidate: Candidate) -> C:
        """The function of a candidate."""
        made = self._made.get(candidate.place)
        if made is None:
            made = self._made[candidate.place] = self._variant(candidate)
        return made

    def _variant(self, candidate: Candidate) -> C:
        original, values = self.compute, candidate.named
        if candidate == self.space.plain:
            return original
        hints = replace(original.hints, vector_width=values["vector"], unroll=values["unroll"])
        made = original.with_choices(values["workgroup"], hints)
        emitted, rates = self.orders[values["order"]], self.rates
        if values["workgroup"] is not None or hints.vector_width > 1 or hints.unroll > 1:
            rates = rates.of_lanes
        if values["order"] == CHOSEN and original._schedule is None:
            if rates not in self._chosen:
                self._chosen[rates] = choose(original._polyhedra, original._typing, rates)[0]
            emitted = self._chosen[rates]
        elif original._schedule is None and rates != self.rates:
            polyhedra, typing = original._polyhedra, original._typing
            emitted = Emitter(polyhedra, typing, order=emitted.order, rates=rates).emitted()
        if original._schedule is None:
            emitted = hinted(original._polyhedra, original._typing, rates, hints, emitted)
        made._orders[self.rates] = emitted, f"# {emitted.order.name}, by measurement\n"
        if values["order"] != CHOSEN:
            made.__dict__["_library"] = None, ("an order that was measured",)
        return made

    def cost(self, candidate: Candidate) -> float:
        """The cost of an order, and a guess of what the rest changes."""
        values = candidate.named
        cost = self.orders[values["order"]].cost
        if values["workgroup"] is not None:
            cost *= max(1.0, 32 / values["workgroup"][0]) * 1.02
        wide = values["vector"] * values["unroll"]
        return cost * (1.0 if wide == 1 else 0.95 if wide <= 4 else 1.05)


def _first(value: int, others: tuple[int, ...]) -> tuple[int, ...]:
    return (value, *(each for each in others if each != value))


class NestSubject:
    """A nest with arguments; see ``tuning.search.Subject``."""

    compiles_s = _COMPILE_S

    def __init__(self, variants: Variants[Any], args: tuple[Any, ...]) -> None:
        self.variants, self.compute = variants, variants.compute
        nest = self.compute.nest
        self.name, self.fastmath = nest.name, self.compute.fastmath
        self.shapes = shapes_of(self.compute, args)
        self.args = _on_device(args)
        given = dict(zip(nest.arguments, self.args, strict=True))
        tensors = [given[name] for name in nest.tensors]
        if len(memory.apart(tensors)) < len(tensors):
            raise TuningError(f"tune: {self.name}: arrays share memory, or do not say where it is")
        self.arrays = memory.arrays_in(tensors)
        read = {each.name for statement in nest.statements for each in statement.reads}
        read |= {each.write.name for each in nest.statements if each.operator}
        alone = [given[name] for name in self.compute._written - read if name in nest.tensors]
        self.outputs = frozenset(
            n for n, each in enumerate(self.arrays) if any(each is other for other in alone)
        )

    @property
    def source(self) -> bytes:
        """The kernels' texts in all orders, what they capture, and the function's options."""
        compute = self.compute
        texts = [kernel.text for each in self.variants.orders.values() for kernel in each.kernels]
        hosts = [each.host for each in self.variants.orders.values()]
        metadata = repr((compute.metadata, compute.hints, compute.fastmath))
        captured = tuple(sorted(compute.nest.captured.items()))
        return sha256(encode((tuple(texts), tuple(hosts), metadata, captured))).digest()

    def prepare(self, candidate: Candidate) -> None:
        """Make the candidate's function; its first run compiles."""
        self.variants.of(candidate)

    def launch(self, candidate: Candidate) -> None:
        """Compute by a candidate."""
        self.variants.of(candidate)._run_untuned(self.args)

    def estimate(self, candidate: Candidate) -> float:
        """By the count that chooses among orders."""
        return self.variants.cost(candidate)

    def kind(self, candidate: Candidate) -> Hashable:
        """The texts of a candidate's kernels and its workgroup; a library's call is one."""
        values, plain = candidate.named, self.variants.space.plain
        if values["order"] == CHOSEN and self.compute._library[0] is not None:
            return CHOSEN
        if candidate == plain:
            return candidate.values
        try:
            emitted = self.variants.of(candidate)._chosen()[0]
        except Exception:  # its trial shows the error
            return candidate.values
        texts = tuple([each.text for each in emitted.kernels])
        return texts, emitted.host, values["workgroup"]


def _on_device(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with NumPy's arrays copied to the device, where that has memory of its own."""
    if current.device().host_visible:
        return args
    return tuple([cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in args])


def shapes_of(compute: Tunable, args: tuple[Any, ...]) -> str:
    """The class of arguments, as text."""
    shown: list[str] = []
    for name, value in zip(compute.nest.arguments, args, strict=True):
        if name in compute.nest.tensors:
            shown.append(f"{value.dtype}{classes.of_shape(value.shape)}")
        elif isinstance(value, int | np.integer):
            shown.append(classes.of_number(int(value)))
        else:
            shown.append(type(value).__name__)
    return ", ".join(shown)


def tuned(
    compute: C, rates: Rates, args: tuple[Any, ...], seconds: float, most: int,
    tolerance: float | None,
) -> tuple[Tuning, C]:  # fmt: skip
    """Tune a nest on the current device; the tuning, and the function of its best candidate."""
    if not seconds > 0:
        raise TuningError(f"tune: seconds={seconds}: a deadline is a number of seconds above 0")
    begin = time.monotonic()
    variants = Variants(compute, rates, _ORDERS_SHARE * seconds)
    subject = NestSubject(variants, args)
    left = max(seconds - (time.monotonic() - begin), 0.05 * seconds)
    tuning = tune(subject, variants.space, left, most, tolerance)
    return tuning, variants.of(tuning.best.candidate)
