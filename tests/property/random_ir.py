"""Random valid kernels whose results CUDA defines, so that every device must agree on them.

A number seeds a plain generator, which is much faster than drawing each choice; ``size`` bounds the
number of statements, so that a failing case shrinks to a small kernel.

What is kept out, because devices may differ: the bits of a NaN, races, shuffles from lanes that are
not there, memory that nobody wrote.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from gridlane.conformance.cases import choices
from gridlane.conformance.special import special
from gridlane.core.dtypes import ALL, FLOATS, INTEGERS, DType, b1, i32, i64, u32
from gridlane.ir.builder import Builder
from gridlane.ir.op import REGISTRY, Op
from gridlane.ir.ops import arith, atomic, control, grid, math, memory, warp
from gridlane.ir.types import Space, Type, pointer, struct, vector
from gridlane.ir.values import ErrorSite, Function, Global, Module, Param, Region, Value, Var

ELEMENTS = 64
"""Elements of each input array; a power of two, so that a mask keeps an index inside."""

SLOTS = 8
"""Results of each thread in each output array."""

BLOCKS = [(32, 1, 1), (64, 1, 1), (96, 1, 1), (8, 4, 2), (40, 1, 1), (5, 7, 1), (1, 1, 1)]

ARITHMETIC = (arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Rem, arith.Min, arith.Max)
BITWISE = (arith.And, arith.Or, arith.Xor)
COMPARES = (arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge)
INTEGER_UNARY = (arith.Neg, arith.Abs, arith.Not, arith.Popcount, arith.Clz, arith.Brev)
FLOAT_UNARY = (arith.Neg, arith.Abs, math.Sqrt, math.Floor, math.Ceil, math.Trunc, math.Rint)
FLOAT_UNARY += (math.Round,)
COMMUTING = ("ADD", "AND", "OR", "XOR", "MIN", "MAX")


@dataclass
class Program:
    """A kernel and what it is launched with."""

    module: Module
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arrays: list[np.ndarray]
    scalars: tuple
    labels: list[str]


@dataclass(frozen=True)
class Context:
    """Where the next statement stands.

    ``uniform``: all threads of the block that have not ended are here together. ``kernel``: not in
    a device function. ``exits``: what a divergent statement may do: break, continue, leave.
    """

    kernel: bool = True
    uniform: bool = True
    exits: tuple[type[Op], ...] = ()
    depth: int = 0


def random_program(
    seed: int, size: int, lockstep: bool = False, expanding: bool = False
) -> Program:
    """The program of a seed, with about ``size`` statements. ``lockstep``: lanes exchange data only
    where all of a warp are together, as hardware wants it. ``expanding``: it has ops that targets
    expand, which other passes do not know."""
    rng = random.Random(seed)
    block = rng.choice(BLOCKS)
    grid_ = (rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2)), 1)
    types = rng.sample(ALL, rng.randint(2, 4))
    maker = KernelMaker(rng, block, grid_, types)
    maker.lockstep, maker.expanding = lockstep, expanding
    return maker.program(size)


class Maker:
    """Makes the body of one function: what is visible, and one method for each statement."""

    def __init__(self, rng: random.Random, module: Module, function: Function) -> None:
        self.rng = rng
        self.module = module
        self.function = function
        self.b = Builder(module, function)
        self.pool: dict[DType, list[Value]] = {dtype: [] for dtype in ALL}
        self.variables: dict[DType, list[Var]] = {dtype: [] for dtype in ALL}
        self.types: list[DType] = [i32, b1]
        self.context = Context()
        self.functions: list[Function] = []
        self.numbers: list[Value] = []
        """Integers that differ from thread to thread."""
        self.scopes: list[control.ScopeOp] = []
        self.named = 0
        # Of its own, so that the seeds of older failures still give the same programs.
        self.outwards = random.Random(rng.getstate()[1][0])

    # ---- values

    def add(self, value: Value) -> Value:
        """Make a scalar visible to what follows."""
        if isinstance(value.type, DType):
            self.pool[value.type].append(value)
        return value

    def emit(self, op: Op) -> tuple[Value, ...]:
        results = self.b.emit(op).results
        for value in results:
            self.add(value)
        return results

    def constant(self, dtype: DType) -> Value:
        return self.b.const(self.rng.choice(CONSTANTS[dtype]), dtype)

    def any(self, dtype: DType) -> Value:
        """A visible value of a type, the latest ones more often, or a constant."""
        rng, known = self.rng, self.pool[dtype]
        if not known or rng.random() < 0.15:
            return self.add(self.constant(dtype))
        return known[-1 - int(len(known) * rng.random() ** 2)]

    def type(self, kinds: tuple[DType, ...] = ALL) -> DType:
        """A type, mostly one of the program's own."""
        own = [dtype for dtype in self.types if dtype in kinds]
        return self.rng.choice(own if own and self.rng.random() < 0.8 else kinds)

    def number(self, dtype: DType) -> Value:
        """A value that is not NaN, whose bits are thus the same everywhere."""
        value = self.any(dtype)
        if not dtype.is_float:
            return value
        return self.b.select(self.b.eq(value, value), value, self.b.const(1.5, dtype))

    def index(self, limit: int) -> Value:
        """An integer in [0, limit), a power of two."""
        dtype = self.type(INTEGERS)
        return self.b.and_(self.any(dtype), self.b.const(limit - 1, dtype))

    @contextmanager
    def inside(self, region: Region, **changes) -> Iterator[None]:
        """Statements of a nested region; what they define goes out of sight."""
        context, lengths = self.context, {dtype: len(v) for dtype, v in self.pool.items()}
        self.context = replace(context, depth=context.depth + 1, **changes)
        with self.b.inside(region):
            yield
        self.context = context
        for dtype, length in lengths.items():
            del self.pool[dtype][length:]

    # ---- statements that compute

    def binary(self) -> None:
        dtype = self.type((*INTEGERS, *FLOATS))
        classes = ARITHMETIC + ((*BITWISE, arith.MulHi) if dtype.is_integer else ())
        self.emit(self.rng.choice(classes)(self.any(dtype), self.any(dtype)))

    def logic(self) -> None:
        if self.rng.random() < 0.3:
            self.emit(arith.Not(self.any(b1)))
        else:
            self.emit(self.rng.choice(BITWISE)(self.any(b1), self.any(b1)))

    def unary(self) -> None:
        dtype = self.type((*INTEGERS, *FLOATS))
        classes = FLOAT_UNARY if dtype.is_float else INTEGER_UNARY
        self.emit(self.rng.choice(classes)(self.any(dtype)))

    def compare(self) -> None:
        dtype = self.type()
        classes = COMPARES[:2] if dtype is b1 else COMPARES
        self.emit(self.rng.choice(classes)(self.any(dtype), self.any(dtype)))

    def shift(self) -> None:
        cls = self.rng.choice((arith.Shl, arith.Shr))
        self.emit(cls(self.any(self.type(INTEGERS)), self.any(self.type(INTEGERS))))

    def floats(self) -> None:
        dtype, rng = self.type(FLOATS), self.rng
        x = self.any(dtype)
        made = rng.choice(
            (
                lambda: arith.Fma(x, self.any(dtype), self.any(dtype)),
                lambda: math.Copysign(x, self.number(dtype)),
                lambda: math.Nextafter(x, self.any(dtype)),
                lambda: math.Ldexp(x, self.any(i32)),
                lambda: math.Frexp(x),
            )
        )
        self.emit(made())

    def cast(self) -> None:
        self.emit(arith.Cast(self.any(self.type()), self.type()))

    def select(self) -> None:
        dtype = self.type()
        self.emit(arith.Select(self.any(b1), self.any(dtype), self.any(dtype)))

    def bitcast(self) -> None:
        source = self.type((*INTEGERS, *FLOATS))
        same = [dtype for dtype in ALL if dtype.size == source.size and dtype is not b1]
        self.emit(arith.Bitcast(self.number(source), self.rng.choice(same)))

    # ---- statements with state

    def write(self) -> None:
        dtype = self.type()
        known = self.variables[dtype]
        if not known or self.rng.random() < 0.3:
            known.append(self.b.variable("v", dtype))
        self.b.write(self.rng.choice(known), self.any(dtype))

    def absorb(self) -> None:
        """Make a late value part of a variable, whose last value is a result."""
        b, dtype = self.b, self.type()
        known = self.variables[dtype]
        if not known or not self.pool[dtype]:
            return
        var, value = self.rng.choice(known), self.pool[dtype][-1]
        if dtype is b1:
            value = b.value(arith.Xor(b.read(var), value))
        elif dtype.is_integer:
            value = b.add(b.mul(b.read(var), b.const(5, dtype)), value)
        elif self.rng.random() < 0.5:
            value = b.value(arith.Sub(value, b.read(var)))
        b.write(var, value)

    def condition(self) -> Value:
        """A condition that differs among the threads, most often by their number."""
        b, rng = self.b, self.rng
        if rng.random() < 0.4 or not self.numbers:
            return self.any(b1)
        number = b.rem(rng.choice(self.numbers), b.const(rng.choice((2, 3, 4, 5, 33)), i32))
        value = b.value(rng.choice(COMPARES)(number, b.const(rng.randint(0, 3), i32)))
        return self.add(value)

    def read(self) -> None:
        known = self.variables[self.type()]
        if known:
            self.emit(memory.ReadVar(self.rng.choice(known)))

    def local(self) -> None:
        """An array of the thread: filled, changed at one place, read at another."""
        b, dtype, count = self.b, self.type(), self.rng.choice((2, 4, 8))
        array = b.value(memory.LocalArray(dtype, count))
        for number in range(count):
            b.store(b.offset(array, b.const(number, i32)), self.any(dtype))
        b.store(b.offset(array, self.index(count)), self.any(dtype))
        self.emit(memory.Load(b.offset(array, self.index(count))))

    def vector(self) -> None:
        b, dtype = self.b, self.type((*INTEGERS, *FLOATS))
        kind: Type = vector(dtype, 4)
        if self.rng.random() < 0.3:
            other = self.type()
            kind = struct("pair", {"a": dtype, "b": other, "c": dtype, "d": other})
        one, two = (
            b.value(memory.Pack(tuple(self.any(t) for t in memory.part_types(kind)), kind))
            for _ in range(2)
        )
        whole = b.select(self.any(b1), one, two)
        if self.rng.random() < 0.4:
            var = b.variable("w", kind)
            with b.if_(self.any(b1)):
                b.write(var, whole)
            whole = b.read(var)
        self.emit(memory.Part(whole, self.rng.randrange(4)))

    def call(self) -> None:
        if self.functions:
            callee = self.rng.choice(self.functions)
            arguments = tuple(self.any(param.value.type) for param in callee.params)
            self.emit(control.Call(callee.name, arguments, callee.results))

    # ---- control flow

    def branch(self) -> None:
        uniform = self.context.uniform and self.rng.random() < 0.3
        condition = self.uniform_condition() if uniform else self.condition()
        op = control.If(condition, Region(), Region())
        self.b.emit(op)
        exits = self.context.exits if not uniform else ()
        sides = [op.then] if self.rng.random() < 0.5 else [op.then, op.orelse]
        for region in sides:
            with self.inside(region, uniform=uniform, exits=exits):
                self.statements(self.rng.randint(1, 4))
                self.absorb()
                self.maybe_exit()

    def exit_if(self) -> None:
        """Some of the threads break, continue or leave."""
        if not self.context.exits:
            return
        op = control.If(self.condition(), Region(), Region())
        self.b.emit(op)
        exits = self.context.exits
        side = self.rng.choice((op.then, op.then, op.orelse))
        with self.inside(side, uniform=False):
            self.statements(self.rng.randint(0, 2))
            self.absorb()
            self.b.emit(self.exit(exits))
        self.absorb()

    def maybe_exit(self) -> None:
        """End a region early, now and then."""
        exits = self.context.exits
        if exits and self.rng.random() < 0.5:
            self.b.emit(self.exit(exits))

    def exit(self, exits: tuple[type[Op], ...]) -> Op:
        """One of the exits, or out of a scope further out, or out of the function."""
        chosen = self.rng.choice(exits)()
        if not self.scopes or self.outwards.random() < 0.6:
            return chosen
        if isinstance(self, FunctionMaker) and self.outwards.random() < 0.3:
            results = [self.b.zero(type_) for type_ in self.function.results]
            return control.Return(tuple(results))
        scope = self.outwards.choice(self.scopes)
        if not scope.label:
            self.named += 1
            scope.label = self.named
        return control.Leave(scope.label)

    def loop(self) -> None:
        """A counter bounds it; there may be other ways out."""
        b, rng = self.b, self.rng
        uniform = self.context.uniform and rng.random() < 0.5
        bound = b.const(rng.randint(1, 4), i32)
        if not uniform:
            bound = b.cast(self.index(4), i32)
            if self.numbers:
                bound = b.rem(b.add(rng.choice(self.numbers), bound), b.const(5, i32))
        counter = b.variable("i", i32)
        b.write(counter, b.const(0, i32))
        op = control.Loop(Region(), Region(), rng.choice((0, 0, 1, 4)))
        b.emit(op)
        exits = (control.Break, control.Continue)
        # A break in a loop must not leave the barriers behind it to some of the threads.
        exits = () if uniform else exits
        with self.inside(op.body, uniform=uniform, exits=exits):
            at = self.add(b.read(counter))
            b.break_if(b.value(arith.Ge(at, bound)))
            self.numbers.append(at)
            for _ in range(rng.randint(1, 3)):
                self.statements(rng.randint(1, 3))
                self.exit_if()
            self.absorb()
            self.numbers.pop()
        with self.inside(op.step, uniform=uniform, exits=()):
            b.write(counter, b.add(b.read(counter), b.const(1, i32)))
            if rng.random() < 0.3:
                self.write()

    def scope(self) -> None:
        op = control.ScopeOp(Region())
        self.b.emit(op)
        self.scopes.append(op)
        with self.inside(op.body, uniform=False, exits=(control.Leave,)):
            for _ in range(self.rng.randint(1, 3)):
                self.statements(self.rng.randint(1, 3))
                self.exit_if()
            self.absorb()
        self.scopes.pop()

    def uniform_condition(self) -> Value:
        return self.b.const(self.rng.random() < 0.7, b1)

    STATEMENTS: tuple[tuple[int, str], ...] = (
        (10, "binary"),
        (3, "logic"),
        (5, "unary"),
        (5, "compare"),
        (3, "shift"),
        (5, "floats"),
        (5, "cast"),
        (3, "select"),
        (2, "bitcast"),
        (5, "write"),
        (5, "read"),
        (6, "absorb"),
        (2, "local"),
        (2, "vector"),
        (2, "call"),
        (4, "branch"),
        (3, "loop"),
        (2, "scope"),
    )

    def weights(self) -> list[int]:
        return [weight for weight, _ in self.STATEMENTS]

    def statements(self, count: int) -> None:
        names = [name for _, name in self.STATEMENTS]
        for name in self.rng.choices(names, self.weights(), k=count):
            if self.context.depth >= 3 and name in ("branch", "loop", "scope"):
                name = "binary"
            getattr(self, name)()


class FunctionMaker(Maker):
    """A device function: no barriers, no warp ops; early returns."""

    def make(self, size: int) -> None:
        rng, function = self.rng, self.function
        self.context = Context(kernel=False, uniform=False)
        self.types = [dtype for dtype in {*rng.sample(ALL, 2), i32, b1}]
        self.types.sort(key=str)
        for number in range(rng.randint(1, 3)):
            value = self.add(Value(rng.choice(self.types), name=f"a{number}"))
            function.params.append(Param(value))
        function.results = tuple(rng.choices(self.types, k=rng.randint(0, 2)))
        self.numbers = [value for value in self.pool[i32]]
        for _ in range(rng.randint(0, 2)):
            self.statements(size)
            with self.b.if_(self.condition()) as op:
                pass
            with self.inside(op.then):
                self.statements(1)
                self.finish()
        self.statements(size)
        if rng.random() < 0.3:
            self.loop()
        self.finish()

    def finish(self) -> None:
        self.b.return_(tuple(self.any(type_) for type_ in self.function.results))


class KernelMaker(Maker):
    """The kernel: arrays, results, shared memory, warps, atomics."""

    def __init__(self, rng, block, grid_, types) -> None:
        function = Function("kernel", is_kernel=True)
        super().__init__(rng, Module({"kernel": function}), function)
        self.block, self.grid = block, grid_
        self.threads = block[0] * block[1] * block[2]
        self.types = [*types, i32, b1]
        self.arrays: list[np.ndarray] = []
        self.labels: list[str] = []
        self.scalars: list = []
        self.inputs: dict[DType, list[Value]] = {}
        self.outputs: dict[DType, Value] = {}
        self.cells: dict[str, Value] = {}
        self.conditions: list[Value] = []
        self.lockstep = False
        self.expanding = False
        self.complete = True
        """No thread has ended yet."""

    def program(self, size: int) -> Program:
        for number in range(self.rng.choice((0, 0, 1, 2))):
            made = Function(f"f{number}")
            self.module.functions[made.name] = made
            maker = FunctionMaker(self.rng, self.module, made)
            maker.functions = list(self.functions)
            maker.make(self.rng.randint(1, 4))
            self.functions.append(made)
        self.begin()
        self.statements(size)
        self.results()
        return Program(
            self.module, self.grid, self.block, self.arrays, tuple(self.scalars), self.labels
        )

    # ---- parameters

    def param(self, type_: Type, **attributes) -> Value:
        value = Value(type_, name=f"p{len(self.function.params)}")
        self.function.params.append(Param(value, len(self.function.params), **attributes))
        return value

    def array(self, element: Type, data: np.ndarray, label: str, **attributes) -> Value:
        self.arrays.append(data)
        self.labels.append(label)
        return self.param(pointer(element), path=("data",), **attributes)

    def begin(self) -> None:
        b, rng = self.b, self.rng
        for dtype in (*self.types, rng.choice(self.types)):
            data = random_array(rng, dtype, ELEMENTS)
            pointer_ = self.array(dtype, data, f"input {dtype}", noalias=True, readonly=True)
            self.inputs.setdefault(dtype, []).append(pointer_)
        for dtype in dict.fromkeys(self.types):
            scalar = self.add(self.param(dtype))
            self.scalars.append(random_array(rng, dtype, 1)[0])
            cls = arith.Eq if dtype is b1 else arith.Lt
            self.conditions.append(self.add(b.value(cls(scalar, self.constant(dtype)))))
        self.place()
        count = self.threads * self.grid[0] * self.grid[1]
        for dtype in dict.fromkeys(self.types):
            whole = self.array(dtype, np.zeros(count * SLOTS, dtype.numpy), f"output {dtype}")
            first = b.mul(b.cast(self.thread, i64), b.const(SLOTS, i64))
            self.outputs[dtype] = b.offset(whole, first)

    def place(self) -> None:
        """The thread's number in its block and in the grid."""
        b = self.b
        axes = [axis for axis in grid.Axis]
        index = {axis: self.add(b.value(grid.ThreadIdx(axis))) for axis in axes}
        size = {axis: self.add(b.value(grid.BlockDim(axis))) for axis in axes}
        block = {axis: self.add(b.value(grid.BlockIdx(axis))) for axis in axes}
        self.local_number = index[grid.Axis.Z]
        for axis in (grid.Axis.Y, grid.Axis.X):
            self.local_number = b.add(b.mul(self.local_number, size[axis]), index[axis])
        self.add(self.local_number)
        number = b.mul(block[grid.Axis.Y], b.value(grid.GridDim(grid.Axis.X)))
        number = b.add(number, block[grid.Axis.X])
        self.thread = self.add(b.add(b.mul(number, b.const(self.threads, i32)), self.local_number))
        self.add(b.value(grid.LaneId()))
        self.conditions.append(self.add(b.eq(block[grid.Axis.X], b.const(0, i32))))
        self.numbers = [self.local_number, self.thread]
        for dtype in dict.fromkeys(self.types):
            var = b.variable("v", dtype)
            b.write(var, self.any(dtype))
            self.variables[dtype].append(var)

    def uniform_condition(self) -> Value:
        return self.rng.choice(self.conditions)

    # ---- memory

    def load(self) -> None:
        dtype = self.rng.choice(self.types)
        array = self.rng.choice(self.inputs[dtype])
        if self.rng.random() < 0.2:
            array = self.b.select(self.any(b1), array, self.rng.choice(self.inputs[dtype]))
        index = self.thread if self.rng.random() < 0.4 else self.index(ELEMENTS)
        if index is self.thread:
            index = self.b.and_(index, self.b.const(ELEMENTS - 1, i32))
        self.emit(memory.Load(self.b.offset(array, index)))

    def slot(self, dtype: DType) -> Value:
        """The address of a result of this thread."""
        at = self.rng.randrange(SLOTS)
        return self.b.offset(self.outputs[dtype], self.b.const(at, i32))

    def store(self) -> None:
        dtype = self.rng.choice(self.types)
        if self.rng.random() < 0.15 and dtype is not b1:
            four = vector(dtype, 4)
            at = self.b.offset(self.outputs[dtype], self.b.const(self.rng.choice((0, 4)), i32))
            whole = self.b.value(memory.Pack(tuple(self.any(dtype) for _ in range(4)), four))
            self.b.store(self.b.recast(at, pointer(four)), whole)
            return
        at = self.slot(dtype)
        self.b.store(at, self.any(dtype))
        if self.rng.random() < 0.3:
            self.emit(memory.Load(self.slot(dtype)))

    def own_atomic(self) -> None:
        """On the thread's own result, so that the old value is defined."""
        known = [dtype for dtype in self.types if dtype.is_integer]
        dtype = self.rng.choice(known)
        kinds = [kind for kind in atomic.AtomicKind if kind.name not in ("INC", "DEC")]
        if not dtype.is_signed:
            kinds = list(atomic.AtomicKind)
        if self.rng.random() < 0.3:
            old, new = self.any(dtype), self.any(dtype)
            self.emit(atomic.AtomicCas(self.slot(dtype), old, new))
        else:
            self.emit(atomic.Atomic(self.rng.choice(kinds), self.slot(dtype), self.any(dtype)))

    def shared_atomic(self) -> None:
        """On a cell of all threads that sees one kind only, so that the order does not show."""
        kind = self.rng.choice(COMMUTING)
        dtype = self.rng.choice([dtype for dtype in self.types if dtype.is_integer])
        key = f"{kind} {dtype}"
        if key not in self.cells:
            data = random_array(self.rng, dtype, 2)
            self.cells[key] = self.array(dtype, data, key)
        at = self.b.offset(self.cells[key], self.index(2))
        self.b.value(atomic.Atomic(atomic.AtomicKind[kind], at, self.any(dtype)))

    # ---- the block and its warps

    def exchange(self) -> None:
        """Every thread writes to shared memory and reads what another wrote."""
        if not (self.context.uniform and self.complete):
            return
        b, dtype = self.b, self.type()
        name = f"tile{len(self.module.globals)}"
        self.module.globals[name] = Global(name, dtype, self.threads, Space.SHARED)
        tile = b.value(memory.GlobalAddress(name, pointer(dtype, Space.SHARED)))
        b.store(b.offset(tile, self.local_number), self.any(dtype))
        b.emit(grid.Barrier())
        shift = b.const(self.rng.randrange(self.threads), i32)
        other = b.rem(b.add(self.local_number, shift), b.const(self.threads, i32))
        self.emit(memory.Load(b.offset(tile, other)))
        b.emit(grid.Barrier())

    def barrier(self) -> None:
        if self.context.uniform:
            kind = self.rng.choice([*grid.Reduction][:3])  # NONE is a barrier_part's
            self.emit(grid.BarrierReduce(kind, self.any(b1)))

    def warps(self) -> None:
        """Of the lanes that are here together; in lockstep, only where that is all of them."""
        if self.lockstep and not (self.context.uniform and self.complete):
            return
        b, rng = self.b, self.rng
        mask = b.const(0xFFFFFFFF, u32)
        dtype = self.type(INTEGERS)
        made: Callable[[], Op] = rng.choice(
            (
                lambda: warp.Vote(rng.choice(list(warp.VoteMode)), mask, self.any(b1)),
                lambda: warp.MatchAny(mask, self.number(self.type())),
                lambda: warp.MatchAll(mask, self.number(self.type())),
                lambda: warp.WarpReduce(
                    rng.choice(list(warp.WarpReduction)), mask, self.any(dtype)
                ),
                # In hardware lanes need not be together again behind an atomic, say.
                *(() if self.lockstep else (lambda: warp.ActiveMask(),)),
            )
        )
        self.emit(made())

    def shuffle(self) -> None:
        if not (self.context.uniform and self.complete and self.threads % 32 == 0):
            return
        b, rng, dtype = self.b, self.rng, self.type()
        lane = (
            b.cast(self.index(32), i32)
            if rng.random() < 0.5
            else b.const(rng.choice((1, 2, 5, 16)), i32)
        )
        width = b.const(rng.choice((32, 32, 32, 16, 8, 2)), i32)
        mode = rng.choice(list(warp.ShuffleMode))
        mask = b.const(0xFFFFFFFF, u32)
        self.emit(warp.Shuffle(mode, mask, self.any(dtype), lane, width))

    def end(self) -> None:
        """Some of the threads return, or raise."""
        if self.rng.random() < 0.7 or not self.context.uniform or self.context.depth:
            return
        with self.b.if_(self.condition()) as op:
            pass
        with self.inside(op.then, uniform=False):
            self.store()
            if self.rng.random() < 0.2:
                self.module.errors.append(ErrorSite("ValueError", "on purpose"))
                self.b.emit(control.Raise(len(self.module.errors) - 1))
            else:
                self.b.return_()
        self.complete = False

    def results(self) -> None:
        """Store the latest values."""
        for dtype, base in self.outputs.items():
            values = [self.b.read(var) for var in self.variables[dtype][:5]]
            values += [self.any(dtype) for _ in range(2)]
            for slot, value in enumerate(values):
                self.b.store(self.b.offset(base, self.b.const(slot, i32)), value)

    STATEMENTS = (
        *Maker.STATEMENTS,
        (8, "load"),
        (5, "store"),
        (2, "own_atomic"),
        (2, "shared_atomic"),
        (3, "exchange"),
        (2, "barrier"),
        (8, "warps"),
        (4, "shuffle"),
        (1, "end"),
        (0, "expanded"),
    )

    def weights(self) -> list[int]:
        return [*super().weights()[:-1], 8 if self.expanding else 0]

    def expanded(self) -> None:
        """An op on elements that has an expansion."""
        known = [cls for cls in REGISTRY.values() if cls.expands and cls.elementwise]
        cls = self.rng.choice(known)
        dtype = self.type(INTEGERS)
        types = self.rng.choice(cls.signatures or [(dtype,) * len(cls.OPERAND_FIELDS)])
        choice = self.rng.choice(choices(cls))
        self.emit(cls(*[self.any(type_) for type_ in types], **choice))  # type: ignore[arg-type]


def random_array(rng: random.Random, dtype: DType, count: int) -> np.ndarray:
    """Half of the values are special, half plain."""
    corner = SPECIAL[dtype]
    plain = np.array([rng.randint(-100, 100) for _ in range(count)])
    plain = plain.astype(np.float64) / 4 if dtype.is_float else plain
    with np.errstate(all="ignore"):
        plain = plain.astype(dtype.numpy)
    chosen = [
        corner[rng.randrange(len(corner))] if rng.random() < 0.5 else plain[n] for n in range(count)
    ]
    return np.array(chosen, dtype.numpy)


SPECIAL = {dtype: special(dtype) for dtype in ALL}
CONSTANTS = {dtype: [*SPECIAL[dtype].tolist(), 0, 1, 2, 3] for dtype in ALL}
