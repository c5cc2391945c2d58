"""A function that code of other tools calls by its name: ``cuda.compile(..., device=True)``."""

from __future__ import annotations

from gridlane.core.dtypes import DType
from gridlane.core.frozen import frozen


@frozen
class Export:
    """How a function is called.

    Attributes:
        name: its symbol.
        abi: ``c``, whose function returns the result, or ``numba``, whose function stores it at the
            address that is its first parameter, and returns an int that is not 0 if the thread
            raised an exception.
        scalar: the type of a result that is one number.
        size, align: of the result in memory, in bytes.
    """

    name: str
    abi: str
    scalar: DType | None
    size: int
    align: int
