"""What a user permits or asks of the schedule of a nest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

from gridlane.core.errors import ArgumentError
from gridlane.core.frozen import frozen
from gridlane.core.suggestions import did_you_mean

_MOST = 16


@frozen
class Hints:
    """Permissions and wishes. A wish that a device cannot fulfil is an error at the call.

    Attributes:
        tensor_cores: products of matrices may add in the order of matrix instructions, and round
            factors of float32 to TF32; convolutions multiply zeros of padding.
        vector_width: iterations along x that a thread has, next to each other; 1 to 16.
        unroll: iterations of a thread's innermost loops that are written out; 1 to 16.
        coalesced: threads next to each other access elements that are, or the same.
        async_copy: factors come to shared memory by asynchronous copies.

    Raises:
        ArgumentError: there is no such hint, or a value does not fit.
    """

    tensor_cores: bool = False
    vector_width: int = 1
    unroll: int = 1
    coalesced: bool = False
    async_copy: bool = False

    def __new__(cls, *_values: Any, **words: Any) -> Self:
        known = [each.name for each in fields(cls)]
        for name, value in words.items():
            if name not in known:
                raise ArgumentError(
                    f"there is no hint {name!r}{did_you_mean(name, known)}; hints are "
                    f"{', '.join(known)}"
                )
            is_number = name in ("vector_width", "unroll")
            if is_number and not (type(value) is int and 1 <= value <= _MOST):
                raise ArgumentError(f"{name}={value!r}; it must be 1 to {_MOST}")
            if not is_number and type(value) is not bool:
                raise ArgumentError(f"{name}={value!r}; it must be True or False")
        return object.__new__(cls)

    @staticmethod
    def of(value: Hints | Mapping[str, Any] | None) -> Hints:
        """Hints by words, or those that are given."""
        if value is None:
            return Hints()
        return value if isinstance(value, Hints) else Hints(**value)
