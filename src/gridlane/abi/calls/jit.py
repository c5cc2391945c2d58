"""The options of CUDA's compiler for PTX, where images are loaded.

The logs are filled. Most of the others are hints for the compiler, which change no result: they are
checked, and ignored.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from gridlane.abi import raw
from gridlane.abi.failure import INVALID_VALUE, NOT_SUPPORTED, Failure, fail, failure_of
from gridlane.core.cuda_table import enums
from gridlane.core.errors import GridlaneError

_BY_NAME = enums()["CUjit_option"].values
_NAMES = {number: name.removeprefix("CU_JIT_") for name, number in _BY_NAME.items()}

_CHOICES = {
    "TARGET": frozenset(enums()["CUjit_target"].values.values()),
    "FALLBACK_STRATEGY": frozenset(enums()["CUjit_fallback"].values.values()),
    "CACHE_MODE": frozenset(enums()["CUjit_cacheMode"].values.values()),
    "OPTIMIZATION_LEVEL": frozenset(range(5)),
}
"""The values that an option may have."""

_COUNTS = ("GLOBAL_SYMBOL_COUNT", "REFERENCED_KERNEL_COUNT", "REFERENCED_VARIABLE_COUNT")
"""Options that give symbols to the link, which is not of a vendor's compiler here."""

_32_BITS = (1 << 32) - 1


class Options:
    """The options of a call.

    Args:
        count: how many there are; ``numbers`` and ``values``: the addresses of their arrays.

    Raises:
        Failure: INVALID_VALUE, there is no such option, or it has no such value; NOT_SUPPORTED,
            it would change what the code does.
    """

    def __init__(self, count: int = 0, numbers: int = 0, values: int = 0) -> None:
        if count and not (numbers and values):
            fail(INVALID_VALUE, f"{count} options without their numbers or values")
        if count > 4 * len(_BY_NAME):
            fail(INVALID_VALUE, f"{count} options; there are {len(_BY_NAME) - 1}")
        self._places: dict[str, int] = {}
        self._values: dict[str, int] = {}
        given = zip(raw.numbers(numbers, count), raw.words(values, count))
        for place, (number, value) in enumerate(given):
            name = _NAMES.get(number, "NUM_OPTIONS")
            if name == "NUM_OPTIONS":
                fail(INVALID_VALUE, f"no option of the compiler has the number {number}")
            self._places[name], self._values[name] = values + 8 * place, value
        self._check()
        for kind in ("INFO", "ERROR"):
            self._write(kind, "", told=False)

    def _check(self) -> None:
        for name, known in _CHOICES.items():
            value = self._values.get(name)
            if value is not None and value & _32_BITS not in known:
                fail(INVALID_VALUE, f"the option CU_JIT_{name} has no value {value}")
        for name in _COUNTS:
            if self._values.get(name, 0) & _32_BITS:
                fail(NOT_SUPPORTED, f"the option CU_JIT_{name}: symbols of the program in code")

    @contextmanager
    def logged(self) -> Generator[list[str]]:
        """Fill the logs after the block: the information with what it appends to the list, the
        errors with that of the exception that it raises."""
        notes: list[str] = []
        problem = ""
        try:
            yield notes
        except (Failure, GridlaneError) as error:
            problem = failure_of(error).what
            raise
        finally:
            self._write("INFO", "\n".join(notes))
            self._write("ERROR", problem)

    def _write(self, kind: str, text: str, told: bool = True) -> None:
        """Fill a log, and write the number of filled bytes if the program requests it."""
        buffer = self._values.get(f"{kind}_LOG_BUFFER", 0)
        size = f"{kind}_LOG_BUFFER_SIZE_BYTES"
        room = self._values.get(size, 0) & _32_BITS
        encoded = text.encode()[: room - 1] + b"\0" if buffer and room else b""
        if encoded:
            raw.put(buffer, encoded)
        if told and size in self._places:
            raw.put(self._places[size], (len(encoded) - 1 if encoded else 0).to_bytes(4, "little"))
