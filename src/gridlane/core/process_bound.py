"""Objects that mean something in one process alone: they stand for memory, queues and machine code
of it."""

from __future__ import annotations

from typing import Any, ClassVar


class ProcessBound:
    """Base of what neither pickle nor copy may take apart. A class says what to do instead."""

    __slots__ = ()
    _cannot: ClassVar[str] = "pickled or copied"
    _instead: ClassVar[str] = ""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be {self._cannot}, as it belongs to this process "
            f"and device; {self._instead}"
        )
