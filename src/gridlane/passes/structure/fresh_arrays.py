"""Makes local arrays fresh at each call and iteration, as those of Python are.

An op ``local_array`` is one array of its function, however often it runs. That is the same as long
as nothing refers to the array when the op runs again. Two cases differ:

- A function returns a pointer into its own array. Its calls are inlined, so that the array is the
  caller's.
- A variable still points into the array of an earlier iteration when the op in a loop runs. The op
  then has as many slots as there are such pointers, and one more: it chooses one that none of them
  points into. A number beside each pointer names the slot that it points into, since not all
  devices have numeric addresses.
"""

from __future__ import annotations

from collections.abc import Iterator

from gridlane.core.dtypes import i32
from gridlane.core.errors import UnsupportedError
from gridlane.core.source import Loc
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op
from gridlane.ir.ops import arith, control, memory
from gridlane.ir.types import PointerType
from gridlane.ir.values import Function, Module, Region, Value, Var
from gridlane.passes.structure.call_cycles import callees, cycles_of
from gridlane.passes.structure.inline import declare_variables, inline_into
from gridlane.passes.structure.pointer_lives import Holder, Origins, live_at, root_holder


def freshen_local_arrays(module: Module) -> None:
    """Separate the local arrays that a function returns, or to which a loop still refers."""
    if not any(_arrays(function) for function in module.functions.values()):
        return
    _inline_returning(module)
    for function in list(module.functions.values()):
        _separate_iterations(module, function)


def _arrays(function: Function) -> list[memory.LocalArray]:
    return [op for op in function.body.walk() if isinstance(op, memory.LocalArray)]


# ---- across calls


def _inline_returning(module: Module) -> None:
    """Inline the functions that return pointers into arrays of their own. Those that call
    themselves stay: what ends recursion refuses their arrays."""
    returning = _returning(module) - _recursive(module)
    for function in module.functions.values() if returning else ():
        inline_into(module, function, lambda call: call.callee in returning)


def _recursive(module: Module) -> set[str]:
    graph = {name: callees(module, name) for name in module.functions}
    return {name for names in cycles_of(graph) for name in names}


def _returning(module: Module) -> set[str]:
    """The functions that return pointers into arrays of their own, or of functions they call."""
    candidates = [
        function
        for function in module.functions.values()
        if any(isinstance(type_, PointerType) for type_ in function.results)
    ]
    names: set[str] = set()
    while True:
        more = {each.name for each in candidates if _returns_own(each, names)}
        if more <= names:
            return names
        names |= more


def _returns_own(function: Function, returning: set[str]) -> bool:
    origins = Origins(function, returning)
    return any(
        origins.of(value)
        for op in function.body.walk()
        if isinstance(op, control.Return)
        for value in op.values
    )


# ---- across iterations


def _separate_iterations(module: Module, function: Function) -> None:
    """Make the slots of the arrays in loops that are still pointed into when their op runs."""
    origins = Origins(function, ())
    if not _found_twice(function, origins):
        return
    # A pointer that a call returns is followed where the call is inlined.
    recursive = _recursive(module)
    inline_into(module, function, lambda call: _passes(module, call, recursive))
    _Slots(module, function, _found_twice(function, Origins(function, ()))).rewrite()


def _found_twice(function: Function, origins: Origins) -> dict[memory.LocalArray, list[Holder]]:
    """The arrays that may be pointed into when their op runs again, with what points there then."""
    inside = [op for op in _in_loops(function.body, False) if isinstance(op, memory.LocalArray)]
    kept = [op for op in inside if origins.is_kept(op)]
    lives = live_at(function, kept, origins) if kept else {}
    holders: dict[memory.LocalArray, list[Holder]] = {}
    for op in kept:
        live = [each for each in origins.holders if each in lives[op] and op in origins.of(each)]
        if live:
            holders[op] = list(dict.fromkeys(map(root_holder, live)))
    return holders


def _passes(module: Module, call: control.Call, recursive: set[str]) -> bool:
    """Whether a call may return a pointer that it is passed, and can be inlined."""
    if call.callee in recursive:
        return False
    results = module.functions[call.callee].results
    return any(isinstance(type_, PointerType) for type_ in results)


def _in_loops(region: Region, is_inside: bool) -> Iterator[Op]:
    for op in region.ops:
        if is_inside:
            yield op
        for inner in op.regions():
            yield from _in_loops(inner, is_inside or isinstance(op, control.Loop))


class _Slots:
    """Keeps a number beside each pointer into some arrays: that of the slot that it points into, 0
    for memory elsewhere."""

    def __init__(
        self, module: Module, function: Function, holders: dict[memory.LocalArray, list[Holder]]
    ) -> None:
        self.module, self.function, self.holders = module, function, holders
        self.origins = Origins(function, ())
        self.firsts: dict[Op, int] = {}
        end = 1
        for op, live in holders.items():
            self.firsts[op] = end
            end += len(live) + 1
        self.variables: dict[Var, Var] = {}
        self.values: dict[Value, Value] = {}
        self.behind: dict[Op, list[Op]] = {}
        self.instead: dict[Op, list[Op]] = {}
        start = self._builder(function.loc)
        self.elsewhere = start.const(0, i32)
        self.start = start.region.ops

    def rewrite(self) -> None:
        """Replace the arrays by their slots."""
        for op in self.holders:
            self.values[op.results[0]] = self.elsewhere  # until it is made
        for op, live in self.holders.items():
            self._separate(op, live)
        self._follow_variables()
        for region in list(_regions(self.function.body)):
            ops: list[Op] = []
            for op in region.ops:
                ops += (*self.instead.get(op, (op,)), *self.behind.get(op, ()))
            region.ops = ops
        self.function.body.ops[:0] = self.start

    def _builder(self, loc: Loc) -> Builder:
        b = Builder(self.module, self.function)
        b.region, b.loc = Region(), loc
        return b

    def _separate(self, op: memory.LocalArray, live: list[Holder]) -> None:
        """Replace an array by slots; each run of the op chooses one that nothing points into."""
        count, first, last = _slot_elements(op), self.firsts[op], self.firsts[op] + len(live)
        numbers = [self._slot(each) for each in live if isinstance(each, Value)]
        b = self._builder(op.loc)
        base = b.value(memory.LocalArray(op.element, count * (len(live) + 1), op.align))
        numbers += [b.read(self._beside(each)) for each in live if isinstance(each, Var)]
        chosen = b.const(last, i32)
        for slot in reversed(range(first, last)):
            taken: Value | None = None
            for number in numbers:
                same = b.eq(number, b.const(slot, i32))
                taken = same if taken is None else b.or_(taken, same)
            assert taken is not None
            chosen = b.select(taken, chosen, b.const(slot, i32))
        index = b.mul(b.sub(chosen, b.const(first, i32)), b.const(count, i32))
        # The other ops keep referring to its result.
        moved = memory.Offset(base, index, loc=op.loc)
        moved.results = op.results
        moved.results[0].op = moved
        b.emit(moved)
        self.instead[op] = b.region.ops
        self.values[moved.results[0]] = chosen

    def _beside(self, var: Var) -> Var:
        """The variable of the numbers of the pointers in another one."""
        if var not in self.variables:
            new_var = Var(f"{var.name}.slot", i32)
            declare_variables(self.function, [new_var])
            self.variables[var] = new_var
        return self.variables[var]

    def _follow_variables(self) -> None:
        """Write a number beside each pointer; the pointers written may be read of variables that
        have none yet."""
        writes = [op for op in self.function.body.walk() if isinstance(op, memory.WriteVar)]
        known = 0
        while known != len(self.variables):
            known = len(self.variables)
            for op in writes:
                if op.var in self.variables and op not in self.behind:
                    b = self._builder(op.loc)
                    b.write(self.variables[op.var], self._slot(op.value))
                    self.behind[op] = b.region.ops

    def _slot(self, value: Value) -> Value:
        """The number of the slot that a value points into, made where the value is."""
        # An array that has its slots is arithmetic on these.
        root = root_holder(value, self.values)
        assert isinstance(root, Value)
        if not any(op in self.firsts for op in self.origins.of(root)):
            return self.elsewhere
        slot = self.values.get(root)
        if slot is None:
            assert root.op is not None
            b = self._builder(root.op.loc)
            slot = self.values[root] = self._number(b, root.op)
            self.behind[root.op] = b.region.ops
        return slot

    def _number(self, b: Builder, op: Op) -> Value:
        if isinstance(op, memory.ReadVar):
            return b.read(self._beside(op.var))
        if isinstance(op, arith.Select):
            return b.select(op.condition, self._slot(op.on_true), self._slot(op.on_false))
        what = f"{op.callee}()" if isinstance(op, control.Call) else f"a {op.name}"
        raise UnsupportedError(
            f"{what} may return an array of an earlier iteration, which the loop still refers to; "
            "make the array outside of the loop",
            op.loc,
        )


def _slot_elements(op: memory.LocalArray) -> int:
    """The elements of a slot, so that each one is aligned as the array is."""
    count = op.count
    while op.align and count * op.element.size % op.align:
        count += 1
    return count


def _regions(region: Region) -> Iterator[Region]:
    yield region
    for op in region.ops:
        for inner in op.regions():
            yield from _regions(inner)
