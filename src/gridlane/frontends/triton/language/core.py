"""``triton.language.core``: the names of the language by the module that Triton defines them in."""

from gridlane.frontends.triton.constants import constexpr
from gridlane.frontends.triton.constants import unwrapped as _unwrap_if_constexpr
from gridlane.frontends.triton.context import builtin, is_builtin
from gridlane.frontends.triton.language import *  # noqa: F403

CONSTEXPR_0 = constexpr(0)

__all__ = ["CONSTEXPR_0", "_unwrap_if_constexpr", "builtin", "is_builtin"]
