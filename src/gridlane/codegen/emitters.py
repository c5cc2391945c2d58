"""The registry of emitters: which code generator emits which op, by which function.

A code generator has one ``Emitters``, in which its modules register a function for each op class.
An op that a target does not emit is expanded into other ops before the target's passes run
(``passes/legalise/expand_ops.py``), legalised by one of them, or refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, TypeVar

from gridlane.core.errors import TargetError
from gridlane.ir.op import Op

F = TypeVar("F", bound=Callable[..., Any])


class Emitters:
    """The emitters of one code generator.

    Attributes:
        table: the emitter of each op class.
        scalars: the emitters of scalar ops, where the code generator has a separate table.
    """

    def __init__(self, scalars: Mapping[type[Op], Any] | None = None) -> None:
        self.table: dict[type[Op], Any] = {}
        self.scalars = scalars or {}

    def emits(self, *classes: type[Op]) -> Callable[[F], F]:
        """Register a function as the emitter of op classes."""

        def register(function: F) -> F:
            for cls in classes:
                self.table[cls] = function
            return function

        return register

    def ops(self) -> frozenset[type[Op]]:
        """The op classes that have an emitter."""
        return frozenset((*self.table, *self.scalars))


@cache
def emitted(package: str, dialect: str = "") -> frozenset[type[Op]]:
    """The op classes that a code generator emits, by the dotted name of its package or, for a
    C-like language, of its dialect. Loads the code generator."""
    return import_module(package).emitted(dialect)


def require_inside(op: Op) -> None:
    """Require that ``passes/legalise/guards`` has seen an op with a domain.

    Raises:
        TargetError: it has not.
    """
    if not op.inside:  # type: ignore[attr-defined]  # an op with a domain
        raise TargetError(f"{op.name} has no guard: the pipeline lacks guard_operands", op.loc)
