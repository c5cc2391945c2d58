"""Several units of PTX as one module; see ../README.md."""

from __future__ import annotations

from gridlane.frontends.ptx.linking.linker import Linked, link

__all__ = ["Linked", "link"]
