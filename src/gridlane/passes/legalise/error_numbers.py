"""Drops the numbers of errors, for targets whose reports carry none: the message has no detail."""

from __future__ import annotations

from gridlane.ir.ops.control import Raise
from gridlane.ir.values import Module


def drop_numbers(module: Module) -> None:
    """Drop the numbers of all errors of a module."""
    for function in module.functions.values():
        for op in function.body.walk():
            if isinstance(op, Raise):
                op.numbers = ()
