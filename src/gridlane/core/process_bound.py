"""Objects that are valid in one process alone: they own its memory, queues and machine code."""

from __future__ import annotations

from typing import Any, ClassVar


class ProcessBound:
    """Base of objects that neither pickle nor copy may duplicate. A class names the alternative."""

    __slots__ = ()
    _cannot: ClassVar[str] = "pickled or copied"
    _instead: ClassVar[str] = ""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"a {type(self).__name__} cannot be {self._cannot}, as it belongs to this process "
            f"and device; {self._instead}"
        )
