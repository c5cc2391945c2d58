"""Decides whether each product rounds in a fused kernel as it does in its own.

A product and a sum that both allow it may contract to a multiplication and addition with one
rounding. Compilers contract a product with one use in a sum of the same block. Whether they
contract others depends on what else there is: equal products become one, products move out of
loops. So a kernel with other pairs of that kind is not fused, and products that are in no pair lose
the permission, as another kernel's sums may meet them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable

from gridlane.analysis.strides import Steps
from gridlane.core.dtypes import DType
from gridlane.core.source import Loc
from gridlane.ir.op import FastMath, Op
from gridlane.ir.ops import arith, atomic, control, grid, memory
from gridlane.ir.ops.grid import Axis
from gridlane.ir.values import Function, Region, Value, Var
from gridlane.passes.structure.fusion.places import Places

_SUMS = (arith.Add, arith.Sub)
_THROUGH = (arith.Neg, arith.Cast)


class Ambiguous(Exception):
    """A product that may round in one way alone, and in another way beside other kernels.

    Attributes:
        loc: the product.
    """

    def __init__(self, loc: Loc) -> None:
        super().__init__("a product may or may not be rounded before it is added")
        self.loc = loc


Splits = Callable[[Op], bool]
"""Whether an op may become several blocks of machine code."""


def settle(kernel: Function, splits: Splits | None = None, joined: bool = False) -> None:
    """Remove the permission of products that are in no pair.

    Args:
        splits: which ops between a product and its sum may part them; None if no product may be in
            a pair.
        joined: whether the kernel is of several, between which compilers may pass values on.

    Raises:
        Ambiguous: what becomes of a pair depends on other kernels.
    """
    uses, numbers, loads = _Uses(kernel), _Numbers(kernel), _Loads(kernel)
    products = [op for op in kernel.body.walk() if isinstance(op, arith.Mul)]
    equal = Counter(numbers.of(op.results[0]) for op in products)
    for op in products:
        if not _may_contract(op) or op.fast & FastMath.REASSOC:
            continue
        end = uses.end_of(op)
        if end is None:
            op.fast &= ~FastMath.CONTRACT
            continue
        is_alone = equal[numbers.of(op.results[0])] == 1
        if splits is None or not is_alone or not uses.is_certain(op, end, splits):
            raise Ambiguous(op.loc)
        if joined and not loads.is_known(op.results[0]):
            raise Ambiguous(op.loc)


def _may_contract(op: Op) -> bool:
    type_ = op.results[0].type
    is_float = isinstance(type_, DType) and type_.is_float
    return is_float and bool(getattr(op, "fast", FastMath.NONE) & FastMath.CONTRACT)


def splits_on_gpus(op: Op) -> bool:
    """Whether an op may become several blocks of a GPU's code."""
    return not isinstance(op, (*_SIMPLE, memory.Load))


def splits_on_processors(kernel: Function, block: tuple[int, int, int]) -> Splits:
    """Which ops may become several blocks of a processor's code: loads too, whose lanes are not in
    a row, as the code has a branch for each way."""
    steps = Steps(kernel, Axis.X)
    is_line = block[1] * block[2] == 1 or not block[0] % _MOST_LANES

    def splits(op: Op) -> bool:
        if isinstance(op, _SIMPLE):
            return False
        if not isinstance(op, memory.Load) or not is_line:
            return True
        size = op.results[0].type.size
        pointer = op.pointer.op
        is_wide = (
            not isinstance(pointer, memory.Offset) or getattr(pointer.index.type, "size", 0) == 8
        )
        return not is_wide or size < 4 or steps.of(op.pointer) not in (0, size)

    return splits


_MOST_LANES = 64
_SIMPLE = (
    arith.Const, arith.Add, arith.Sub, arith.Mul, arith.Min, arith.Max, arith.And, arith.Or,
    arith.Xor, arith.Shift, arith.Neg, arith.Abs, arith.Not, arith.Compare, arith.Select,
    arith.Cast, arith.Bitcast, memory.Offset, memory.FieldPointer, memory.Recast, memory.ReadVar,
    memory.WriteVar, grid.GridQuery,
)  # fmt: skip


class _Uses:
    """Users of values, and the places of ops."""

    def __init__(self, kernel: Function) -> None:
        self.users: defaultdict[Value, list[Op]] = defaultdict(list)
        self.places: dict[Op, tuple[Region, int]] = {}
        self.loops: dict[Op, control.Loop | None] = {}
        self.reads: defaultdict[Var, list[Op]] = defaultdict(list)
        self.memory = Places(kernel)
        self.loads: list[memory.Load] = []
        self._note(kernel.body, None)

    def _note(self, region: Region, loop: control.Loop | None) -> None:
        for number, op in enumerate(region.ops):
            self.places[op], self.loops[op] = (region, number), loop
            for value in op.operands():
                self.users[value].append(op)
            if isinstance(op, memory.ReadVar):
                self.reads[op.var].append(op)
            elif isinstance(op, memory.Load):
                self.loads.append(op)
            for inner in op.regions():
                self._note(inner, op if isinstance(op, control.Loop) else loop)

    def end_of(self, product: arith.Mul) -> Op | None:
        """A sum that a product may contract with; None if there is none."""
        return self._sum_behind(product.results[0], set())

    def _sum_behind(self, value: Value, seen: set[Value]) -> Op | None:
        if value in seen:
            return None
        seen.add(value)
        for user in self.users[value]:
            if isinstance(user, _SUMS):
                if _may_contract(user):
                    return user
            elif isinstance(user, (*_THROUGH, arith.Select)):
                end = self._sum_behind(user.results[0], seen)
                if end is not None:
                    return end
            elif isinstance(user, memory.WriteVar | memory.Store):
                for read in self._readers(user):
                    end = self._sum_behind(read.results[0], seen)
                    if end is not None:
                        return end
        return None

    def _readers(self, write: memory.WriteVar | memory.Store) -> list[Op]:
        """What may read a value that is written: compilers pass values on through memory."""
        if isinstance(write, memory.WriteVar):
            return self.reads[write.var]
        root = self.memory.root(write.pointer)
        return [load for load in self.loads if self.memory.root(load.pointer) is root]

    def is_certain(self, product: arith.Mul, end: Op, splits: Splits) -> bool:
        """Whether every compiler that contracts at all contracts a product with its sum: it has one
        use, up to the sum, in one block, and stays in its loop."""
        value = product.results[0]
        while True:
            users = self.users[value]
            if len(users) != 1:
                return False
            if users[0] is end:
                break
            if not isinstance(users[0], _THROUGH):
                return False
            value = users[0].results[0]
        if any(_contracts_too(other, value) for other in end.operands()):
            return False
        (region, first), (other, last) = self.places[product], self.places[end]
        if region is not other or any(map(splits, region.ops[first:last])):
            return False
        loop = self.loops[product]
        return loop is None or self._varies(product, _written(loop), {})

    def _varies(self, op: Op, written: set[Var], known: dict[Op, bool]) -> bool:
        """Whether each iteration of a loop may have another result, as far as an op shows."""
        if op not in known:
            known[op] = False
            if isinstance(op, memory.ReadVar):
                known[op] = op.var in written
            elif op.pure or isinstance(op, memory.Load):
                producers = [value.op for value in op.operands() if value.op is not None]
                known[op] = any(self._varies(each, written, known) for each in producers)
        return known[op]


def _contracts_too(other: Value, value: Value) -> bool:
    """Whether a sum has the choice of another product."""
    op = other.op
    while isinstance(op, _THROUGH):
        op = op.value.op
    return other is not value and isinstance(op, arith.Mul) and _may_contract(op)


def _written(loop: control.Loop) -> set[Var]:
    ops = (op for region in loop.regions() for op in region.walk())
    return {op.var for op in ops if isinstance(op, memory.WriteVar)}


class _Loads:
    """Loads whose values no compiler finds in registers: nothing in front of them may have stored
    there. Others may be equal to any value of the kernel, or the same in all threads."""

    def __init__(self, kernel: Function) -> None:
        self.places = Places(kernel)
        self.unknown: set[memory.Load] = set()
        self._note(kernel.body, [])

    def is_known(self, value: Value) -> bool:
        """Whether a value depends on known loads alone, and in each iteration on one that is by the
        thread's index."""
        always = self.places.loads_of(value, carried=False)
        return self.places.loads_of(value).isdisjoint(self.unknown) and any(
            self.places.is_indexed(load.pointer) for load in always
        )

    def _note(self, region: Region, stored: list[Value]) -> None:
        """Note the loads of a region behind stores; append its own stores to these."""
        for op in region.ops:
            if isinstance(op, memory.Load):
                if any(self.places.may_meet(op.pointer, each) for each in stored):
                    self.unknown.add(op)
            elif isinstance(op, memory.Store | atomic.Atomic | atomic.AtomicCas):
                stored.append(op.pointer)
            if isinstance(op, control.Loop):  # of earlier iterations
                ops = (inner for part in op.regions() for inner in part.walk())
                stored += [inner.pointer for inner in ops if isinstance(inner, memory.Store)]
            for inner in op.regions():
                self._note(inner, stored)


class _Numbers:
    """Numbers of values: equal for all that a compiler could find to be equal, and for more."""

    def __init__(self, kernel: Function) -> None:
        self.numbers: dict[Value, Hashable] = {}
        self.stored: defaultdict[Hashable, int] = defaultdict(int)
        self.table: dict[Hashable, int] = {}
        for param in kernel.params:
            self._set(param.value, ("param", param.value.name))
        for op in kernel.body.walk():
            self._note(op)

    def of(self, value: Value) -> Hashable:
        """The number of a value."""
        return self.numbers[value]

    def _set(self, value: Value, key: Hashable) -> None:
        self.numbers[value] = self.table.setdefault(key, len(self.table))

    def _size(self, value: Value) -> Hashable:
        """The number of a value without its sign."""
        op = value.op
        while isinstance(op, arith.Neg | arith.Abs):
            value, op = op.value, op.value.op
        if isinstance(op, arith.Const) and isinstance(op.value, float):
            return "size", repr(op.type), repr(abs(op.value))
        return self.numbers.get(value, id(value))

    def _note(self, op: Op) -> None:
        operands = tuple([self.numbers.get(value, id(value)) for value in op.operands()])
        if isinstance(op, arith.Mul):  # compilers move signs behind products
            operands = tuple([self._size(value) for value in op.operands()])
        if isinstance(op, memory.Store):
            self.stored[operands[0]] += 1
        if isinstance(op, memory.Load):
            self._set(op.results[0], ("load", operands, self.stored[operands[0]]))
        elif isinstance(op, memory.ReadVar):
            self._set(op.results[0], ("read", op.var.name))
        elif op.pure:
            if getattr(op, "commutative", False):
                operands = tuple(sorted(operands[:2], key=repr)) + operands[2:]
            names = [name for name in op.PLAIN_FIELDS if name != "fast"]
            fields = tuple([repr(getattr(op, name)) for name in names])
            for number, result in enumerate(op.results):
                self._set(result, (type(op).__name__, fields, operands, number))
        else:
            for result in op.results:
                self._set(result, ("op", id(result)))
