"""The operators of scans and reductions: by name, by a function of Python's or numpy's, or a
program's function."""

from __future__ import annotations

import operator
from enum import Enum
from typing import Any

import numpy as np

CUDA_STD_PLUS = "::cuda::std::plus<T>"
CUDA_STD_MULTIPLIES = "::cuda::std::multiplies<T>"
CUDA_STD_BIT_AND = "::cuda::std::bit_and<T>"
CUDA_STD_BIT_OR = "::cuda::std::bit_or<T>"
CUDA_STD_BIT_XOR = "::cuda::std::bit_xor<T>"
CUDA_MINIMUM = "::cuda::minimum<T>"
CUDA_MAXIMUM = "::cuda::maximum<T>"

# The names and functions of each operator: its OpKind, and its name in C++.
_ALIASES: dict[tuple[Any, ...], tuple[str, str]] = {
    ("+", "add", "plus", np.add, operator.add): ("PLUS", CUDA_STD_PLUS),
    ("*", "mul", "multiplies", np.multiply, operator.mul): ("MULTIPLIES", CUDA_STD_MULTIPLIES),
    ("min", "minimum", np.minimum): ("MINIMUM", CUDA_MINIMUM),
    ("max", "maximum", np.maximum): ("MAXIMUM", CUDA_MAXIMUM),
    ("&", "bit_and", np.bitwise_and, operator.and_): ("BIT_AND", CUDA_STD_BIT_AND),
    ("|", "bit_or", np.bitwise_or, operator.or_): ("BIT_OR", CUDA_STD_BIT_OR),
    ("^", "bit_xor", np.bitwise_xor, operator.xor): ("BIT_XOR", CUDA_STD_BIT_XOR),
}
_KNOWN = {alias: names for aliases, names in _ALIASES.items() for alias in aliases}


class ScanOpCategory(Enum):
    """What an operator is."""

    Sum = "Sum"
    Known = "Known"
    Callable = "Callable"


class ScanOp:
    """An operator.

    Attributes:
        op: as it was given.
        op_category: what it is.
        op_cpp: its name in C++; None for a program's function.
        kind: the name of its ``OpKind``; None for a program's function.

    Raises:
        ValueError: it is no operator.
    """

    def __init__(self, op: Any) -> None:
        if isinstance(op, ScanOp):
            op = op.op
        self.op: Any = op
        self.kind: str | None = None
        self.op_cpp: str | None = None
        if not isinstance(op, str) and not callable(op):
            raise ValueError(f"Unsupported scan op type: {type(op)}")
        known = _KNOWN.get(op)
        if known is None and isinstance(op, str):
            raise ValueError(f"Unsupported scan operator: {op}")
        self.op_category = ScanOpCategory.Callable
        if known is not None:
            self.kind, self.op_cpp = known
            is_sum = self.kind == "PLUS"
            self.op_category = ScanOpCategory.Sum if is_sum else ScanOpCategory.Known

    def __repr__(self) -> str:
        return f"ScanOp({self.op})"

    @property
    def is_sum(self) -> bool:
        """Whether it adds."""
        return self.op_category == ScanOpCategory.Sum

    @property
    def is_known(self) -> bool:
        """Whether it has a name, and does not add."""
        return self.op_category == ScanOpCategory.Known

    @property
    def is_callable(self) -> bool:
        """Whether it is a program's function."""
        return self.op_category == ScanOpCategory.Callable
