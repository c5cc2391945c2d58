"""The parameters of a program as Triton lists them, which programs around launches read."""

from __future__ import annotations

import inspect
from collections.abc import Container
from typing import Any

from gridlane.core.frozen import frozen
from gridlane.frontends.triton.functions import TileFunction


@frozen
class KernelParam:
    """A parameter by Triton's names.

    Attributes:
        num: its place.
        default: its default value, or ``inspect.Parameter.empty``.
        do_not_specialize, do_not_specialize_on_alignment: what ``jit`` was told.
    """

    num: int
    name: str
    default: Any
    is_constexpr: bool
    is_const: bool
    do_not_specialize: bool
    do_not_specialize_on_alignment: bool

    @property
    def has_default(self) -> bool:
        """Whether a launch may leave it out."""
        return self.default is not inspect.Parameter.empty


def params_of(
    function: TileFunction, plain: Container[str | int], unaligned: Container[str | int]
) -> list[KernelParam]:
    """The parameters of a function, in order.

    Args:
        plain: names or places of those whose values code does not depend on.
        unaligned: the same of those whose multiples of 16 are no code of their own.
    """
    parameters = function.signature.parameters
    return [
        KernelParam(
            place,
            name,
            parameters[name].default,
            function.is_constant(name),
            function.is_readonly(name),
            name in plain or place in plain,
            name in unaligned or place in unaligned,
        )
        for place, name in enumerate(parameters)
    ]
