"""A kernel of a PTX module, with the functions that it calls, as IR at stage ``cfg``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from gridlane.core.config import config
from gridlane.core.dtypes import u32
from gridlane.core.errors import PtxError
from gridlane.frontends.ptx.addresses import Numbering, Place
from gridlane.frontends.ptx.data import ModuleData
from gridlane.frontends.ptx.declarations import Declared
from gridlane.frontends.ptx.function import FunctionTranslation
from gridlane.frontends.ptx.further import FURTHER
from gridlane.frontends.ptx.module import PtxFunction, PtxModule
from gridlane.frontends.ptx.roots import Root
from gridlane.frontends.ptx.types import unsigned
from gridlane.frontends.ptx.variables import SEGMENT, Segments
from gridlane.ir.ops import graph, memory
from gridlane.ir.ops.clusters import ALONE
from gridlane.ir.ops.shared_matrix import ALIGN
from gridlane.ir.types import PointerType, Space
from gridlane.ir.values import ErrorSite, Function, Global, Module, Param
from gridlane.passes.structure.call_cycles import cycles_of


def translate(module: PtxModule, name: str, cluster: tuple[int, int, int] | None = None) -> Module:
    """The IR of a kernel, at stage ``cfg``.

    Args:
        cluster: the blocks of a cluster along each axis; None for what the kernel says, or one.

    Raises:
        PtxError: the kernel, or a function that it reaches, is malformed or is not translated.
    """
    entry = module.functions.get(name)
    if entry is None or not entry.is_entry or not entry.has_body:
        known = ", ".join(module.entries) or "none"
        module.text.fail(f"there is no kernel {name} here; the kernels are: {known}", 0)
    return translate_root(module, Root(entry), cluster or entry.cluster or ALONE)


def translate_root(module: PtxModule, root: Root, cluster: tuple[int, int, int] = ALONE) -> Module:
    """The IR of a kernel or function, with the functions that it calls, at stage ``cfg``.

    Raises:
        PtxError: the root, or a function that it reaches, is malformed or is not translated.
    """
    numbering = Numbering(set(), set())
    while True:
        whole = _Translation(module, root, numbering, cluster)
        try:
            new_module = whole.run()
        except PtxError:
            if whole.is_settled:
                raise
        else:
            if whole.is_settled:
                return new_module
        numbering = whole.found


class _Translation:
    """The functions of a kernel, or of a function that other code calls.

    Attributes:
        numbering: the spaces whose addresses are numbers in this attempt.
        found: the results for the next attempt: spaces whose addresses become numbers, and more.
        joined: functions of other frontends, by their keys.
        is_explicit: whether the launch or the kernel says how many blocks a cluster has.
    """

    def __init__(
        self,
        module: PtxModule,
        root: Root,
        numbering: Numbering,
        cluster: tuple[int, int, int] = ALONE,
    ) -> None:
        self.module, self.root, self.numbering = module, root, numbering
        self.entry = root.function
        self.cluster = cluster
        self.is_explicit = cluster != ALONE or root.function.names_clusters
        self.made = Module(cluster=cluster)
        self.data = ModuleData(module)
        self.found = replace(
            numbering,
            spaces=set(numbering.spaces),
            places=set(numbering.places),
            cycles=set(numbering.cycles),
        )
        self.segments = Segments(config().stack if numbering.frames else 0)
        self.joined: dict[Hashable, Function] = {}
        self._waiting: list[str] = []
        self._parts: dict[str, FunctionTranslation] = {}

    @property
    def is_settled(self) -> bool:
        """Whether another attempt would be the same."""
        known, next_numbering = self.numbering, self.found
        same = next_numbering.spaces == known.spaces and (
            not next_numbering.spaces or next_numbering.places == known.places
        )
        same = same and (next_numbering.asks, next_numbering.size) == (known.asks, known.size)
        same = same and next_numbering.described == known.described
        return (
            same and next_numbering.cycles == known.cycles and next_numbering.frames == known.frames
        )

    def run(self) -> Module:
        """Translate the kernel, then what it calls."""
        self._declare(self.root, self.root.name)
        while self._waiting:
            self._parts[self._waiting.pop()].run()
        self._find_cycles()
        self._pass_on()
        if Space.SHARED in self.numbering.spaces:
            words = 4 * max(1, self.segments.words(Place.SHARED))
            align = ALIGN if self.found.described else 16
            self.made.globals[SEGMENT] = Global(SEGMENT, u32, words, Space.SHARED, align, None)
        if self.found.asks or self.found.described:
            self.found.size = _end(self.made.globals.values())
        return self.made

    def function(self, function: PtxFunction, spaces: Mapping[Declared, Space]) -> Function:
        """The IR function of a function, which is translated later: one for each combination of
        spaces that its parameters point to, if they receive pointers."""
        ends = [f"{n}{spaces[p].name[0]}" for n, p in enumerate(function.params) if p in spaces]
        name = ".".join([function.name, *ends])
        return self.made.functions.get(name) or self._declare(Root(function, spaces), name)

    def keeps_pointers(self, function: PtxFunction) -> bool:
        """Whether addresses that a function receives stay pointers: those of functions that other
        code calls, as their own may. A function that calls itself is one function."""
        return not self.entry.is_entry and function.name not in self.numbering.cycles

    def _declare(self, root: Root, name: str) -> Function:
        loc = self.module.text.loc(root.function.at)
        new_function = Function(name, is_kernel=root.function.is_entry, loc=loc)
        self.made.functions[name] = new_function
        self._parts[name] = part = FunctionTranslation(self, root, new_function)
        part.declare()
        self._waiting.append(name)
        return new_function

    def addressed_parameters(self) -> Sequence[Declared]:
        """The parameters of the kernel whose address is taken."""
        return self._parts[self.root.name].variables.addressed

    def error(self, site: ErrorSite) -> int:
        """The number of an error in the module's table."""
        self.made.errors.append(site)
        return len(self.made.errors) - 1

    def _find_cycles(self) -> None:
        """Note the functions that call themselves. All addresses of shared and local memory are
        numbers then, which a stack can hold."""
        for names in cycles_of({name: self._callees(name) for name in self._parts}):
            self.found.cycles |= {self._parts[name].function.name for name in names}
            self.found.spaces |= {Space.SHARED, Space.LOCAL}
            self.found.frames |= any(self._parts[name].variables.has_locals for name in names)

    def _callees(self, name: str) -> list[str]:
        return [call.callee for call in self._parts[name].calls.made]

    def _pass_on(self) -> None:
        """Give the kernel the parameters of FURTHER that it uses, and local memory whose addresses
        are numbers; and hand them on to the functions that use them."""
        for kind in (*FURTHER, "depot"):
            users = {name for name, part in self._parts.items() if getattr(part.variables, kind)}
            waiting = list(users)
            while waiting:
                callee = waiting.pop()
                for name in self._parts:
                    if name not in users and callee in self._callees(name):
                        users.add(name)
                        waiting.append(name)
            for name, part in self._parts.items():
                for call in part.calls.made:
                    if call.callee in users:
                        call.arguments = (*call.arguments, part.variables.handed(kind))
                if name in users:
                    self._receive(part, kind)

    def _receive(self, part: FunctionTranslation, kind: str) -> None:
        value, function = part.variables.handed(kind), part.made
        if kind in FURTHER or not part.is_root:
            number = FURTHER.index(kind) if kind in FURTHER else len(FURTHER)
            function.params.append(Param(value, len(part.function.params) + number, ()))
            return
        array = memory.LocalArray(
            unsigned(64), 2 * self.segments.words(Place.LOCAL), loc=function.loc
        )
        assert isinstance(value.type, PointerType)
        start = memory.Recast(array.result, value.type, loc=function.loc)
        start.results, value.op = (value,), start
        (whole,) = function.body.ops
        assert isinstance(whole, graph.Graph)
        (first, *_) = whole.body.ops
        assert isinstance(first, graph.Block)
        first.body.ops[:0] = [array, start]


def _end(variables: Iterable[Global]) -> int:
    """Where the last variable of shared memory ends, if they lie one after the other."""
    end = 0
    for each in variables:
        if each.space is Space.SHARED:
            end = -(-end // each.align) * each.align + each.size
    return end
