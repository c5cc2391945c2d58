"""The typing context that functions of types receive."""

from __future__ import annotations

from typing import Any

from gridlane.core.argtypes import ArgType
from gridlane.core.errors import UnsupportedError
from gridlane.cuda.kernels.argument_types import typeof


class TypingContext:
    """What numba calls the typing context: here only the types of values."""

    def resolve_value_type(self, value: Any) -> ArgType:
        """The type of a Python object."""
        return typeof(value)

    resolve_argument_type = resolve_value_type

    def refresh(self) -> None:
        """Do nothing: what is registered is used at once."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedError(
            f"typing context: .{name} is of numba's compiler; choose by the types of the "
            "arguments alone, or return None"
        )


TYPING_CONTEXT = TypingContext()
