"""Write src/gridlane/xp/__init__.pyi, the types of ``gridlane.xp`` for checkers and editors.

    python scripts/xp_stub.py          write the file
    python scripts/xp_stub.py --check  exit with 1, and show the difference, where it is stale

The package loads its names when they are used, so a type checker sees none of them. Functions come
from their modules; the operations of the table have NumPy's parameters of ufuncs.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gridlane import xp
from gridlane.xp.dtypes import DTYPES
from gridlane.xp.functions import parameters_of
from gridlane.xp.operations import OPERATIONS
from gridlane.xp.operations.record import Operation

TARGET = Path(__file__).parents[1] / "src/gridlane/xp/__init__.pyi"
HEADER = '''"""The types of gridlane.xp; made by scripts/xp_stub.py, not by hand."""

from typing import Any, Protocol

import numpy as np

'''
CONSTANTS = {"__array_api_version__": "str", "newaxis": "None"} | dict.fromkeys(
    ("e", "inf", "nan", "pi"), "float"
)


def main() -> None:
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text, old = "".join(lines()), TARGET.read_text() if TARGET.exists() else ""
    if not parser.parse_args().check:
        TARGET.write_text(text)
        return
    sys.stdout.writelines(
        difflib.unified_diff(old.splitlines(True), text.splitlines(True), "there", "made")
    )
    raise SystemExit(text != old)


def lines() -> Iterator[str]:
    """The lines of the file."""
    yield HEADER
    for part in ("fft", "linalg", "random"):
        yield f"from gridlane.xp import {part} as {part}\n"
    homes = [(home, name, original) for name, (home, original) in xp._HOMES.items()]
    whole = {(home, name) for home, name, original in homes if name == original}
    for home, name, original in sorted(homes):
        if name != original and (home, original) in whole:
            continue
        alias = f" as {name}" if name == original else ""
        yield f"from gridlane.xp.{home} import {original}{alias}\n"
    taken = {*xp._HOMES, *DTYPES, *CONSTANTS}
    operations = {name: OPERATIONS[name] for name in sorted(OPERATIONS.keys() - taken)}
    kinds = {name: (parameters_of(each), _results(each)) for name, each in operations.items()}
    numbered = enumerate(sorted(set(kinds.values())))
    classes = {kind: f"_Function{number}" for number, kind in numbered}
    for kind, name in classes.items():
        yield _class(name, *kind)
    yield "\n"
    for _, name, original in sorted(homes):
        if name != original:
            yield f"{name} = {original}\n"
    for name, kind in sorted(CONSTANTS.items()):
        yield f"{name}: {kind}\n"
    for name in sorted(DTYPES):
        yield f"{name}: np.dtype[Any]\n"
    for name, kind in kinds.items():
        yield f"{name}: {classes[kind]}\n"


def _class(name: str, parameters: tuple[str, ...], results: int) -> str:
    """The type of operations with these operands and so many results."""
    operands = "".join(f"        {each}: Any,\n" for each in parameters)
    result = "Array" if results == 1 else f"tuple[{', '.join(['Array'] * results)}]"
    return (
        f"\nclass {name}(Protocol):\n    def __call__(\n        self,\n{operands}        /,\n"
        "        *,\n        out: Any = ...,\n        where: Any = ...,\n"
        f"        dtype: Any = ...,\n        casting: str = ...,\n    ) -> {result}: ...\n"
    )


def _results(operation: Operation) -> int:
    """The number of an operation's results."""
    kinds = [(np.dtype(kind),) * operation.arity for kind in ("f8", "i8", "?", "c16")]
    kinds.append((np.dtype("f8"), *[np.dtype("i8")] * (operation.arity - 1)))
    for each in kinds:
        try:
            return len(operation.types(each).outputs)
        except (TypeError, ValueError):
            continue
    raise SystemExit(f"{operation.name} has no loop that scripts/xp_stub.py finds")


if __name__ == "__main__":
    main()
