"""Check that IR is valid. A pass may assume valid IR and must leave valid IR."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from gridlane.core.dtypes import DType, f32, i64
from gridlane.core.errors import VerifyError
from gridlane.core.tensor_map import (
    ALIGN,
    MOST_DIMENSIONS,
    MOST_SPAN,
    SIZE,
    SWIZZLES,
    TensorMapUse,
)
from gridlane.ir.dominance import dominators
from gridlane.ir.op import FieldKind, Op, Scope
from gridlane.ir.ops.control import Break, Call, If, Leave, Loop, ScopeOp
from gridlane.ir.ops.floating import FLUSHING, flushes
from gridlane.ir.ops.graph import Block, Graph, successors
from gridlane.ir.ops.tiles import TileMap, TileReduce, TileScan
from gridlane.ir.printer import print_op
from gridlane.ir.stages import KERNEL
from gridlane.ir.types import (
    ArrayType,
    FragmentType,
    PointerType,
    Space,
    StructType,
    TileType,
    Type,
)
from gridlane.ir.values import Function, Global, Module, Region, Value


def verify(module: Module, legal: frozenset[str] = KERNEL, recursion: bool = False) -> None:
    """Check a module, whose ops must have names in ``legal`` (see ``ir.stages``).

    ``recursion`` allows functions that call themselves.

    Raises:
        VerifyError: what is wrong, the op and its location.
    """
    kernels = [f.name for f in module.functions.values() if f.is_kernel]
    _require(len(kernels) == 1, f"a module has one kernel, not {len(kernels)} {kernels}")
    for name, item in module.globals.items():
        _require(name == item.name, f"global @{item.name} is registered as @{name}")
        _verify_global(item)
    for name, function in module.functions.items():
        _require(name == function.name, f"function @{function.name} is registered as @{name}")
        _FunctionVerifier(module, function, legal).run()
    for use in module.tensor_maps:
        _verify_tensor_map(module.kernel, use)
    if not recursion:
        _verify_no_recursion(module)


def _verify_tensor_map(kernel: Function, use: TensorMapUse) -> None:
    params, rank = kernel.params, len(use.box)
    numbers = *use.numbers, use.parameter
    name = f"the tensor map in parameter {use.parameter}"
    _require(all(0 <= n < len(params) for n in numbers), f"{name} is of others than there are")
    size = params[use.parameter].by_value
    _require(size == SIZE, f"{name} has {size} bytes by value, not {SIZE}")
    of_pointer = isinstance(params[use.base].value.type, PointerType)
    _require(of_pointer and not params[use.base].by_value, f"{name} is of no pointer")
    counts = len(use.extents), len(use.strides)
    _require(1 <= rank <= MOST_DIMENSIONS, f"{name} has {rank} dimensions")
    _require(counts == (rank, rank - 1), f"{name} has {counts} extents and strides")
    types = {params[n].value.type for n in (*use.extents, *use.strides)}
    _require(types == {i64}, f"{name} has extents and strides of the types {types}")
    row = use.box[-1] * use.element.size
    _require(all(1 <= n <= MOST_SPAN for n in use.box), f"{name} has the box {use.box}")
    _require(row % ALIGN == 0, f"{name} has rows of {row} bytes, no multiple of {ALIGN}")
    _require(use.swizzle in SWIZZLES, f"{name} has a swizzle of {use.swizzle} bytes")
    _require(not use.swizzle or row <= use.swizzle, f"{name} has rows longer than its swizzle")
    _require(use.element.is_float or not use.nan, f"{name} has integers that are NaN")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise VerifyError(message)


def _verify_global(item: Global) -> None:
    name = f"global @{item.name}"
    known = item.space in (Space.SHARED, Space.CONSTANT)
    _require(known, f"{name} is in {item.space.name.lower()} memory, not shared or constant")
    inside = isinstance(item.element, FragmentType | TileType) or keeps_fragment(item.element)
    _require(not inside, f"{name} holds a fragment, which is a value only")
    _require(item.count >= 0, f"{name} has {item.count} elements")
    _require(item.align > 0 and not item.align & (item.align - 1), f"{name} aligns to {item.align}")
    if item.data is None:
        return
    _require(item.space is Space.CONSTANT, f"{name} is shared memory, which starts without data")
    size = len(item.data)
    _require(size == item.size, f"{name} takes {item.size} bytes and has {size} of data")


_CALLS = Call, TileMap, TileReduce, TileScan


def _verify_no_recursion(module: Module) -> None:
    """Walk the calls depth first: a function on the current path must not recur."""
    calls = {
        name: list(
            dict.fromkeys(op.callee for op in function.body.walk() if isinstance(op, _CALLS))
        )
        for name, function in module.functions.items()
    }
    done: set[str] = set()
    for root in calls:
        path = [root]
        waiting = [iter(calls[root])]
        while waiting:
            callee = next((name for name in waiting[-1] if name not in done), None)
            if callee is None:
                done.add(path.pop())
                waiting.pop()
                continue
            cycle = [*path[path.index(callee) :], callee] if callee in path else []
            _require(not cycle, "recursion: " + " calls ".join(f"@{name}" for name in cycle))
            path.append(callee)
            waiting.append(iter(calls[callee]))


@dataclass(slots=True, eq=False)
class _Open:
    """A region that is being verified.

    Attributes:
        defined: values that leave scope at its end.
        blocks: blocks of a graph to verify before that, in which ``defined`` is visible.
    """

    ops: Iterator[Op]
    ancestors: tuple[Op, ...]
    defined: list[Value] = field(default_factory=list[Value])
    blocks: list[Block] = field(default_factory=list[Block])


class _FunctionVerifier:
    """One walk over a function, with the values that are visible."""

    def __init__(self, module: Module, function: Function, legal: frozenset[str]) -> None:
        self.function = function
        self.legal = legal
        self.scope = Scope(module, function)
        self.visible: set[Value] = set()
        self.seen: set[Op] = set()
        self.regions: set[int] = set()
        self.labels: set[int] = set()
        self.dominated: dict[Block, list[Block]] = {}
        self.variables = set(function.variables)

    def run(self) -> None:
        function = self.function
        self.signature()
        self.visible.update(param.value for param in function.params)
        self.body()
        if function.is_declared:
            if not function.is_library or function.body.ops:
                self.fail("is declared alone, which only library functions are, without a body")
        elif function.results and falls_through(function.body):
            self.fail(f"has results {function.results} but can run off its end without a return")

    def fail(self, message: str) -> None:
        raise VerifyError(f"@{self.function.name}: {message} (at {self.function.loc})")

    def signature(self) -> None:
        function = self.function
        for group in ([p.value for p in function.params], function.variables):
            names = [item.name for item in group if item.name]
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                self.fail(f"the name {min(twice)} is used twice")
            for item in group:
                if holds_array(item.type):
                    self.fail(f"{item} holds an array, which exists in memory only")
                if keeps_fragment(item.type):
                    self.fail(f"{item}: a fragment is a value only")
        if not function.is_kernel:
            return
        if function.results:
            self.fail(f"a kernel has no results, not {function.results}")
        for param in function.params:
            if not isinstance(param.value.type, DType | PointerType):
                self.fail(f"a kernel takes scalars and pointers, not {param.value}")
            if param.by_value and getattr(param.value.type, "space", None) is not Space.GENERIC:
                self.fail(f"{param.value} is passed by value, so it is a generic pointer")

    def body(self) -> None:
        """Verify every op, in program order; a region's definitions leave scope at its end."""
        stack = [self.opened(self.function.body, ())]
        while stack:
            top = stack[-1]
            self.scope.ancestors = top.ancestors
            for op in top.ops:
                self.op(op)
                self.visible.update(op.results)
                top.defined += op.results
                if isinstance(op, Graph):
                    stack += self.graph(op)
                    break
                if op.REGION_FIELDS:
                    inner = (*top.ancestors, op)
                    stack += [self.opened(r, inner) for r in reversed(list(op.regions()))]
                    break
            else:
                if top.blocks:
                    stack.append(self.block(top.blocks.pop(), top.ancestors[0]))
                    continue
                stack.pop()
                self.visible.difference_update(top.defined)

    def graph(self, graph: Graph) -> list[_Open]:
        """What to verify of a graph, last first: the unreachable blocks, where all values of the
        graph are visible; then the entry, inside it the blocks that it dominates."""
        self.opened(graph.body, (graph,))
        blocks = list(graph.blocks())
        number = {block.label: index for index, block in enumerate(blocks)}
        tree = dominators([[number[label] for label in successors(block)] for block in blocks])
        for index in tree.order:
            self.dominated[blocks[index]] = [blocks[child] for child in tree.children[index]]
        idle = [block for block in blocks if block not in self.dominated]
        self.dominated |= {block: [after] for block, after in pairwise(idle)}
        everything: list[Value] = []
        if idle:
            self.dominated[idle[-1]] = []
            everything = [value for block in blocks for op in block.body for value in op.results]
            self.visible.update(everything)
        around = (graph,)
        return [
            _Open(iter(()), around, blocks=blocks[:1]),
            _Open(iter(()), around, everything, blocks=idle[:1]),
        ]

    def block(self, block: Block, graph: Op) -> _Open:
        """A block of a graph, with the blocks that it dominates."""
        self.scope.ancestors = (graph,)
        self.op(block)
        inner = self.opened(block.body, (graph, block))
        inner.blocks = self.dominated[block]
        return inner

    def opened(self, region: Region, ancestors: tuple[Op, ...]) -> _Open:
        if id(region) in self.regions:
            self.fail(f"a region of {ancestors[-1].name} stands in two places")
        self.regions.add(id(region))
        for op in region.ops[:-1]:
            op.require(not op.terminator, f"{print_op(op)}: a terminator is last in its region")
        return _Open(iter(region.ops), ancestors)

    def op(self, op: Op) -> None:
        try:
            self.checked(op)
        except VerifyError as error:
            place = f"{error}\n  in @{self.function.name}: {print_op(op)}"
            raise VerifyError(place) from None

    def checked(self, op: Op) -> None:
        op.require(op.name in self.legal, "is not legal at this stage")
        op.require(op not in self.seen, "the same op stands in two places")
        self.seen.add(op)
        if isinstance(op, ScopeOp) and op.label:
            op.require(op.label not in self.labels, f"a second scope {op.label}")
            self.labels.add(op.label)
        for value in op.operands():
            op.require(value in self.visible, f"{value} is not visible here")
        for name, kind, _ in op.LAYOUT:
            if kind is FieldKind.VARIABLE:
                var = getattr(op, name)
                op.require(var in self.variables, f"{var} is not declared here")
        op.check(self.scope)
        if flushes(op):
            op.require(type(op) in FLUSHING, "does not flush")
            op.require(all(v.type is f32 for v in op.operands()), "only f32 is flushed")
        types = op.result_types()
        got = tuple(value.type for value in op.results)
        op.require(got == types, f"results have types {got}, not {types}")
        for value in op.results:
            op.require(value.op is op, f"{value} is another op's result")
            op.require(not holds_array(value.type), f"{value.type} exists in memory only")
            op.require(not keeps_fragment(value.type), f"{value.type}: a fragment is a value only")


def holds_array(type_: Type) -> bool:
    """Whether a type is an array or a struct with one inside, which no value can have."""
    if isinstance(type_, StructType):
        return any(map(holds_array, type_.types))
    return isinstance(type_, ArrayType)


def keeps_fragment(type_: Type) -> bool:
    """Whether a type other than a fragment or tile contains one: no memory and no struct does."""
    if isinstance(type_, StructType):
        inner = type_.types
    elif isinstance(type_, PointerType | ArrayType):
        inner = (type_.element,)
    else:
        return False
    return any(isinstance(item, FragmentType | TileType) or keeps_fragment(item) for item in inner)


def falls_through(region: Region) -> bool:
    """Whether control can reach the end of a region, by its structure."""
    left: set[Op] | None = None
    waiting = [region]
    while waiting:
        inner = waiting.pop()
        last = inner.ops[-1] if inner.ops else None
        if isinstance(last, If):
            waiting += last.then, last.orelse
        elif isinstance(last, Loop | ScopeOp):
            left = _left(region) if left is None else left
            if last in left:
                return True
            if isinstance(last, ScopeOp):
                waiting.append(last.body)
        elif last is None or not (last.terminator or isinstance(last, Graph)):
            return True
    return False


def _left(region: Region) -> set[Op]:
    """The loops and scopes in a region that a ``break`` or ``leave`` in it leaves."""
    exited: set[Op] = set()
    stack: list[tuple[Iterator[Op], Op | None]] = [(iter(region.ops), None)]
    while stack:
        for op in stack[-1][0]:
            around = (outer for _, outer in reversed(stack))
            if isinstance(op, Break):
                exited.add(next(outer for outer in around if isinstance(outer, Loop)))
            elif isinstance(op, Leave):
                scopes = (outer for outer in around if isinstance(outer, ScopeOp))
                exited.add(next(o for o in scopes if op.target in (0, o.label)))
            if op.REGION_FIELDS:
                stack += [(iter(inner.ops), op) for inner in op.regions()]
                break
        else:
            stack.pop()
    return exited
