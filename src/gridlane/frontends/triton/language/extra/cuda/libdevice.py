"""``triton.language.extra.cuda.libdevice``."""

from __future__ import annotations

from gridlane.frontends.triton.language.extra.libdevice import __dir__, __getattr__

__all__ = ["__dir__", "__getattr__"]
