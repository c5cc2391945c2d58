"""Warnings and errors with numba's names, outside gridlane's own exception tree."""

from __future__ import annotations


class NumbaWarning(Warning):
    """Base of the warnings."""


class NumbaPerformanceWarning(NumbaWarning):
    """The program could be faster in another form."""


class NumbaInvalidConfigWarning(NumbaWarning):
    """Options that conflict."""


class NumbaDeprecationWarning(NumbaWarning, DeprecationWarning):
    """A deprecated use."""


class NumbaExperimentalFeatureWarning(NumbaWarning):
    """A feature that may change."""


class NumbaDebugInfoWarning(NumbaWarning):
    """Debug information is incomplete."""


class DeprecationError(Exception):
    """A removed use."""
