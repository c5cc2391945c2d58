"""Refuses fused multiply-adds for languages that may round them twice."""

from __future__ import annotations

from gridlane.core.errors import TargetError
from gridlane.ir.op import FastMath
from gridlane.ir.ops.arith import Fma
from gridlane.ir.values import Module


def refuse_fused(module: Module) -> None:
    """See that the user asks for no multiply-add with one rounding. It runs in front of
    ``legalize_math``, whose functions are as accurate with two.

    Raises:
        TargetError: there is one, and its flags do not allow two.
    """
    for function in module.functions.values():
        for op in function.body.walk():
            if isinstance(op, Fma) and not op.fast & FastMath.CONTRACT:
                raise TargetError(
                    "this target may round a fused multiply-add twice: if that is good enough, "
                    "write a * b + c",
                    op.loc,
                )
