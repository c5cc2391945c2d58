"""``triton.language.extra``: what the language has beside its own functions."""

from gridlane.frontends.triton.language.extra import libdevice

__all__ = ["libdevice"]
