"""Translate one function: walk its ast and append IR, typed on the way.

Expressions evaluate to operands, variables are a dict from names to operands. The meaning of a node
of the ast is a rule, which receives the translator: rules.py lists them, and this module knows
none. Joins (joins.py) make IR variables where control flow needs them; a loop whose guessed types
turn out too narrow is translated again with wider ones.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from gridlane.core.dtypes import DType, f32, f64, i64
from gridlane.core.errors import CompileError, TypingError, UnsupportedError
from gridlane.core.frozen import frozen
from gridlane.core.source import Loc
from gridlane.frontends.python import doubles
from gridlane.frontends.python.doubles import Cause
from gridlane.frontends.python.frames import Copy, Environment, Frame, UnboundYet
from gridlane.frontends.python.operands import Activation, Conflict, Operand, Scalar, number
from gridlane.frontends.python.source import FunctionSource, source_of
from gridlane.frontends.python.specs import Spec
from gridlane.frontends.python.unification import unify
from gridlane.frontends.python.unit import Unit
from gridlane.ir.builder import Builder, Number
from gridlane.ir.op import FastMath, Op
from gridlane.ir.types import Type
from gridlane.ir.values import Function, Region, Value, Var

_WITH_NANS = FastMath.FAST & ~(FastMath.NNAN | FastMath.NINF)


@dataclass(slots=True)
class Snapshot:
    """The state to restore when a loop is translated again."""

    ops: int
    variables: int
    names: dict[str, int]
    environment: Environment
    returns: int
    loc: Loc


class ResultUnknown(TypingError):
    """A call of a function that is being translated, before any of its paths has returned. The code
    behind it is unreachable in this attempt: other paths determine the result."""

    def __init__(self, message: str, loc: Loc, called: object) -> None:
        super().__init__(message, loc)
        self.called = called


@frozen
class Rules:
    """The rules of the ast's nodes, by their type. Those of ``expressions`` return operands.
    ``truth`` returns the truth value that the program defines for an operand, a b1; None if it
    defines none."""

    expressions: Mapping[type[ast.expr], Callable[[Translator, Any], Operand]]
    statements: Mapping[type[ast.stmt], Callable[[Translator, Any], None]]
    truth: Callable[[Translator, Operand], Value | None]


class Translator:
    """The state of the translation of one function.

    Attributes:
        rules: of expressions and statements; callees are translated by the same.
        b: the IR builder, whose ``loc`` is the place of the expression being translated.
        env: the variables bound here, those of functions around an inlined one included.
        activation: of the function, or of the one that is being inlined.
        inlining: the definitions of the functions that are being inlined, innermost last.
        copy: which copy of the statements of the source is translated.
        dead: whether control does not reach the current place.
        loops: the enclosing loops, innermost last.
        returns: for device functions, the place and the operand of each return.
        learned: specs of loop variables found by earlier attempts; ``lessons`` counts changes.
        compared: operands of the comparisons translated so far, for refine.py.
        parameters: the IR values of the parameters, with the parameter's number.
        floats: what Python floats are here, one of ``core.options.FLOATS``.
        place: the place of all that is emitted; None where it is that of the source's nodes.
        callee: the function of the table whose call is being translated.
        unknown: the calls behind which this attempt does not continue.
        shared_used: the bytes of dynamic shared memory that a kernel's arrays have taken; None in
            functions without any.
        causes: the causes of float64; None if they are not requested. Attempts add to them: what
            made a variable of a loop float64 does not meet its first type again.
    """

    def __init__(
        self,
        unit: Unit,
        rules: Rules,
        function: types.FunctionType,
        target: Function,
        floats: str,
        place: Loc | None = None,
        source: FunctionSource | None = None,
    ) -> None:
        self.unit, self.rules, self.function = unit, rules, function
        self.source: FunctionSource = source or source_of(function)
        self.place, self.floats = place, floats
        self.b = Builder(unit.module, target)
        self.b.loc = self.locate(self.source.node)
        fast = FastMath.FAST if unit.options.finite else _WITH_NANS
        self.b.fast = fast if unit.options.fastmath else FastMath.NONE
        self.env: Environment = {}
        self.inlining: list[ast.AST] = []
        self.copy: Copy = ()
        self.dead = False
        self.loops: list[Frame] = []
        self.returns: list[tuple[Region, Operand, Loc]] = []
        self.learned: dict[tuple[Copy, ast.AST, str], Spec | Conflict] = {}
        self.lessons = 0
        self.compared: dict[ast.AST, list[Operand]] = {}
        self.parameters: dict[Value, int] = {}
        self.callee = ""
        self.unknown: list[ResultUnknown] = []
        self.shared_used: Var | None = None
        self.causes: list[Cause] | None = None
        if unit.causes is not None:
            self.causes = unit.causes[target.name] = []
        code = function.__code__
        self.activation = Activation(frozenset((*code.co_varnames, *code.co_cellvars)))
        contracted = FastMath.CONTRACT if unit.options.fma else FastMath.NONE
        self.contract = fast if unit.options.fastmath else contracted

    # ---- walking

    def locate(self, node: ast.AST) -> Loc:
        """The place of what is emitted for a node."""
        return self.place or self.source.locate(node)

    def expr(self, node: ast.expr) -> Operand:
        """Translate an expression."""
        b = self.b
        outer = b.loc
        b.loc = self.locate(node)
        rule = self.rules.expressions.get(type(node))
        if rule is None:
            raise UnsupportedError(_unsupported(node), b.loc)
        result = rule(self, node)
        b.loc = outer
        return result

    def block(self, statements: list[ast.stmt]) -> None:
        """Translate statements until control ends."""
        for statement in statements:
            if self.dead:
                return
            self.b.loc = self.locate(statement)
            rule = self.rules.statements.get(type(statement))
            if rule is None:
                raise UnsupportedError(_unsupported(statement), self.b.loc)
            rule(self, statement)

    @contextmanager
    def at(self, node: ast.AST) -> Generator[None]:
        """Set the location of the emitted ops inside to the place of ``node``."""
        outer, self.b.loc = self.b.loc, self.locate(node)
        yield
        self.b.loc = outer

    def terminate(self, op: Op) -> None:
        """Emit an op that ends the region."""
        self.b.emit(op)
        self.dead = True

    # ---- types

    @property
    def floating(self) -> DType:
        """The type of a Python float."""
        return _FLOATING[self.floats]

    def promoted(self, rule: Callable[..., DType], *types: DType, joins: str = "") -> DType:
        """The type that one of promotion's rules gives for operands, or for what ``joins`` names.
        A float64 that none of them has is that of Python's floats, so it is float32 where these
        are."""
        promoted_type = rule(*types)
        if promoted_type is not f64 or f64 in types:
            return promoted_type
        if self.causes is not None and self.floating is f64:
            place = self.b.loc
            if joins and len(types) > 1:
                self.causes.append(doubles.joined(place, joins, types))
            else:
                self.causes.append(doubles.promoted(place, rule, types, self.callee))
        return self.floating

    def unify(self, lhs: Spec, rhs: Spec, joins: str = "this value") -> Spec | None:
        """The spec that both sides convert to here; None when there is none."""
        return unify(lhs, rhs, partial(self.promoted, joins=joins))

    # ---- constants and arithmetic

    def number(self, value: Number, dtype: DType) -> Scalar:
        """A constant."""
        return number(self.b, value, dtype)

    def folded(self, value: Number, *operands: Scalar) -> Scalar:
        """Emit the constant result of constant operands of one type. It is float64 for the reasons
        that these are."""
        scalar = number(self.b, value, operands[0].dtype)
        if self.causes is not None:
            known = [operand.value for operand in operands]
            self.causes += [
                replace(cause, value=scalar.value) for cause in self.causes if cause.value in known
            ]
        return scalar

    def integer(self, value: int) -> Scalar:
        """An int64 constant."""
        return Scalar(self.b.const(value, i64), value, value)

    def arithmetic(self, op: type[Op], lhs: Value, rhs: Value) -> Value:
        """An addition, subtraction or multiplication, which may contract to an fma."""
        b = self.b
        outer, b.fast = b.fast, self.contract
        result = b.binary(op, lhs, rhs)
        b.fast = outer
        return result

    # ---- regions

    def run(
        self, region: Region, statements: list[ast.stmt], env: Environment
    ) -> Environment | None:
        """Translate statements into a region; return the variables at its end, or None if that is
        unreachable."""
        self.env, self.dead = env, False
        depth = len(self.loops)
        try:
            with self.b.inside(region):
                self.block(statements)
        except UnboundYet as error:
            # The loop is translated again once its later code has shown the variable's type.
            error.frame.unbound = error.frame.unbound or error
            del self.loops[depth:]
            return None
        except ResultUnknown as error:
            self.unknown.append(error)
            del self.loops[depth:]
            return None
        return None if self.dead else self.env

    def speculate(self, node: ast.expr) -> tuple[Region, Operand]:
        """Translate an expression into a region of its own, to be spliced in or guarded."""
        region = Region()
        with self.b.inside(region):
            operand = self.expr(node)
        return region, operand

    def snapshot(self) -> Snapshot:
        """Save the state before a loop."""
        b = self.b
        return Snapshot(
            len(b.region.ops),
            len(b.function.variables),
            dict(b.names),
            dict(self.env),
            len(self.returns),
            b.loc,
        )

    def restore(self, snapshot: Snapshot, region: Region) -> None:
        """Go back to a snapshot taken in ``region``."""
        b = self.b
        b.region, b.loc = region, snapshot.loc
        del region.ops[snapshot.ops :]
        del b.function.variables[snapshot.variables :]
        b.names = dict(snapshot.names)
        self.env = dict(snapshot.environment)
        del self.returns[snapshot.returns :]
        self.dead = False

    def cast(self, value: Value, type_: Type) -> Value:
        """A value converted between scalar types."""
        return self.b.cast(value, type_)  # type: ignore[arg-type]  # scalars

    def fail(self, kind: type[CompileError], message: str) -> CompileError:
        """An error at the current place, to be raised."""
        return kind(message, self.b.loc)


_FLOATING = {"float64": f64, "float32": f32}
_SPELLED = {
    "ListComp": ("list comprehensions", "a loop that writes a local or shared array"),
    "SetComp": ("set comprehensions", "a loop"),
    "DictComp": ("dict comprehensions", "a loop"),
    "GeneratorExp": ("generator expressions", "a loop"),
    "List": ("lists", "a tuple, or cuda.local.array(n, dtype)"),
    "Dict": ("dicts", "a namedtuple or a record"),
    "Set": ("sets", "comparisons joined by or"),
    "Try": ("try statements", "tests before the operation"),
    "TryStar": ("try statements", "tests before the operation"),
    "With": ("with statements", "the statements without it"),
    "Yield": ("generators", "a device function with an array to fill"),
    "YieldFrom": ("generators", "a device function with an array to fill"),
    "Await": ("await", "ordinary calls"),
    "ClassDef": ("classes", "a namedtuple or a record, defined outside of the kernel"),
    "Global": ("global statements", "an array argument that the kernel writes"),
    "Nonlocal": ("nonlocal statements", "a result returned from the function"),
    "Import": ("imports", "an import at the top of the file"),
    "ImportFrom": ("imports", "an import at the top of the file"),
    "Delete": ("del statements", "nothing: variables end by themselves"),
    "Starred": ("starred expressions", "the items one by one"),
}


def _unsupported(node: ast.AST) -> str:
    kind = type(node).__name__
    what, instead = _SPELLED.get(kind, (f"{kind} nodes", "something simpler"))
    return f"{what} cannot be compiled for a device; write {instead} instead"
