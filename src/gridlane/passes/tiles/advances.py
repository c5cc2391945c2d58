"""Splits tiles that loops advance by scalars: ``pointers += step``.

A variable with a tile of pointers or integers that starts with a tile, and to which only scalars
are added, becomes that tile and a scalar variable, the sum so far. So a loop carries a scalar, and
addresses stay sums of a thread's number, rather than a tile in memory.
"""

from __future__ import annotations

from gridlane.core.dtypes import DType, i64
from gridlane.core.frozen import frozen
from gridlane.ir.op import Op, clone_op
from gridlane.ir.ops import arith, control, memory, tiles
from gridlane.ir.types import PointerType, TileType
from gridlane.ir.values import Function, Module, Param, Region, Value, Var
from gridlane.passes.tiles.order import Order


@frozen
class Advance:
    """A write of the sum of the variable and a scalar: ``before`` is the variable's value or the
    result of another advance, ``map`` the op that adds ``step``, a value of the called function."""

    map: tiles.TileMap
    before: Value
    step: Value


def split_advances(module: Module) -> None:
    """Split the variables of the kernel that only advance."""
    kernel = module.kernel
    order = Order(kernel)
    for var in list(kernel.variables):
        if isinstance(var.type, TileType):
            found = _advances(module, order, var)
            if found is not None:
                _split(module, var, *found)
                order = Order(kernel)


Parts = tuple[memory.WriteVar, list[Advance], list[memory.ReadVar], list[memory.WriteVar]]


def _advances(module: Module, order: Order, var: Var) -> Parts | None:
    """The first write of a variable, its advances, reads and other writes; None unless it only
    advances."""
    writes = [op for op in order.ops if isinstance(op, memory.WriteVar) and op.var is var]
    reads = [op for op in order.ops if isinstance(op, memory.ReadVar) and op.var is var]
    advances: dict[Value, Advance] = {}
    known = {op.results[0] for op in reads}
    for op in order.ops:
        if isinstance(op, tiles.TileMap) and len(op.results) == 1:
            advance = _advance(module, op, known)
            if advance is not None:
                advances[op.results[0]] = advance
                known.add(op.results[0])
    starts = [write for write in writes if write.value not in known]
    if len(starts) != 1 or len(writes) == 1:
        return None
    start = starts[0]
    _, region, index = order.path[start][-1]
    for op in (*reads, *writes):
        inside = any(r is region and i >= index for _, r, i in order.path[op])
        if not inside:
            return None
    needed: set[Value] = set()
    others = [write for write in writes if write is not start]
    for write in others:
        value = write.value
        while value in advances:
            needed.add(value)
            value = advances[value].before
    return start, [a for v, a in advances.items() if v in needed], reads, others


def _advance(module: Module, op: tiles.TileMap, known: set[Value]) -> Advance | None:
    """How an op advances one of some tiles by a scalar; None where it does something else."""
    function = module.functions[op.callee]
    ops = function.body.ops
    last = ops[-1] if ops else None
    plain = all(each.pure and not each.REGION_FIELDS for each in ops[:-1])
    if not isinstance(last, control.Return) or not plain:
        return None
    total = last.values[0].op
    if isinstance(total, memory.Offset):
        sides = [(total.pointer, total.index)]
    elif isinstance(total, arith.Add) and _is_whole(total.lhs):
        sides = [(total.lhs, total.rhs), (total.rhs, total.lhs)]
    else:
        return None
    arguments = dict(zip([p.value for p in function.params], op.arguments, strict=True))
    for tile_side, step in sides:
        before = arguments.get(tile_side)
        if before not in known:
            continue
        needed = _params_of(step, set(arguments))
        if all(_scalar(arguments[each]) is not None for each in needed):
            return Advance(op, before, step)  # type: ignore[arg-type]  # it is known
    return None


def _is_whole(value: Value) -> bool:
    return isinstance(value.type, DType) and value.type.is_integer


def _params_of(value: Value, params: set[Value]) -> set[Value]:
    """The parameters that a value of a function is computed of."""
    if value in params:
        return {value}
    result: set[Value] = set()
    for operand in value.op.operands() if value.op is not None else ():
        result |= _params_of(operand, params)
    return result


def _scalar(value: Value) -> Value | None:
    """The scalar that all elements of a tile are."""
    while isinstance(value.type, TileType):
        op = value.op
        if isinstance(op, tiles.TileSplat):
            return op.value
        shapes = (tiles.TileBroadcast, tiles.TileReshape, tiles.TileTranspose)
        if not isinstance(op, shapes):
            return None
        value = op.source
    return value


def _split(
    module: Module,
    var: Var,
    start: memory.WriteVar,
    advances: list[Advance],
    reads: list[memory.ReadVar],
    writes: list[memory.WriteVar],
) -> None:
    """Rewrite the accesses of a variable."""
    assert isinstance(var.type, TileType)
    kernel, element = module.kernel, var.type.element
    type_ = i64 if isinstance(element, PointerType) else element
    assert isinstance(type_, DType)
    total = Var(f"{var.name}.advance", type_)
    kernel.variables[kernel.variables.index(var)] = total
    function = _adder(module, element, type_)
    inserted: dict[Op, list[Op]] = {}
    replaced: dict[Op, list[Op]] = {}
    sums: dict[Value, Value] = {}
    zero = arith.Const(0, type_, loc=start.loc)
    replaced[start] = [zero, memory.WriteVar(total, zero.results[0], loc=start.loc)]
    new: dict[Value, Value] = {}
    for read in reads:
        now = memory.ReadVar(total, loc=read.loc)
        moved = tiles.TileMap(
            function.name, (start.value, now.results[0]), (var.type,), loc=read.loc
        )
        replaced[read] = [now, moved]
        sums[read.results[0]] = now.results[0]
        new[read.results[0]] = moved.results[0]
    for advance in advances:
        ops, step = _step(module, advance, type_)
        added = arith.Add(sums[advance.before], step, loc=advance.map.loc)
        inserted[advance.map] = [*ops, added]
        sums[advance.map.results[0]] = added.results[0]
    for write in writes:
        replaced[write] = [memory.WriteVar(total, sums[write.value], loc=write.loc)]
    _rewrite(kernel.body, replaced, inserted, new)


def _step(module: Module, advance: Advance, type_: DType) -> tuple[list[Op], Value]:
    """The scalar step of an advance, and the ops that compute it."""
    function = module.functions[advance.map.callee]
    values: dict[Value, Value] = {}
    for param, argument in zip(function.params, advance.map.arguments, strict=True):
        scalar = _scalar(argument)
        if scalar is not None:
            values[param.value] = scalar
    needed: set[Op] = set()
    waiting = [advance.step]
    while waiting:
        op = waiting.pop().op
        if op is not None and op not in needed:
            needed.add(op)
            waiting += op.operands()
    ops = [clone_op(op, values, {}) for op in function.body.ops if op in needed]
    for op in ops:
        op.loc = advance.map.loc
    step = values.get(advance.step, advance.step)
    if step.type is not type_:
        cast = arith.Cast(step, type_, loc=advance.map.loc)
        return [*ops, cast], cast.results[0]
    return ops, step


def _adder(module: Module, element: DType | PointerType, type_: DType) -> Function:
    """The function of an element and a scalar that adds them."""
    name = f"advance.{len(module.functions)}"
    params = [Param(Value(element)), Param(Value(type_))]
    first, second = (param.value for param in params)
    pointer = isinstance(element, PointerType)
    total: Op = memory.Offset(first, second) if pointer else arith.Add(first, second)
    body = Region([total, control.Return(total.results)])
    module.functions[name] = Function(name, params, (element,), body)
    return module.functions[name]


def _rewrite(
    region: Region,
    replaced: dict[Op, list[Op]],
    inserted: dict[Op, list[Op]],
    new: dict[Value, Value],
) -> None:
    ops: list[Op] = []
    for op in region.ops:
        for inner in op.regions():
            _rewrite(inner, replaced, inserted, new)
        if op in replaced:
            ops += replaced[op]
            continue
        op.replace_operands(lambda value: new.get(value, value))
        ops += [op, *inserted.get(op, [])]
    region.ops[:] = ops
