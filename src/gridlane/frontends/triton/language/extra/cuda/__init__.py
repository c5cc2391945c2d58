"""``triton.language.extra.cuda``: libdevice, by NVIDIA's name."""

from gridlane.frontends.triton.language.extra import libdevice

__all__ = ["libdevice"]
