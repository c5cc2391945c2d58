"""``triton.language.math``."""

from gridlane.frontends.triton.mathematics import *  # noqa: F403
