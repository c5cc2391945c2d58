"""Functions of PTX, for other frontends."""

from gridlane.frontends.ptx.external_function import translate_foreign
from gridlane.frontends.ptx.module import parse_ptx

__all__ = ["parse_ptx", "translate_foreign"]
