"""The parameters of a function of loops: tensors, scalars, and the extents of tensors."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from gridlane.compute.tensors import TensorType
from gridlane.core.dtypes import DType, b1, f64, i64
from gridlane.core.errors import NameLookupError, TypingError, UnsupportedError
from gridlane.core.source import Loc

_SCALARS: dict[Any, DType] = {int: i64, float: f64, bool: b1}
_OF_ISL = frozenset(
    ("exists", "implies", "min", "max", "mod", "floor", "ceil", "floord", "ceild", "infty",
     "infinity", "nan", "NaN", "rat", "true", "false")
)  # fmt: skip
_OF_KERNELS = frozenset(("cuda", "math"))


class Parameters:
    """What a function takes.

    Attributes:
        names: of all, in order.
        weak: scalars of Python's own types.
        extents: by name, their least and largest values.

    Raises:
        CompileError: a parameter has no type of loops, or a name that isl cannot read; located.
    """

    def __init__(
        self, function: Callable[..., Any], tree: ast.FunctionDef, loc: Callable[[ast.AST], Loc]
    ) -> None:
        self.tensors: dict[str, TensorType] = {}
        self.scalars: dict[str, DType] = {}
        self.weak: set[str] = set()
        self.extents: dict[str, tuple[int, int | None]] = {}
        signature = inspect.signature(function, follow_wrapped=False)
        self.names = (*signature.parameters,)
        scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
        nodes = {each.arg: each for each in tree.args.args}
        for name, parameter in signature.parameters.items():
            node = nodes.get(name)
            if node is None or parameter.default is not inspect.Parameter.empty:
                raise UnsupportedError(
                    "arguments are positional, without defaults", loc(node or tree)
                )
            self._add(name, _evaluated(parameter.annotation, scope, loc(node)), loc(node))
        for extent in [each for type_ in self.tensors.values() for each in type_.extents]:
            if not isinstance(extent, int):
                low, high = self.extents.get(extent.name, (1, None))
                highs = [each for each in (high, extent.high) if each is not None]
                self.extents[extent.name] = max(low, extent.low), min(highs, default=None)

    def __contains__(self, name: str) -> bool:
        return name in self.tensors or name in self.scalars

    def _add(self, name: str, given: Any, loc: Loc) -> None:
        """Add a parameter of an annotation."""
        if given in (int, float):
            self.weak.add(name)
        given = _SCALARS.get(given, given)
        if isinstance(given, TensorType):
            self.tensors[name] = given
        elif isinstance(given, DType):
            self.scalars[name] = given
        else:
            raise TypingError(
                f"{name} has the type Tensor[dtype, ...], a dtype, int or float, not {given!r}", loc
            )
        require_name(name, loc, name in self.scalars and self.scalars[name].is_integer)


def _evaluated(annotation: Any, scope: dict[str, Any], loc: Loc) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, dict(scope))
    except NameError as error:
        raise NameLookupError(str(error), loc) from None


def require_name(name: str, loc: Loc, is_index: bool = False) -> None:
    """Require that the texts of isl and of kernels can have a name.

    Args:
        is_index: it is that of a loop, an extent or an integer, which isl calculates with.

    Raises:
        NameLookupError: one of them has another meaning for it, or cannot read it.
    """
    if name in _OF_KERNELS or name.endswith(("__first", "__cell")):
        raise NameLookupError(f"{name} is a word of kernels: take another name", loc)
    if not name.isascii() or (is_index and name in _OF_ISL):
        raise NameLookupError(
            f"isl, which computes dependences, cannot read the name {name}: take another one",
            loc,
        )
