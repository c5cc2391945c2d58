"""Warnings and errors under numba's names that have no place in gridlane's own tree."""

from __future__ import annotations


class NumbaWarning(Warning):
    """Base of the warnings."""


class NumbaPerformanceWarning(NumbaWarning):
    """The program could be faster in another form."""


class NumbaInvalidConfigWarning(NumbaWarning):
    """Options that do not go together."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """A use that will go."""


class NumbaExperimentalFeatureWarning(NumbaWarning):
    """A feature that may change."""


class NumbaDebugInfoWarning(NumbaWarning):
    """Debug information is incomplete."""


class DeprecationError(Exception):
    """A use that has gone."""
