"""The exception tree.

GridlaneError
├── CompileError              a kernel cannot be compiled; has a location
│   ├── UnsupportedError      (NotImplementedError) a construct outside the dialect
│   ├── TypingError           (TypeError) types do not fit
│   │   └── ConstantError     (ValueError) a compile-time value was required or is out of range
│   ├── NameLookupError       (NameError) a name that is not bound
│   ├── TargetError           (NotImplementedError) the target cannot do what the kernel asks
│   └── PtxError              (ValueError) malformed PTX, or PTX that gridlane does not translate
├── VerifyError               (AssertionError) invalid IR: a defect in gridlane or hand-made IR
├── ParseError                (SyntaxError-like, ValueError) malformed IR text
├── LaunchError               (ValueError) an impossible launch
├── ArgumentError             (TypeError) wrong number or type of kernel arguments
├── DeviceError               (RuntimeError) the device failed; CUDA name and number
├── UnsupportedBackend        (NotImplementedError) a kind of device that runs no kernels at all
├── KernelError               (RuntimeError) raised by a running kernel in debug mode
├── StoreError                (OSError) a store of blocks on disk
│   ├── StoreFull             quotas or disks have no room for a block
│   ├── StoreCorrupt          stored bytes are not what was written
│   └── StoreUnavailable      a folder cannot be used, or the store is closed
├── TierError                 (RuntimeError) a tier of memory cannot hold or move a block
│   ├── TierFull              (MemoryError) no room for a block, and nothing that may leave
│   ├── BlockInUse            a block is pinned in a way that excludes the use
│   └── SpillError            (OSError) a block could not be written to the tier below
└── MissingError              (AttributeError) a numba.cuda name that gridlane does not have
"""

from __future__ import annotations

from gridlane.core.source import UNKNOWN, Loc, describe, users

MARK = "gridlane_entry"
"""The attribute of an exception with its entry in the history of errors, which has none twice."""


class _Root(Exception):
    """A base that can be exchanged, which Python allows for classes of Python alone."""


class GridlaneError(_Root):
    """Base of every error that gridlane raises on purpose."""


def raise_as(base: type[Exception]) -> None:
    """Make every error of gridlane one of a class of another library, whose programs catch it:
    NVIDIA's ``CUDAError``. The class is one written in Python, with Exception as its base."""
    if not issubclass(GridlaneError, base):
        GridlaneError.__bases__ = (base, *GridlaneError.__bases__)


class CompileError(GridlaneError):
    """A kernel cannot be compiled: ``message``, then the user's line with a caret.

    ``related`` lists further places, each with a note, when an error is about two lines.
    """

    def __init__(
        self, message: str, loc: Loc = UNKNOWN, related: tuple[tuple[str, Loc], ...] = ()
    ) -> None:
        self.message = message
        self.loc = loc
        self.related = related
        super().__init__(message)

    @property
    def msg(self) -> str:
        """The message, by numba's name for it."""
        return self.message

    def __str__(self) -> str:
        parts = [self.message, describe(users(self.loc))]
        for note, loc in self.related:
            parts += [f"  {note}", describe(loc)]
        return "\n".join(part for part in parts if part)


class UnsupportedError(CompileError, NotImplementedError):
    """A construct outside the dialect."""


class TypingError(CompileError, TypeError):
    """Types do not fit."""


class NameLookupError(CompileError, NameError):
    """A name that is not bound."""


class ConstantError(TypingError, ValueError):
    """A compile-time value was required or is out of range."""


class TargetError(CompileError, NotImplementedError):
    """The target lacks a feature that the kernel needs."""


class PtxError(CompileError, ValueError):
    """Malformed PTX, or PTX that gridlane does not translate."""


class VerifyError(GridlaneError, AssertionError):
    """Invalid IR."""


class ParseError(GridlaneError, ValueError):
    """Malformed IR text: ``message`` at ``line`` and ``column``, both from 1, of ``text``."""

    def __init__(self, message: str, line: int = 0, column: int = 0, text: str = "") -> None:
        self.message, self.line, self.column = message, line, column
        parts = [f"line {line}, column {column}: {message}" if line else message]
        if line:
            skip = max(0, column - 90)  # of a very long line, the part around the place
            shown = text[skip : skip + 100].expandtabs(1)
            parts += [f"{line:5d} | {shown}", "      | " + " " * (column - 1 - skip) + "^"]
        super().__init__("\n".join(parts))


class LaunchError(GridlaneError, ValueError):
    """A launch that no device can perform."""


class ArgumentError(GridlaneError, TypeError):
    """Wrong number or type of kernel arguments."""


class DeviceError(GridlaneError, RuntimeError):
    """A device call failed: NAME (number): meaning."""

    def __init__(self, name: str, number: int, meaning: str, advice: str = "") -> None:
        self.name, self.number, self.meaning, self.advice = name, number, meaning, advice
        text = f"{name} ({number}): {meaning}"
        super().__init__(f"{text}\n  {advice}" if advice else text)

    def __reduce__(self) -> tuple[type[DeviceError], tuple[str, int, str, str]]:
        return type(self), (self.name, self.number, self.meaning, self.advice)


class UnsupportedBackend(GridlaneError, NotImplementedError):
    """A kind of device that cannot run kernels, whatever is installed."""


class KernelError(GridlaneError, RuntimeError):
    """A kernel stopped itself: an assertion, a raise, an index out of bounds."""


class StoreError(GridlaneError, OSError):
    """A store of blocks on disk failed; other blocks are not concerned."""


class StoreFull(StoreError):
    """Quotas or disks have no room for a block."""


class StoreCorrupt(StoreError):
    """Stored bytes are not what was written."""


class StoreUnavailable(StoreError):
    """A folder of a store cannot be used, or the store is closed."""


class TierError(GridlaneError, RuntimeError):
    """A tier of memory cannot hold or move a block."""


class TierFull(TierError, MemoryError):
    """A tier has no room for a block, and none of its blocks may leave."""

    def __init__(self, tier: str, needed: int, pinned: int, allowed: int, advice: str = "") -> None:
        self.tier, self.needed, self.pinned, self.allowed = tier, needed, pinned, allowed
        self.advice = advice
        text = (
            f"{needed} bytes are needed in the tier {tier}, where {pinned} of the {allowed} "
            "allowed bytes are pinned"
        )
        super().__init__(f"{text}\n  {advice}" if advice else text)

    def __reduce__(self) -> tuple[type[TierFull], tuple[str, int, int, int, str]]:
        return type(self), (self.tier, self.needed, self.pinned, self.allowed, self.advice)


class BlockInUse(TierError):
    """A block is pinned in a way that excludes the use."""


class SpillError(TierError, OSError):
    """A block could not be written to the tier below. The tier that has it keeps it."""


class MissingError(GridlaneError, AttributeError):
    """A name of numba.cuda that gridlane does not have."""
