"""Types of the scalars of a nest, and its assignments as text in which each is written out.

An element has the type of its tensor; a literal, a loop, an extent, a number outside of the
function and an argument of type int or float have the type of what they meet, as in NumPy 2; two
types promote as NumPy's do. A variable has one type: that of
all that is assigned to it, promoted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from copy import copy
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from gridlane.compute.affine import NotAffine, affine
from gridlane.compute.model import Nest, Statement
from gridlane.core.dtypes import DType, b1, f32, f64, from_numpy, i64, u64
from gridlane.core.errors import TypingError, UnsupportedError
from gridlane.core.source import Loc

WEAK_INT, WEAK_FLOAT = "int", "float"
Kind = DType | str
"""A type, or that of a literal."""

_OF_FLOATS = frozenset((
    "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "floor",
    "ceil", "trunc", "pow", "atan2", "hypot", "fabs", "fmod", "copysign", "gamma", "lgamma",
))  # fmt: skip
"""Functions of ``math`` whose arguments and result are floats of one type."""


class Typing:
    """The types of a nest's scalars.

    Attributes:
        variables: the type of each variable.
    """

    def __init__(
        self, nest: Nest, place: Callable[[ast.AST], Loc], outside: Mapping[str, Any]
    ) -> None:
        self.nest, self.place, self.outside = nest, place, outside
        self.variables: dict[str, Kind] = {}
        self._is_checked = False
        self._is_exact = False
        self._staged: Mapping[str, tuple[str, tuple[str, ...]]] = {}
        while True:
            before = dict(self.variables)
            for each in nest.statements:
                self._learn(each)
            if before == self.variables:
                break
        for name, kind in self.variables.items():
            self.variables[name] = _strong(kind)

    def _learn(self, statement: Statement) -> None:
        name, node = statement.write.name, statement.node
        if name not in self.nest.variables:
            return
        name = self.nest.origins.get(name, name)
        value = self.expression(node.value)[1] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.AugAssign):
            if name not in self.variables:
                return
            both = ast.BinOp(ast.Name(name, ast.Load()), node.op, node.value)
            value = self.expression(ast.copy_location(both, node))[1]
        assert value is not None
        before = self.variables.get(name)
        self.variables[name] = value if before is None else _promoted(before, value)

    def checked(self) -> Typing:
        """The same, whose texts have affine indices without a sign: none of them is negative, as
        calls check, so none counts from the end."""
        found = copy(self)
        found._is_checked = True
        return found

    def staged(self, parts: Mapping[str, tuple[str, tuple[str, ...]]]) -> Typing:
        """The same, whose texts have other names for parts of tensors, and the least indices that
        are in them."""
        found = copy(self)
        found._staged = parts
        return found

    # ---- statements

    def assignment(self, statement: Statement, target: str) -> str:
        """An assignment's text, its value of the target's type.

        Args:
            target: the text of what is assigned to.
        """
        node = statement.node
        value = node.value
        if isinstance(node, ast.AugAssign):
            before = ast.copy_location(_loaded(node.target), node)
            value = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        text, kind = self.expression(value)
        try:
            return f"{target} = {_cast(text, kind, self.type_of(statement.write.name))}"
        except _DoesNotFit as error:
            raise TypingError(str(error), self.place(value)) from None

    def type_of(self, name: str) -> DType:
        """The type of a tensor's elements or of a variable."""
        if name in self.nest.tensors:
            return self.nest.tensors[name].dtype
        kind = self.variables[self.nest.origins.get(name, name)]
        assert isinstance(kind, DType)
        return kind

    def test(self, node: ast.expr) -> str:
        """A condition's text."""
        return self.expression(node)[0]

    # ---- expressions

    def expression(self, node: ast.expr) -> tuple[str, Kind]:
        """An expression's text and type.

        Raises:
            CompileError: it is outside of what loop nests have; located.
        """
        try:
            return self._expression(node)
        except _DoesNotFit as error:
            raise TypingError(str(error), self.place(node)) from None

    def _expression(self, node: ast.expr) -> tuple[str, Kind]:
        match node:
            case ast.Constant(value=bool(value)):
                return str(value), b1
            case ast.Constant(value=int(value)):
                return repr(value), WEAK_INT
            case ast.Constant(value=float(value)):
                return repr(value), WEAK_FLOAT
            case ast.Name(id=name):
                return self._name(name, node)
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                return self._constant(module, name, node)
            case ast.Subscript(value=ast.Name(id=name)):
                indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                texts = [self._index(each) for each in indices]
                if name in self._staged:
                    kind = self.nest.tensors[name].dtype
                    held, firsts = self._staged[name]
                    texts = [f"{text} - {first}" for text, first in zip(texts, firsts, strict=True)]
                    return f"{held}[{', '.join(texts)}]", kind
                return f"{name}[{', '.join(texts)}]", self.nest.tensors[name].dtype
            case ast.BinOp(left=left, op=op, right=right):
                return self._binary(node, op, self.expression(left), self.expression(right))
            case ast.UnaryOp(op=op, operand=inner):
                return self._unary(node, op, *self.expression(inner))
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._compare(left, ops, others)
            case ast.BoolOp(op=op, values=values):
                word = " and " if isinstance(op, ast.And) else " or "
                return f"({word.join(self.test(each) for each in values)})", b1
            case ast.IfExp(test=test, body=body, orelse=orelse):
                one, other = self.expression(body), self.expression(orelse)
                kind = _promoted(one[1], other[1])
                both = _cast(*one, kind), _cast(*other, kind)
                return f"({both[0]} if {self.test(test)} else {both[1]})", kind
            case ast.Call():
                return self._call(node)
            case _:
                word = type(node).__name__
                raise UnsupportedError(f"an expression has no {word}", self.place(node))

    def _index(self, node: ast.expr) -> str:
        nest = self.nest
        names = nest.names - {*nest.tensors, *nest.variables, *nest.captured}
        try:
            affine(node, dict(zip(names, names, strict=True)), nest.captured)
        except NotAffine:
            return self.expression(node)[0]
        exact = copy(self)
        exact._is_exact = True  # isl's numbers have no types, so none wraps
        text = exact.expression(node)[0]
        is_bare = not self._is_checked or isinstance(node, ast.Constant)
        return text if is_bare else f"{NAMES['u64']}({text})"

    def _name(self, name: str, node: ast.expr) -> tuple[str, Kind]:
        if name in self.nest.variables:
            origin = self.nest.origins.get(name, name)
            return name, self.variables.get(origin, WEAK_INT)
        if name in self.nest.scalars:
            return self._scalar(name, self.nest.scalars[name])
        value = None if name in self.nest.extents else self.outside.get(name)
        if isinstance(value, bool):
            return repr(value), b1
        if isinstance(value, int | float):
            return _number(value)
        if name in self.nest.tensors:
            raise TypingError(f"{name} is a tensor, and a number is needed", self.place(node))
        return name, WEAK_INT  # a loop or an extent

    def _scalar(self, name: str, kind: DType) -> tuple[str, Kind]:
        """A scalar argument: kernels are given Python's numbers, whatever its type is."""
        weak = WEAK_FLOAT if kind.is_float else WEAK_INT
        if self._is_exact and kind.is_integer:
            return name, WEAK_INT
        if name in self.nest.weak:
            return (f"{NAMES['f64']}({name})" if kind.is_float else name), weak
        return (name if kind == i64 else f"{NAMES[str(kind)]}({name})"), kind

    def _constant(self, module: str, name: str, node: ast.expr) -> tuple[str, Kind]:
        """A number of a module, as ``math.inf``."""
        known = None if module in self.nest.names else self.outside.get(module)
        value = getattr(known, name, None) if isinstance(known, ModuleType) else None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise UnsupportedError(f"{module}.{name} is no number of a module", self.place(node))
        return _number(value)

    def _binary(
        self, node: ast.expr, op: ast.operator, left: tuple[str, Kind], right: tuple[str, Kind]
    ) -> tuple[str, Kind]:
        kind = _promoted(left[1], right[1])
        sign = _SIGNS.get(type(op))
        if sign is None:
            raise UnsupportedError(f"no operator {type(op).__name__}", self.place(node))
        is_float = kind == WEAK_FLOAT or (isinstance(kind, DType) and kind.is_float)
        if isinstance(op, ast.Div) and not is_float:
            kind = WEAK_FLOAT if kind == WEAK_INT else f64
        if sign in ("+", "-") and left[1] == right[1] == b1:
            raise TypingError(
                f"{sign} of two conditions is one in NumPy, and a number in Python: write int(...)",
                self.place(node),
            )
        if sign in ("&", "|", "^", "<<", ">>") and is_float:
            raise TypingError(f"{sign} is of integers, not of {kind}", self.place(node))
        if sign == "**" and isinstance(right[1], str) and right[0] in ("2", "2.0"):
            text = _cast(*left, kind)
            return f"({text} * {text})", kind
        return _cast(f"({_cast(*left, kind)} {sign} {_cast(*right, kind)})", None, kind), kind

    def _unary(self, node: ast.expr, op: ast.unaryop, text: str, kind: Kind) -> tuple[str, Kind]:
        match op:
            case ast.Not():
                return f"(not {text})", b1
            case ast.USub():
                return _cast(f"(-{text})", None, kind), kind
            case ast.UAdd():
                return text, kind
            case _:
                return _cast(f"(~{text})", None, kind), kind

    def _compare(
        self, left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr]
    ) -> tuple[str, Kind]:
        parts: list[str] = []
        for one, op, other in zip([left, *others], ops, others):
            sign = _COMPARED.get(type(op))
            if sign is None:
                raise UnsupportedError(f"no comparison {type(op).__name__}", self.place(one))
            parts.append(_comparison(self.expression(one), sign, self.expression(other)))
        return f"({' and '.join(parts)})", b1

    def _call(self, node: ast.Call) -> tuple[str, Kind]:
        args = [self.expression(each) for each in node.args]
        name = ast.unparse(node.func)
        value = self._function(node.func)
        if isinstance(value, DType) or value in (int, float, bool):
            target = value if isinstance(value, DType) else {int: i64, float: f64, bool: b1}[value]
            return _cast(args[0][0], args[0][1], target), target
        kind = args[0][1] if args else WEAK_INT
        for each in args[1:]:
            kind = _promoted(kind, each[1])
        word = getattr(value, "__name__", "")
        if value in (min, max) and len(args) == 2:
            of = i64 if _is_narrow(kind) and any(_is_unknown(*each) for each in args) else kind
            texts = [_cast(*each, of) for each in args]
            return _cast(f"{word}({', '.join(texts)})", of if of != kind else None, kind), kind
        if value is abs:
            return _cast(f"abs({args[0][0]})", None, kind), kind
        if word in _OF_FLOATS and getattr(value, "__module__", "") in ("math", "numpy", None):
            is_float = isinstance(kind, DType) and kind.is_float
            kind = kind if is_float else WEAK_FLOAT if isinstance(kind, str) else f64
            texts = [_cast(*each, kind) for each in args]
            return _cast(f"math.{word}({', '.join(texts)})", None, kind), kind
        raise UnsupportedError(
            f"{name}() is none of min, max, abs, a dtype, and the functions of math",
            self.place(node),
        )

    def _function(self, node: ast.expr) -> Any:
        match node:
            case ast.Name(id=name):
                return self.outside.get(name)
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                return getattr(self.outside.get(module), name, None)
            case _:
                return None


_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
    ast.RShift: ">>",
}  # fmt: skip
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_NUMPY: dict[str, Any] = {
    "b1": np.bool_, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
    "f64": np.float64,
    **{f"{short}{bits}": np.dtype(f"{long}{bits}").type
       for short, long in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
}  # fmt: skip
NAMES = {name: f"_{name}" for name in _NUMPY}
"""The names of the types' conversions in texts."""
CONVERSIONS = {NAMES[name]: kind for name, kind in _NUMPY.items()}
"""The same and what they are."""


def _promoted(one: Kind, other: Kind) -> Kind:
    """The type of two, as NumPy 2 promotes them."""
    if one == other:
        return one
    if isinstance(one, str) and isinstance(other, str):
        return WEAK_FLOAT
    if isinstance(one, str) or isinstance(other, str):
        strong, weak = (other, one) if isinstance(one, str) else (one, other)
        assert isinstance(strong, DType)
        if strong is b1:
            return i64 if weak == WEAK_INT else f64
        return f64 if weak == WEAK_FLOAT and not strong.is_float else strong
    names = {str(one), str(other)}
    if "bf16" in names:
        has_range = one.is_float and other.is_float and "f16" not in names
        return _wider(one, other) if has_range else f32
    found = np.promote_types(_NUMPY[str(one)], _NUMPY[str(other)])
    kind = from_numpy(found)
    assert kind is not None
    return kind


def _wider(one: DType, other: DType) -> DType:
    return one if one.size >= other.size else other


def _strong(kind: Kind) -> DType:
    if isinstance(kind, DType):
        return kind
    return i64 if kind == WEAK_INT else f64


_PLAIN: dict[str, tuple[Kind | None, ...]] = {
    "i64": (None, WEAK_INT), "f64": (None, WEAK_FLOAT), "b1": (None,),
}  # fmt: skip
"""The types whose texts have another type already, in kernels."""


def _number(value: int | float) -> tuple[str, Kind]:
    """A number's text and type."""
    kind = WEAK_INT if isinstance(value, int) else WEAK_FLOAT
    return (repr(value) if np.isfinite(value) else f"float('{value}')"), kind


class _DoesNotFit(Exception):
    """A whole number is outside of the type of what it meets."""


def _is_narrow(kind: Kind) -> bool:
    return isinstance(kind, DType) and kind.is_integer and kind.size < 8


def _is_unknown(text: str, kind: Kind) -> bool:
    """Whether it is a whole number without a type, whose value is that of a call or a loop."""
    return kind == WEAK_INT and _CONSTANT.fullmatch(text) is None


def _comparison(one: tuple[str, Kind], sign: str, other: tuple[str, Kind]) -> str:
    """A comparison's text. Whole numbers without a type are compared by value, as in NumPy 2."""
    kind = _promoted(one[1], other[1])
    weak = [each[1] == WEAK_INT for each in (one, other)]
    if _is_narrow(kind) and any(weak):
        kind = i64
    if kind != u64 or not any(weak):
        return f"({_cast(*one, kind)} {sign} {_cast(*other, kind)})"
    text = one[0] if weak[0] else other[0]
    both = [f"{NAMES['u64']}({each[0]})" for each in (one, other)]
    is_less = sign in (("<", "<=", "!=") if weak[0] else (">", ">=", "!="))  # of a negative one
    guard = f"{text} < 0 or " if is_less else f"{text} >= 0 and "
    return f"({guard}{both[0]} {sign} {both[1]})"


_CONSTANT = re.compile(r"[\d\s()+\-]+")
"""The texts of whole numbers that are known here."""


def _cast(text: str, kind: Kind | None, target: Kind) -> str:
    """A text of a type as one of another; None is a type that the text's operation may have.

    Raises:
        _DoesNotFit: it is a whole number that the type does not have.
    """
    if kind == target or isinstance(target, str):
        return text
    if kind == WEAK_INT and target.is_integer and _CONSTANT.fullmatch(text):
        limits = np.iinfo(_NUMPY[str(target)])
        if not limits.min <= eval(text) <= limits.max:
            raise _DoesNotFit(
                f"{text} is outside of {target}, the type of what it meets: convert that to a "
                "wider type, as by i64(...)"
            )
    if kind in _PLAIN.get(str(target), ()):
        return text
    return f"{NAMES[str(target)]}({text})"


def _loaded(node: ast.expr) -> ast.expr:
    """What is assigned to, as a value."""
    if isinstance(node, ast.Name):
        return ast.Name(node.id, ast.Load())
    assert isinstance(node, ast.Subscript)
    return ast.Subscript(node.value, node.slice, ast.Load())
