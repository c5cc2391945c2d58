"""Raw kernels and modules for other processes: their PTX, of C++ what its compiler made of it."""

# pyright: reportPrivateUsage=false
# What linked texts hide is hidden from users, not from this room.

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from gridlane.core.errors import UnsupportedError
from gridlane.cuda.raw.code import RawCode
from gridlane.frontends.ptx import PtxModule, parse_ptx


class Sent(ABC):
    """Base of what other processes make again of a module's text."""

    _code: RawCode

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name, for errors."""

    @abstractmethod
    def __gridlane_parts__(self) -> tuple[Any, ...]:
        """What another process makes it of, in the form of ``__reduce__``."""

    def __gridlane_name__(self) -> tuple[str, str]:
        return "", self.name  # of no module: texts are made anywhere

    @property
    def __gridlane_has_state__(self) -> bool:
        """Whether kernels may change variables, which begin anew wherever the module comes to."""
        return any(each.space == "global" for each in self._code.module.variables.values())

    def __reduce__(self) -> Any:
        from gridlane.frontends.python.pickled import reduced  # few programs need it

        return reduced(self, *self.__gridlane_name__())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def units_of(code: RawCode) -> list[tuple[str, str]]:
    """The texts that a module is made of, and their names.

    Raises:
        UnsupportedError: it has memory that is of this process.
    """
    if code.is_shown:
        raise UnsupportedError(
            "get_global or get_texref was called, so that memory of this process belongs to it; "
            "pickle a module of the same text, and set its variables where it comes to"
        )
    for each in code.module.variables.values():
        if each.space == "global" and not each.value and not each.reference:
            raise UnsupportedError(
                f"the variable {each.name} has no value in the text: what kernels write to it is "
                "memory of this process; pass an array as an argument"
            )
    texts = getattr(code.module.text, "_units", None) or [code.module.text]
    return [(each.text, each.name) for each in texts]


def module_of(units: list[tuple[str, str]]) -> PtxModule:
    """The module of some texts."""
    modules = [parse_ptx(*unit) for unit in units]
    if len(modules) == 1:
        return modules[0]
    from gridlane.frontends.ptx.linking import link  # few programs need it

    return link(modules).module
