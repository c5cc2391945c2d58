"""Random ops of every class, to be printed and parsed. They need not verify."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from typing import Any, get_type_hints

from gridlane.core.dtypes import ALL, f16, f32, i32
from gridlane.core.errors import VerifyError
from gridlane.core.source import UNKNOWN, Loc
from gridlane.ir.op import REGISTRY, FastMath, FieldKind, Op
from gridlane.ir.types import (
    FragmentType,
    Role,
    Space,
    StructType,
    TileType,
    Type,
    VectorType,
    pointer,
    struct,
    tile,
    vector,
)
from gridlane.ir.values import (
    ErrorSite,
    Function,
    Global,
    Module,
    Param,
    Region,
    Value,
    Var,
)

NAMES = ["x", "", "x", "7", "a b", "weiß", "x.1", "if", "loc", "_", 'q"', "step"]
PAIR = struct("a pair", {"first": f32, "the second": vector(i32, 2)})
TYPES: list[Type] = [*ALL, pointer(f32), pointer(PAIR, Space.SHARED), vector(f32, 4), PAIR]
TYPES += [FragmentType(Role.A, 64, 16, f16), FragmentType(Role.ACC, 16, 48, i32)]
TILES: list[Type] = [tile((4, 2), f32), tile((8,), pointer(f32)), tile((1,), i32)]
TYPES += TILES


def number(rng: random.Random) -> bool | int | float:
    return rng.choice(
        [True, False, 0, -1, 2**64, -(2**63), 0.1, -0.0, 1e300, 5e-324]
        + [float("inf"), -float("inf"), float("nan")]
    )


def location(rng: random.Random) -> Loc:
    loc = UNKNOWN
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        caller = None if loc == UNKNOWN else loc
        name = rng.choice(NAMES)
        loc = Loc(rng.choice(("a.py", 'b "c".py', "")), rng.randrange(9), 4, 9, name, caller)
    return loc


MAKERS: dict[str, Callable[[random.Random], Any]] = {
    "bool": lambda rng: rng.random() < 0.5,
    "int": lambda rng: rng.choice((0, 1, 5, -3)),
    "str": lambda rng: rng.choice(NAMES),
    "bool | int | float": number,
    "FastMath": lambda rng: FastMath(rng.choice((0, 1, 16, 20, 127, 126))),
    "Type": lambda rng: rng.choice(TYPES),
    "DType": lambda rng: rng.choice(ALL),
    "PointerType": lambda rng: rng.choice([t for t in TYPES if str(t).startswith("ptr")]),
    "FragmentType": lambda rng: rng.choice([t for t in TYPES if isinstance(t, FragmentType)]),
    "TileType": lambda rng: rng.choice([t for t in TYPES if isinstance(t, TileType)]),
    "StructType | VectorType": lambda rng: rng.choice(
        [t for t in TYPES if isinstance(t, StructType | VectorType)]
    ),
    "tuple[int, ...]": lambda rng: tuple(rng.choices((0, 7, -1), k=rng.randrange(3))),
    "tuple[str, ...]": lambda rng: tuple(rng.choices(NAMES, k=rng.randrange(3))),
    "tuple[Type, ...]": lambda rng: tuple(rng.choices(TYPES, k=rng.randrange(3))),
}


class Maker:
    """Makes a module with ops of given classes, nested at random."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.function = Function(rng.choice(NAMES) or "k", is_kernel=True, loc=location(rng))
        self.values: list[Value] = []

    def module(self, classes: list[type[Op]]) -> Module:
        rng, function = self.rng, self.function
        for type_ in rng.sample(TYPES, 6) + [pointer(f32), pointer(PAIR), PAIR, *TILES]:
            path = rng.choice(((), ("data",), ("shape", 1), (0, "real")))
            value = Value(type_, name=rng.choice(NAMES))
            flags = [rng.random() < 0.5 for _ in range(2)]
            self.values.append(value)
            function.params.append(
                Param(value, rng.randrange(3), path, *flags, rng.choice((0, 16)))
            )
        function.variables = [Var(rng.choice(NAMES), rng.choice(TYPES)) for _ in range(3)]
        function.results = tuple(rng.choices(TYPES, k=rng.randrange(3)))
        self.fill(function.body, list(classes))
        module = Module({function.name: function})
        module.errors = [
            ErrorSite("ValueError", 'a "b"\n', location(rng)) for _ in range(rng.randrange(3))
        ]
        for name in dict.fromkeys(rng.choices(NAMES, k=2)):
            data = rng.choice((None, b"", b"\x00\xff"))
            space = rng.choice((Space.SHARED, Space.CONSTANT))
            module.globals[name] = Global(name, rng.choice(TYPES), 7, space, 32, data)
        return module

    def fill(self, region: Region, classes: list[type[Op]]) -> None:
        """Put ops of the classes into a region and regions in it."""
        visible = len(self.values)
        while classes:
            op = self.op(classes.pop())
            region.ops.append(op)
            self.values += op.results
            for inner in op.regions():
                taken = [classes.pop() for _ in range(min(len(classes), self.rng.randrange(4)))]
                self.fill(inner, taken)
        del self.values[visible:]

    def op(self, cls: type[Op]) -> Op:
        while True:
            try:
                op = cls(**{name: self.field(cls, name, kind) for name, kind, _ in cls.LAYOUT})
            except VerifyError:
                continue  # these operands have no result type
            op.loc = location(self.rng)
            for value in op.results:
                value.name = self.rng.choice(NAMES)
            return op

    def field(self, cls: type[Op], name: str, kind: FieldKind) -> Any:
        rng = self.rng
        if kind is FieldKind.OPERAND:
            return rng.choice(self.values)
        if kind is FieldKind.OPERANDS:
            return tuple(rng.choices(self.values, k=rng.randrange(4)))
        if kind is FieldKind.VARIABLE:
            return rng.choice(self.function.variables)
        if kind is FieldKind.REGION:
            return Region()
        default = next(item.default for item in fields(cls) if item.name == name)
        if rng.random() < 0.3 and not callable(default) and default is not None:
            if not str(type(default)).count("MISSING"):
                return default
        annotation = next(text for field, _, text in cls.LAYOUT if field == name)
        if annotation in MAKERS:
            return MAKERS[annotation](rng)
        hint = get_type_hints(cls)[name]
        assert issubclass(hint, Enum)
        return rng.choice(list(hint))


def random_module(seed: int, classes: list[type[Op]]) -> Module:
    """A module with these ops, in an order that the seed gives."""
    rng = random.Random(seed)
    rng.shuffle(classes)
    return Maker(rng).module(classes)


def every_op() -> list[type[Op]]:
    return list(REGISTRY.values())
