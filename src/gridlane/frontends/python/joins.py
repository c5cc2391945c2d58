"""Joins of control flow: variables of branches merge, those of loops become loop-carried."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from gridlane.core.errors import CompileError
from gridlane.core.source import Loc
from gridlane.frontends.python.array_expressions import memory_needed
from gridlane.frontends.python.conversion import convert
from gridlane.frontends.python.frames import Carrier, Environment, Frame, UnboundYet, unbound
from gridlane.frontends.python.liveness import Flow
from gridlane.frontends.python.operands import (
    ArrayExpression,
    Conflict,
    Operand,
    Scalar,
    TupleOperand,
)
from gridlane.frontends.python.parts import put_together, taken_apart
from gridlane.frontends.python.specs import (
    UNBOUNDED,
    FunctionSpec,
    OptionalSpec,
    PartsSpec,
    ScalarSpec,
    Spec,
    TupleSpec,
    UserSpec,
    flatten,
    ir_types,
    rebuild,
    spec_of,
    suffixes,
)
from gridlane.frontends.python.translator import Translator
from gridlane.ir.builder import constant
from gridlane.ir.ops import control
from gridlane.ir.values import Region

# ---- branches


def join(
    t: Translator,
    op: control.If,
    before: Environment,
    ends: tuple[Environment | None, Environment | None],
    node: ast.If | ast.For | ast.While,
) -> None:
    """Continue after an If whose sides end with ``ends`` (None: the end is unreachable)."""
    then, orelse = ends
    flow = t.source.flows[node]
    if then is None or orelse is None:
        left = then if orelse is None else orelse
        t.dead = left is None
        t.env = before if left is None else visible(t, op, before, left, then is None, flow)
        return
    t.dead = False
    env = dict(before)
    for name in sorted(flow.assigned):
        env.pop(name, None)
        if name in flow.live_out:
            merged = merge(t, name, op.then, then.get(name), op.orelse, orelse.get(name))
            if isinstance(merged, Conflict) and not merged.places:
                # The else clause of a loop is the first side of an If.
                sides = (node.body, node.orelse) if isinstance(node, ast.If) else (node.orelse, [])
                first, second = (assignment_place(t, side, name, node) for side in sides)
                merged = Conflict(merged.types, (first, second))
            if merged is not None:
                env[name] = merged
    t.env = env


def visible(
    t: Translator,
    op: control.If,
    before: Environment,
    left: Environment,
    in_else: bool,
    flow: Flow,
) -> Environment:
    """Variables after an If if only one of its sides reaches the end. Values of that side are not
    visible after the If, so they are passed in IR variables."""
    region = op.orelse if in_else else op.then
    env = dict(left)
    for name in sorted(flow.assigned):
        end = env.pop(name, None)
        if end is None or name not in flow.live_out:
            continue
        if _unchanged(end, before.get(name)):
            env[name] = end
            continue
        env[name] = _out_of(t, name, region, end)
    return env


def _out_of(t: Translator, name: str, region: Region, operand: Operand) -> Operand:
    """An operand at the end of a region, for what follows it."""
    spec = spec_of(operand)
    if spec is not None:
        return through(t, name, spec, ((region, operand),))
    apart = taken_apart(operand)
    if apart is None:
        return operand
    shape, parts = apart
    outer = [_out_of(t, f"{name}_{n}", region, part) for n, part in enumerate(parts)]
    return put_together(shape, outer)


def _unchanged(end: Operand, before: Operand | None) -> bool:
    return end is before or (
        isinstance(end, Scalar) and isinstance(before, Scalar) and end.value is before.value
    )


def merge(
    t: Translator,
    name: str,
    region: Region,
    operand: Operand | None,
    other_region: Region,
    other: Operand | None,
) -> Operand | None:
    """The operand of a name after an If, from the operands at the end of its sides."""
    if operand is other or operand is None or other is None:
        # Bound on one side only: the value from the other side is undefined, as in numba.
        one = operand if operand is not None else other
        if one is None or operand is other:
            return one
        return _out_of(t, name, region if operand is not None else other_region, one)
    if isinstance(operand, Conflict) or isinstance(other, Conflict):
        return operand if isinstance(operand, Conflict) else other
    lhs, rhs = spec_of(operand), spec_of(other)
    spec = t.unify(lhs, rhs, name) if lhs is not None and rhs is not None else None
    if spec is None:
        both = _merged_parts(t, name, region, operand, other_region, other)
        if both is None:
            _require_stored(t, name, operand, other)
        return both or Conflict((operand.type_name, other.type_name))
    return through(t, name, spec, ((region, operand), (other_region, other)))


def _require_stored(t: Translator, name: str, *sides: Operand | None) -> None:
    """Refuse an expression of arrays where a variable has other arrays as well."""
    for side in sides:
        if isinstance(side, ArrayExpression):
            raise memory_needed(t, side, f"the variable {name!r}, which has several arrays,")


def _merged_parts(
    t: Translator,
    name: str,
    region: Region,
    operand: Operand,
    other_region: Region,
    other: Operand,
) -> Operand | None:
    """The merge of two operands without a spec, part by part; None where a part has none."""
    one, two = taken_apart(operand), taken_apart(other)
    if one is None or two is None or one[0] != two[0]:
        return None
    is_tuple = one[0][0] is TupleOperand
    merged: list[Operand] = []
    for number, (part, own) in enumerate(zip(one[1], two[1], strict=True)):
        types = [item.dtype for item in (part, own) if isinstance(item, Scalar)]
        if len(set(types)) == 2 and not is_tuple:
            return None  # the numbers of a range have one type
        joined = merge(t, f"{name}_{number}", region, part, other_region, own)
        if joined is None or isinstance(joined, Conflict):
            return None
        merged.append(joined)
    return put_together(one[0], merged)


def through(
    t: Translator, name: str, spec: Spec, ends: tuple[tuple[Region, Operand], ...]
) -> Operand:
    """Pass an operand out of regions through IR variables. A part that is the same value in all of
    them, made outside of them, stays that value, and one constant integer stays that constant."""
    b = t.b
    flat = []
    for region, operand in ends:
        with b.inside(region):
            flat.append(flatten(convert(t, operand, spec)))
    parts = []
    for number, (type_, tail) in enumerate(zip(ir_types(spec), suffixes(spec), strict=True)):
        values = [values[number] for values in flat]
        if len(values) == 2 and values[0] is values[1]:
            parts.append(values[0])
            continue
        known = constant(values[0])
        if type(known) is int and all(constant(each) == known for each in values[1:]):
            parts.append(b.const(known, type_))  # type: ignore[arg-type]  # an integer's
            continue
        var = b.variable(name + tail, type_)
        for (region, _), value in zip(ends, values, strict=True):
            with b.inside(region):
                b.write(var, value)
        parts.append(b.read(var))
    return rebuild(t.b, spec, iter(parts))


def assignment_place(t: Translator, inside: list[ast.stmt], name: str, before: ast.AST) -> Loc:
    """The place of a variable's last assignment: in some statements, else before ``before``."""
    stores = [
        node
        for statement in inside
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    if not stores:
        line = getattr(before, "lineno", 0)
        stores = [
            node
            for node in ast.walk(t.source.node)
            if isinstance(node, ast.Name | ast.arg)
            and name in (getattr(node, "id", ""), getattr(node, "arg", ""))
            and node.lineno < line
            and not isinstance(getattr(node, "ctx", None), ast.Load)
        ]
    return t.locate(stores[-1]) if stores else t.locate(before)


# ---- loops


def carry_loop(t: Translator, node: ast.For | ast.While, build: Callable[[Frame], None]) -> None:
    """Translate a loop; ``build`` emits its Loop op. Repeat with wider types where needed."""
    before = dict(t.env)
    snapshot, region = t.snapshot(), t.b.region
    while True:
        frame = _open(t, node)
        t.loops.append(frame)
        depth, lessons = len(t.loops), t.lessons
        try:
            build(frame)
        except UnboundYet as error:
            if error.frame is not frame:
                raise
            frame.unbound = frame.unbound or error
        except CompileError:
            if not frame.retry:
                raise
        del t.loops[depth - 1 :]
        if frame.unbound is not None:
            if lessons == t.lessons:
                t.restore(snapshot, region)
                _leave_out(t, frame, frame.unbound)
                return
            frame.retry = True
        if not frame.retry:
            break
        t.restore(snapshot, region)
    _close(t, frame, before)


def _leave_out(t: Translator, frame: Frame, error: UnboundYet) -> None:
    """Go on without a loop that does not bind what it reads: a loop around it, which is translated
    again, may bind it later.

    Raises:
        NameLookupError: no loop may.
    """
    left = unbound(t.loops, error.variable, error.loc)
    if not isinstance(left, UnboundYet):
        raise left
    left.frame.unbound = left.frame.unbound or left
    for name in frame.flow.assigned:
        t.env.pop(name, None)


def _open(t: Translator, node: ast.For | ast.While) -> Frame:
    """Make the carriers from the lessons of earlier attempts, and write their first values."""
    flow = t.source.flows[node]
    frame = Frame(node, flow, {}, t.copy)
    for name in sorted(flow.assigned & (flow.live_head | flow.live_out)):
        carrier = frame.carriers[name] = Carrier(name)
        entry = t.env.get(name) if name in flow.live_head else None
        learned = t.learned.get((frame.copy, node, name))
        if isinstance(entry, Conflict):  # a loop of no iterations keeps it
            learned = t.learned[frame.copy, node, name] = entry
        if isinstance(learned, Conflict):
            t.env[name] = learned
            del frame.carriers[name]
            continue
        spec = learned
        if entry is not None:
            own = spec_of(entry)
            if own is None:
                carrier.fixed = entry
                continue
            spec = widened(own) if learned is None else t.unify(learned, own) or own
        if spec is not None:
            _define(t, carrier, spec)
            if entry is not None:
                _write(t, carrier, entry)
    return frame


def widened(spec: Spec) -> Spec:
    """The guess for a variable at a loop's head: it has no upper bound and does not overflow."""
    if isinstance(spec, ScalarSpec) and spec.dtype.is_integer:
        lo = spec.lo if spec.lo >= 0 else spec.dtype.min
        return ScalarSpec(spec.dtype, lo, _top(spec), spec.cls)
    if isinstance(spec, TupleSpec):
        return TupleSpec(tuple([widened(item) for item in spec.items]), spec.fields, spec.cls)
    if isinstance(spec, UserSpec | FunctionSpec | OptionalSpec):
        return replace(spec, items=tuple([widened(item) for item in spec.items]))
    return spec


def _define(t: Translator, carrier: Carrier, spec: Spec) -> None:
    carrier.spec = spec
    carrier.vars = [
        t.b.variable(carrier.name + tail, type_)
        for type_, tail in zip(ir_types(spec), suffixes(spec), strict=True)
    ]


def _write(t: Translator, carrier: Carrier, operand: Operand) -> None:
    assert carrier.spec is not None
    values = flatten(convert(t, operand, carrier.spec))
    for var, value in zip(carrier.vars, values, strict=True):
        t.b.write(var, value)


def _read(t: Translator, carrier: Carrier) -> Operand:
    assert carrier.spec is not None
    return rebuild(t.b, carrier.spec, iter([t.b.read(var) for var in carrier.vars]))


def enter_body(t: Translator, frame: Frame) -> None:
    """At the head of an iteration: bind the loop-carried variables to their current values."""
    for name, carrier in frame.carriers.items():
        t.env.pop(name, None)
        if carrier.fixed is not None:
            t.env[name] = carrier.fixed
        elif carrier.spec is not None and name in frame.flow.live_head:
            carrier.head = t.env[name] = _read(t, carrier)


def save(t: Translator, frame: Frame, leaves: bool = False) -> None:
    """At a continue or the end of the body write the loop-carried variables for the next iteration;
    at a break or the end of the loop, which ``leaves`` it, for the code after it."""
    wanted = frame.flow.live_out if leaves else frame.flow.live_head
    for name, carrier in frame.carriers.items():
        now = t.env.get(name)
        if name not in wanted or now is None or now is carrier.head or now is carrier.fixed:
            continue
        if isinstance(now, Conflict):  # of paths through this iteration
            t.learned[frame.copy, frame.node, name] = now
            t.lessons += 1
            frame.retry = True
            continue
        spec = spec_of(now)
        _require_stored(t, name, now, carrier.fixed)
        if spec is None or carrier.fixed is not None:
            _learn(t, frame, carrier, None, now)
            continue
        if carrier.spec is None:
            _discover(t, frame, carrier, spec)
        both = t.unify(carrier.spec, spec, carrier.name)  # type: ignore[arg-type]  # defined above
        if both != carrier.spec:
            _learn(t, frame, carrier, both, now)
        elif not frame.retry:
            _write(t, carrier, now)


def _discover(t: Translator, frame: Frame, carrier: Carrier, spec: Spec) -> None:
    """A variable that the body binds first takes its type from there."""
    spec = widened(spec)
    _define(t, carrier, spec)
    if carrier.name in frame.flow.live_head:
        # An iteration may read the value of an earlier one: translate again with it bound.
        t.learned[frame.copy, frame.node, carrier.name] = spec
        t.lessons += 1
        frame.retry = True


def _learn(t: Translator, frame: Frame, carrier: Carrier, both: Spec | None, now: Operand) -> None:
    """Record a wider spec, or that there is none, for the next attempt."""
    key = frame.copy, frame.node, carrier.name
    frame.retry = True
    t.lessons += 1
    if both is None:
        was = _held(t, carrier)
        sides: tuple[list[ast.stmt], ...] = ([], [frame.node])
        assignments = [assignment_place(t, side, carrier.name, frame.node) for side in sides]
        t.learned[key] = Conflict((was, now.type_name), tuple(assignments))
        return
    t.learned[key] = relaxed(both)


def _held(t: Translator, carrier: Carrier) -> str:
    """The type that a variable had before the loop. The emitted ops are dropped with the
    attempt."""
    if carrier.fixed is None and carrier.spec is None:
        return "nothing"
    return (carrier.fixed or _read(t, carrier)).type_name


def relaxed(spec: Spec) -> Spec:
    """A learned bound without its exact value, so that the attempts terminate."""
    if isinstance(spec, ScalarSpec) and spec.dtype.is_integer:
        lo = 0 if spec.lo >= 0 else spec.dtype.min
        return ScalarSpec(spec.dtype, lo, _top(spec), spec.cls)
    if isinstance(spec, TupleSpec):
        return TupleSpec(tuple([relaxed(item) for item in spec.items]), spec.fields, spec.cls)
    if isinstance(spec, UserSpec | FunctionSpec | OptionalSpec | PartsSpec):
        return replace(spec, items=tuple([relaxed(item) for item in spec.items]))
    return spec


def _top(spec: ScalarSpec) -> int:
    """The largest value of the type, or a bound that an overflow may exceed."""
    return spec.dtype.max if spec.hi <= spec.dtype.max else UNBOUNDED


def _close(t: Translator, frame: Frame, before: Environment) -> None:
    """After the loop: bind the variables that are live, forget the others that it assigned."""
    env = {name: value for name, value in before.items() if name not in frame.flow.assigned}
    t.env = env
    t.dead = not frame.left
    if t.dead:
        return
    for name, carrier in frame.carriers.items():
        if name not in frame.flow.live_out:
            continue
        if carrier.spec is not None:
            env[name] = _read(t, carrier)
        elif name in before:
            env[name] = before[name]
    for name in frame.flow.assigned - frame.carriers.keys():
        learned = t.learned.get((frame.copy, frame.node, name))
        if isinstance(learned, Conflict):
            env[name] = learned
