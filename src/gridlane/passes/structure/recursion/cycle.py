"""One function for the functions of a cycle of calls."""

from __future__ import annotations

from gridlane.core.dtypes import DType, b1, u32, u64
from gridlane.core.dtypes import by_name as dtype
from gridlane.ir.builder import Builder
from gridlane.ir.op import Op, clone_op
from gridlane.ir.ops import arith, control, graph, memory
from gridlane.ir.types import PointerType, Space, Type, pointer
from gridlane.ir.values import ErrorSite, Function, Module, Param, Region, Value, Var
from gridlane.passes.structure.inline import declare_variables
from gridlane.passes.structure.recursion.segments import Member, Segment


class Cycle:
    """The functions of a cycle, each in segments."""

    def __init__(self, module: Module, functions: list[Function]) -> None:
        self.module = module
        names = {function.name for function in functions}
        self.given = handed_on(functions)
        self.members = [Member(each, names, self.given[each.name]) for each in functions]

    @property
    def saves_addresses(self) -> bool:
        """Whether the stack holds pointers."""
        return any(
            isinstance(var.type, PointerType)
            for member in self.members
            for segment in member.segments
            if segment.after is not None
            for var in member.variables
            if var in segment.live
        )

    def entered_at(self, name: str, words: int) -> Function:
        """A function that does what one of the cycle does. Its last parameter, which it has more
        than that, is a stack of so many words."""
        return _Loop(self, name, words).run()


def handed_on(functions: list[Function]) -> dict[str, list[Param]]:
    """The parameters that all calls of a cycle pass on unchanged, by the function; parameters with
    one value have one index in all lists."""
    called = {function.name: function for function in functions}
    group = {param.value: {param.value} for f in functions for param in f.params}
    changing: set[Value] = set()
    for function in functions:
        for op in function.body.walk():
            if not isinstance(op, control.Call) or op.callee not in called:
                continue
            for given, param in zip(op.arguments, called[op.callee].params, strict=True):
                if given not in group:
                    changing.add(param.value)
                elif group[given] is not group[param.value]:
                    group[given] |= group[param.value]
                    group.update(dict.fromkeys(group[param.value], group[given]))
    first = functions[0]
    kept = [group[p.value] for p in first.params if _is_kept(group[p.value], functions, changing)]
    return {f.name: [p for each in kept for p in f.params if p.value in each] for f in functions}


def _is_kept(group: set[Value], functions: list[Function], changing: set[Value]) -> bool:
    """Whether the values of a group are one: no call changes it, and each function has it once."""
    once = all(sum(p.value in group for p in f.params) == 1 for f in functions)
    return once and not group & changing


class _Loop:
    """The function that a cycle becomes for calls of one of its functions.

    Each target of the dispatch has a number: 0 ends the loop, the functions follow, then the calls.
    """

    def __init__(self, cycle: Cycle, name: str, words: int) -> None:
        self.cycle, self.words = cycle, words
        (self.entry,) = (each for each in cycle.members if each.function.name == name)
        entry = self.entry.function
        params = [
            Param(Value(p.value.type, None, p.value.name), p.argument, p.path) for p in entry.params
        ]
        self.made = Function(name, params, entry.results, loc=entry.loc)
        self.passed = dict(zip(entry.params, [p.value for p in params], strict=True))
        self.b = Builder(cycle.module, self.made)
        self.b.loc = entry.loc
        # A function may have the stacks of others, too.
        self.stack = Value(pointer(u32, Space.LOCAL), None, f"stack.{name}")
        self.values: dict[Value, Value] = {}
        self.variables: dict[Var, Var] = {}
        self.results: dict[str, list[Var]] = {}
        self.graph = graph.Graph(Region())
        self.labels: dict[Segment, int] = {}
        self.next_label = 3
        self.places: list[int] = []
        self.numbers: dict[control.Call, int] = {}

    def run(self) -> Function:
        """Make the function."""
        members, b = self.cycle.members, self.b
        self._declare()
        self.top, self.place = b.variable("stack.top", u32), b.variable("stack.place", u32)
        self.made.params.append(Param(self.stack, len(self.made.params)))
        for member in members:
            for op in member.hoisted:
                b.emit(clone_op(op, self.values, self.variables))
        b.emit(self.graph)
        for member in members:
            self.labels.update((each, self._label()) for each in member.segments)
        self.places = [2, *(self.labels[each.segments[0]] for each in members)]
        after = [each for member in members for each in member.segments if each.after]
        self.numbers = {
            each.after: len(self.places) + n for n, each in enumerate(after) if each.after
        }
        self.places += [self.labels[each] for each in after]
        self._begin()
        self._dispatch()
        for member in members:
            for each in member.segments:
                self._segment(member, each)
        return self.made

    def _declare(self) -> None:
        for member in self.cycle.members:
            name = member.function.name
            for var in member.variables:
                self.variables[var] = Var(f"{name}.{var.name}", var.type)
            self.results[name] = [Var(f"{name}.result", type_) for type_ in member.function.results]
            declare_variables(self.made, [self.variables[var] for var in member.variables])
            declare_variables(self.made, self.results[name])
            given = zip(self.cycle.given[name], self.cycle.given[self.entry.function.name])
            self.values.update((old.value, self.passed[own]) for old, own in given)

    def _label(self) -> int:
        self.next_label += 1
        return self.next_label - 1

    def _open(self, label: int) -> None:
        block = graph.Block(label, Region(), loc=self.b.loc)
        self.graph.body.ops.append(block)
        self.b.region = block.body

    # --- the frame of the loop

    def _begin(self) -> None:
        b, entry = self.b, self.entry
        self._open(0)
        for var, param in zip(entry.params, entry.own, strict=True):
            b.write(self.variables[var], self.passed[param])
        b.store(self.stack, b.const(0, u32))
        b.write(self.top, b.const(1, u32))
        self._go(self._number(entry.function.name))

    def _number(self, name: str) -> int:
        names = [member.function.name for member in self.cycle.members]
        return 1 + names.index(name)

    def _go(self, number: int) -> None:
        self.b.write(self.place, self.b.const(number, u32))
        self.b.emit(graph.Branch(1))

    def _dispatch(self) -> None:
        b = self.b
        self._open(1)
        b.emit(graph.Switch(b.read(self.place), tuple(self.places), 2))
        self._open(2)
        b.return_(tuple(b.read(var) for var in self.results[self.entry.function.name]))

    # --- segments

    def _segment(self, member: Member, segment: Segment) -> None:
        b = self.b
        self._open(self.labels[segment])
        b.loc = segment.end.loc
        if segment.after is not None:
            self._come_back(member, segment, segment.after)
        for op in segment.ops:
            b.emit(clone_op(op, self.values, self.variables))
        b.loc = segment.end.loc
        end = clone_op(segment.end, self.values, self.variables)
        match end:
            case control.Call():
                assert isinstance(segment.end, control.Call)
                self._call(member, segment, segment.end, end)
            case control.Return():
                for var, value in zip(self.results[member.function.name], end.values, strict=True):
                    b.write(var, value)
                frame = b.sub(b.read(self.top), b.const(1, u32))
                b.write(self.place, b.load(self._word(frame, 0)))
                b.emit(graph.Branch(1))
            case _:
                b.emit(self._relabelled(member, end))

    def _relabelled(self, member: Member, end: Op) -> Op:
        """A branch to the segments that its blocks are."""

        def label(old: int) -> int:
            return self.labels[member.labels[old]]

        match end:
            case graph.Branch():
                end.target = label(end.target)
            case graph.BranchIf():
                end.then, end.orelse = label(end.then), label(end.orelse)
            case graph.Switch():
                end.targets = tuple(map(label, end.targets))
                end.default = label(end.default)
            case _:
                pass
        return end

    def _saved(self, member: Member, segment: Segment) -> list[Var]:
        """The variables that live across the call in front of a segment."""
        return [self.variables[var] for var in member.variables if var in segment.live]

    def _call(
        self, member: Member, segment: Segment, old: control.Call, call: control.Call
    ) -> None:
        b = self.b
        (after,) = segment.following
        saved = self._saved(member, after)
        size = 1 + sum(map(_words, (var.type for var in saved)))
        start = b.read(self.top)
        top = b.add(start, b.const(size, u32))
        full, fits = self._label(), self._label()
        b.emit(graph.BranchIf(b.binary(arith.Gt, top, b.const(self.words, u32)), full, fits))
        self._open(full)
        b.emit(control.Raise(self._error(call)))
        self._open(fits)
        offset = 0
        for var in saved:
            for word in self._as_words(b.read(var)):
                b.store(self._word(start, offset), word)
                offset += 1
        b.store(self._word(start, offset), b.const(self.numbers[old], u32))
        b.write(self.top, top)
        (callee,) = (each for each in self.cycle.members if each.function.name == call.callee)
        given = dict(zip(callee.function.params, call.arguments, strict=True))
        for var, param in zip(callee.params, callee.own, strict=True):
            b.write(self.variables[var], given[param])
        self._go(self._number(call.callee))

    def _error(self, call: control.Call) -> int:
        message = (
            f"the stack of a thread is full, with {4 * self.words} bytes: {call.callee} calls "
            "itself too deep; GRIDLANE_STACK sets the bytes, up to the device's limit"
        )
        errors = self.cycle.module.errors
        errors.append(ErrorSite("RecursionError", message, call.loc))
        return len(errors) - 1

    def _come_back(self, member: Member, segment: Segment, call: control.Call) -> None:
        b = self.b
        saved = self._saved(member, segment)
        size = 1 + sum(map(_words, (var.type for var in saved)))
        start = b.sub(b.read(self.top), b.const(size, u32))
        b.write(self.top, start)
        offset = 0
        for var in saved:
            words = [b.load(self._word(start, offset + n)) for n in range(_words(var.type))]
            offset += len(words)
            b.write(var, self._of_words(words, var.type))
        for old, var in zip(call.results, self.results[call.callee], strict=True):
            self.values[old] = b.read(var)

    # --- the stack

    def _word(self, start: Value, offset: int) -> Value:
        index = self.b.add(start, self.b.const(offset, u32)) if offset else start
        return self.b.offset(self.stack, index)

    def _as_words(self, value: Value) -> list[Value]:
        b, type_ = self.b, value.type
        if isinstance(type_, PointerType):
            value, type_ = b.value(memory.Address(value)), u64
        assert isinstance(type_, DType), type_
        if type_ is b1:
            return [b.select(value, b.const(1, u32), b.const(0, u32))]
        unsigned = dtype(f"u{type_.bits}")
        bits = value if type_ is unsigned else b.bitcast(value, unsigned)
        low = bits if unsigned is u32 else b.cast(bits, u32)
        if unsigned is not u64:
            return [low]
        return [low, b.cast(b.binary(arith.Shr, bits, b.const(32, u32)), u32)]

    def _of_words(self, words: list[Value], type_: Type) -> Value:
        b = self.b
        kind = u64 if isinstance(type_, PointerType) else type_
        assert isinstance(kind, DType), kind
        if kind is b1:
            return b.binary(arith.Ne, words[0], b.const(0, u32))
        unsigned = dtype(f"u{kind.bits}")
        bits = words[0] if unsigned is u32 else b.cast(words[0], unsigned)
        if unsigned is u64:
            high = b.binary(arith.Shl, b.cast(words[1], u64), b.const(32, u32))
            bits = b.or_(bits, high)
        if isinstance(type_, PointerType):
            return b.value(memory.FromAddress(bits, type_))
        return bits if kind is unsigned else b.bitcast(bits, kind)


def _words(type_: Type) -> int:
    """The words of a variable on the stack."""
    if isinstance(type_, PointerType):
        return 2
    assert isinstance(type_, DType), type_
    return 2 if type_.bits == 64 else 1
