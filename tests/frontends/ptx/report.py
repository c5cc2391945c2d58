"""Run every elementwise form of PTX on every device, and write how each root compares with the
model: ``python -m tests.frontends.ptx.report``.

A device may have a way of PTX behind it, as in ``cuda/driver``. Exit status 1 where a result
differs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from tests.devices import DEVICES
from tests.frontends.ptx.oracle import Program, Use, launched
from tests.frontends.ptx.test_forms import BATCH, OTHERS, SPELLINGS, USES

from gridlane import cuda
from gridlane.core.errors import CompileError
from gridlane.launch import current
from gridlane.launch.devices import get_device

Counts = dict[str, Counter[str]]
"""Of each device, how many opcodes of each root differ or are refused."""


def main() -> int:
    """Run the forms, print what differs, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operands", type=int, default=2000, help="a multiple of 16 or 500")
    parser.add_argument("--devices", default=",".join(["interp", *DEVICES]))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--on", default="", help="what the devices are, for the page")
    given = parser.parse_args()
    devices = given.devices.split(",")
    counts: Counts = {device: Counter() for device in devices}
    batch = partial(_batch, operands=given.operands, devices=devices)
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        for found in pool.map(batch, range(0, len(USES), BATCH)):
            for device, root, line in found:
                counts[device][root] += 1
                print(f"{device}: {line}", flush=True)
    text = _table(counts, given.operands, given.on)
    if given.out is None:
        print(text)
    else:
        given.out.write_text(text)
    return int(any(any(each.values()) for each in counts.values()))


def _batch(start: int, operands: int, devices: list[str]) -> list[tuple[str, str, str]]:
    """What differs among some forms: the device, the root, a line. NVIDIA's driver compiles the
    text as it is, so it gets the forms that the GPU has."""
    found: list[tuple[str, str, str]] = []
    for device in devices:
        native = device in ("cuda", "cuda/driver")
        chosen = USES[start : start + BATCH]
        chosen = [use for use in chosen if not native or use.case.target == "sm_90"]
        if chosen:
            program = Program(chosen, operands, seed=start)
            compared = _compared(program, device)
            found += [(device, use.spelling.split(".")[0], line) for use, line in compared]
    return found


def _compared(program: Program, device: str) -> Iterator[tuple[Use, str]]:
    """The uses that differ or are refused, each with a line that says how."""
    name, _, via = device.partition("/")
    current.choose(get_device(name))
    try:
        made = launched(program, partial(cuda.RawModule, via=via))
    except CompileError as error:
        if len(program.uses) == 1:
            yield program.uses[0], f"{program.uses[0]}: {error}"
            return
        for use in program.uses:
            yield from _compared(Program([use], program.count), device)
        return
    yield from _lines(program, made)


def _lines(program: Program, made: np.ndarray) -> Iterator[tuple[Use, str]]:
    by_name = {str(use): use for use in program.uses}
    for line in program.wrong(made, limit=1):
        yield by_name[line.split(" (")[0]], line


def _table(counts: Counts, operands: int, on: str) -> str:
    roots = Counter(each.split(".")[0] for each in SPELLINGS)
    head = f"| root | forms | {' | '.join(counts)} |\n|---|---|{'---|' * len(counts)}"
    rows = [
        f"| `{root}` | {roots[root]} | "
        + " | ".join(str(each[root]) if each[root] else "same" for each in counts.values())
        + " |"
        for root in sorted(roots)
    ]
    others = "\n".join(
        f"- {kind}: {', '.join(f'`{root}`' for root in names.split())}"
        for kind, names in OTHERS.items()
    )
    return _TEXT.format(
        operands=operands,
        total=sum(roots.values()),
        on=f"{on}\n\n" if on else "",
        table="\n".join((head, *rows)),
        others=others,
    )


_TEXT = """# PTX forms

`make oracle` writes this page.

Each elementwise form that `src/gridlane/frontends/ptx/forms/` accepts, {total} spellings of
opcodes, runs on {operands} operands, edges and random ones. `tests/frontends/ptx/model*.py`
computes the results of PTX ISA 9.0, in Python integers and exact rationals, without gridlane.
*same*: each result equals the model's, bit for bit (all NaNs are equal); an approximate form is
within the ISA's bound, or within 2 ulp if the bound is less. A number counts the cases that differ
or are refused.

{on}{table}

Other tests run the forms whose results are not those of operands alone:

{others}
"""


if __name__ == "__main__":
    sys.exit(main())
