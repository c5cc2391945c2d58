"""Links: units that a program adds one after the other, and the one image that they become."""

from __future__ import annotations

import ctypes
from typing import Any

from gridlane.abi.host_objects import Library, undefined
from gridlane.abi.state.contexts import Context
from gridlane.abi.state.handles import Handles
from gridlane.frontends.ptx import PtxModule
from gridlane.frontends.ptx.linking import link as linked


class Link:
    """A link.

    Attributes:
        context: whose device the units are for.
        options: of the whole link, an ``Options`` of ``calls/jit.py``.
        units: those so far.
        libraries: archives, of which the link takes what it lacks.
    """

    def __init__(self, context: Context, options: Any) -> None:
        self.context, self.options = context, options
        self.units: list[PtxModule] = []
        self.libraries: list[Library] = []
        self._image: Any = None
        self.handle = links.add(self)

    @property
    def is_complete(self) -> bool:
        """Whether the image is there."""
        return self._image is not None

    def complete(self) -> tuple[int, int]:
        """The address of the image, which lives as long as the link, and its bytes.

        Raises:
            PtxError: the units do not go together; located.
        """
        if self._image is None:
            text = linked([*self.units, *self._taken()]).module.text.text
            self._image = ctypes.create_string_buffer(text.encode())
        return ctypes.addressof(self._image), len(self._image)

    def _taken(self) -> list[PtxModule]:
        """What the libraries add; a unit of one may need another."""
        ptx_modules: list[PtxModule] = []
        while self.libraries and (wanted := undefined([*self.units, *ptx_modules])):
            additions = (each.taken(wanted) for each in self.libraries)
            unit = next((each for each in additions if each is not None), None)
            if unit is None:
                break
            ptx_modules.append(unit)
        return ptx_modules


links = Handles[Link]("link")
"""By their handles. A link ends by cuLinkDestroy alone, as its image may be in use."""
