"""The loops of a function, and their kernels by a schedule; nothing is launched here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from gridlane.compute import kinds
from gridlane.compute.alone import alone
from gridlane.compute.checking import Bounds, require_numbers
from gridlane.compute.elements import without_copies
from gridlane.compute.emission import Emitter
from gridlane.compute.emitted import Emitted
from gridlane.compute.freedom import Freedom
from gridlane.compute.hand import HandSchedule, Schedule
from gridlane.compute.hinted import hinted
from gridlane.compute.hints import Hints
from gridlane.compute.kept import chosen
from gridlane.compute.libraries import Library, library_of
from gridlane.compute.metadata import Metadata
from gridlane.compute.model import Nest
from gridlane.compute.outside import outside_of
from gridlane.compute.polyhedra import Polyhedra
from gridlane.compute.programs import Program
from gridlane.compute.reading import read
from gridlane.compute.strides import GPU, PROCESSOR, Rates
from gridlane.compute.tensors import bind
from gridlane.compute.typing import Typing
from gridlane.compute.webs import apart
from gridlane.core.errors import ArgumentError
from gridlane.core.source import Loc
from gridlane.launch import current


class Scheduled:
    """A function whose loops have a schedule; see ``Compute``.

    Attributes:
        nest: the loops.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        kernel: str | None,
        metadata: Metadata,
        workgroup: tuple[int, ...] | None,
        fastmath: bool,
        hints: Hints,
        like: Scheduled | None,
    ) -> None:
        self.function, self.metadata, self.workgroup = function, metadata, workgroup
        self.fastmath, self.hints = fastmath, hints
        self._read(kernel, like)
        self._written = {each.write.name for each in self.nest.statements}
        self._programs: dict[Any, Program] = {}
        self._orders: dict[Rates, tuple[Emitted, str]] = {}
        self._schedule: Schedule | None = None

    @alone
    def _read(self, kernel: str | None, like: Scheduled | None) -> None:
        """Read the loops, or share those of another schedule, and require that they are of a kind.
        Names outside of the function keep what they are now."""
        if like is None:
            outside = outside_of(self.function)
            self._builtins = inspect.getclosurevars(self.function).builtins
            self._outside = {**self._builtins, **outside}
            self._text: Nest = apart(read(self.function, outside))
            self.nest: Nest = self._nest_of({})
        else:
            self._outside, self._text, self.nest = like._outside, like._text, like.nest
            self._builtins = like._builtins
        if kernel is not None:
            kinds.require(kinds.named(kernel), self._polyhedra)

    def _nest_of(self, same: Mapping[str, str]) -> Nest:
        """The loops for arrays some of which are the same."""
        return without_copies(self._text, lambda nest: self._typing_of(nest).type_of, same)

    @cached_property
    @alone
    def kind(self) -> kinds.Kind:
        """The most special kind that the loops are of."""
        return kinds.kind_of(self._polyhedra)

    @cached_property
    @alone
    def _polyhedra(self) -> Polyhedra:
        return Polyhedra(self.nest)

    @cached_property
    @alone
    def _bounds(self) -> Bounds:
        return Bounds(self._polyhedra)

    @cached_property
    def _typing(self) -> Typing:
        return self._typing_of(self.nest)

    def _typing_of(self, nest: Nest) -> Typing:
        return Typing(nest, nest.place, self._outside)

    @property
    def emitted(self) -> Emitted:
        """The kernels, and the host's function, for devices of the current one's kind."""
        return self._chosen()[0]

    @alone
    def _chosen(self) -> tuple[Emitted, str]:
        rates = rates_of(self)
        if rates not in self._orders and self._schedule is not None:
            hand = HandSchedule(self._polyhedra, self._schedule)
            emitted = hand.emitted(self._typing, rates.of_lanes)
            self._orders[rates] = emitted, f"# {emitted.order.name}\n"
        elif rates not in self._orders:
            own = rates.of_lanes if self._has_lanes else rates
            emitted, text = chosen(self._polyhedra, self._typing, own)
            emitted = hinted(self._polyhedra, self._typing, own, self.hints, emitted)
            self._orders[rates] = emitted, text
        return self._orders[rates]

    @property
    def _has_lanes(self) -> bool:
        """Whether the user shapes threads, so that these are lanes of blocks."""
        hints = self.hints
        is_shaped = hints.vector_width > 1 or hints.unroll > 1 or hints.coalesced
        is_bound = self.workgroup is not None or bool(self.metadata.launch_bounds)
        return is_shaped or is_bound

    @cached_property
    @alone
    def _library(self) -> tuple[Library | None, tuple[str, ...]]:
        """What computes the loops in their place, or the reasons of what does not."""
        if self._schedule is not None:
            return None, ("the user's schedule",)
        types = {name: self._typing.type_of(name) for name in self.nest.variables}
        any_order = self.fastmath or self.hints.tensor_cores
        freedom = Freedom(self.fastmath, any_order, self.hints.tensor_cores)
        return library_of(self._polyhedra, types, freedom)

    @cached_property
    @alone
    def _rest(self) -> Program | None:
        """What reads the sums of the library."""
        rest = self._library[0].rest if self._library[0] is not None else None
        if rest is None:
            return None
        typing = Typing(rest, rest.place, self._outside)
        emitted = chosen(Polyhedra(rest), typing, rates_of(self))[0]
        return Program(rest, typing, emitted, {}, self.metadata, self.fastmath)

    def _program(self, same: dict[str, str], plain: bool) -> Program:
        """The kernels for arrays some of which are the same."""
        rates = rates_of(self)
        key = tuple(sorted(same.items())), plain, rates
        if key not in self._programs:
            self._programs[key] = self._new_program(same, plain, rates)
        return self._programs[key]

    @alone
    def _new_program(self, same: dict[str, str], plain: bool, rates: Rates) -> Program:
        nest, polyhedra, typing = self.nest, self._polyhedra, self._typing
        if same:
            nest = self._nest_of(same)
            polyhedra, typing = Polyhedra(nest, same), self._typing_of(nest)
        if plain:
            emitted = Emitter(polyhedra, typing, plain).emitted()
        elif self._schedule is not None:
            emitted = HandSchedule(polyhedra, self._schedule).emitted(typing, rates.of_lanes)
        elif same:
            own = rates.of_lanes if self._has_lanes else rates
            emitted = chosen(polyhedra, typing, own)[0]
            emitted = hinted(polyhedra, typing, own, self.hints, emitted)
        else:
            emitted = self.emitted
        return Program(nest, typing, emitted, same, self.metadata, self.fastmath)

    def bound(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters."""
        try:
            bound = inspect.signature(self.function).bind(*args, **keywords)
        except TypeError as error:
            raise ArgumentError(f"{self.nest.name}(): {error}") from None
        return bound.args

    def _values(self, args: tuple[Any, ...]) -> dict[str, int]:
        """The extents and integer arguments of a call, by name.

        Raises:
            ArgumentError: the arguments are not those of the function's types.
        """
        nest = self.nest
        if len(args) != len(nest.arguments):
            raise ArgumentError(
                f"{nest.name}() has {len(nest.arguments)} arguments, and {len(args)} are given"
            )
        given = dict(zip(nest.arguments, args, strict=True))
        whole = require_numbers(nest.scalars, given)
        return {**whole, **bind(nest.tensors, {n: given[n] for n in nest.tensors}, whole)}

    @property
    def _loc(self) -> Loc:
        """The first line of the function, a decorator's."""
        code = self.function.__code__
        return Loc(code.co_filename, code.co_firstlineno, function=self.nest.name)


def rates_of(compute: Scheduled) -> Rates:
    """The costs of the current device."""
    if not current.device().host_visible:
        return replace(GPU, sums=compute.fastmath)
    return replace(PROCESSOR, sums=compute.fastmath)
