"""``numba.core.errors``: numba's names for errors and warnings."""

from __future__ import annotations

from typing import Any

from gridlane.core.errors import (
    CompileError,
    ConstantError,
    GridlaneError,
    NameLookupError,
    TypingError,
    UnsupportedError,
)
from gridlane.cuda.host.warnings import (
    DeprecationError,
    NumbaDebugInfoWarning,
    NumbaDeprecationWarning,
    NumbaExperimentalFeatureWarning,
    NumbaInvalidConfigWarning,
    NumbaPerformanceWarning,
    NumbaWarning,
)
from gridlane.cuda.names import missing

NumbaError = GridlaneError
LoweringError = CompilerError = ForbiddenConstruct = CompileError
NumbaTypeError = RequireLiteralValue = UntypedAttributeError = TypingError
NumbaValueError = ConstantInferenceError = ConstantError
NumbaNotImplementedError = UnsupportedBytecodeError = UnsupportedRewriteError = UnsupportedError
NotDefinedError = NumbaAssertionError = NameLookupError
NumbaPendingDeprecationWarning = NumbaDeprecationWarning
NumbaIRAssumptionWarning = NumbaParallelSafetyWarning = NumbaTypeSafetyWarning = NumbaWarning


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(name, "numba.core.errors")


__all__ = [
    "CompilerError", "ConstantInferenceError", "DeprecationError", "ForbiddenConstruct",
    "LoweringError", "NotDefinedError", "NumbaAssertionError", "NumbaDebugInfoWarning",
    "NumbaDeprecationWarning", "NumbaError", "NumbaExperimentalFeatureWarning",
    "NumbaIRAssumptionWarning", "NumbaInvalidConfigWarning", "NumbaNotImplementedError",
    "NumbaParallelSafetyWarning", "NumbaPendingDeprecationWarning", "NumbaPerformanceWarning",
    "NumbaTypeError", "NumbaTypeSafetyWarning", "NumbaValueError", "NumbaWarning",
    "RequireLiteralValue", "TypingError", "UnsupportedBytecodeError", "UnsupportedError",
    "UnsupportedRewriteError", "UntypedAttributeError",
]  # fmt: skip
