"""Level 1 of KernelBench by gridlane: 100 problems right, and on a GPU their times beside torch's.

    python -m benchmarks.kernelbench --suite FOLDER [--only 1 2 ...] [--factor 16] [--device cpu]
    python -m benchmarks.kernelbench --suite FOLDER --device cuda [--ahead 8] [--record]

FOLDER is a checkout of KernelBench, which is not part of this project. A problem is its own module
with its own inputs, whose extents are divided by the factor (1 on a GPU by default). Our result is
compared with the module's in float32, by KernelBench's tolerance: 1e-4 of both kinds. On a GPU both
then take turns with a cold second cache. A process with a limit for each problem works through all,
and is started anew where one fails. With ``--ahead`` several compile the kernels first.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import traceback
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks import results  # noqa: E402
from benchmarks.kernelbench import suite  # noqa: E402
from benchmarks.kernelbench.workers import worked  # noqa: E402

LIMIT_S = 60
PARTS = ", 3 x tf32"
"""Marks problems whose products of float32 are three of tf32 each."""
SMALL = 16
"""What divides extents on processors, and where kernels are compiled ahead."""


def arguments() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=Path, required=True, help="a checkout of KernelBench")
    parser.add_argument("--only", type=int, nargs="*", default=[], help="numbers of problems")
    parser.add_argument("--factor", type=int, help="of extents: 16 on the CPU, else 1")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds of a problem")
    parser.add_argument("--ahead", type=int, default=0, help="processes that compile first")
    parser.add_argument("--within", action="store_true", help="work in this process")
    results.option(parser)
    return parser


def main() -> int:
    """Returns the number of problems that are not right."""
    options = arguments().parse_args()
    files = suite.files(options.suite)
    numbers = [number for number in files if not options.only or number in options.only]
    is_host = options.device in results.HOST_DEVICES
    factor = options.factor or (SMALL if is_host else 1)
    if options.within:
        _within(files, numbers, factor, options)
        return 0
    words = ["-m", "benchmarks.kernelbench", "--suite", str(options.suite), "--within"]
    words += ["--device", options.device]
    if options.ahead:
        _compile(words, numbers, options)
    words += ["--factor", str(factor), "--rounds", "0" if is_host else str(options.rounds)]
    found: list[dict[str, Any]] = []
    for each in worked(words, numbers, options.limit, ROOT):
        found.append({"title": _title(files[each["number"]]), **each})
        print(_line(found[-1]), flush=True)
    return _summary(found, options)


def _within(files: dict[int, Path], numbers: list[int], factor: int, options: Any) -> None:
    """Work through problems, each a line of JSON."""
    from benchmarks.kernelbench.measuring import measured  # of workers alone

    for number in numbers:
        try:
            found = measured(number, files[number], factor, options.device, options.rounds)
        except Exception as error:  # of any kind: it is this problem's result
            traceback.print_exc()
            found = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps({"number": number, **found}), flush=True)


def _compile(words: list[str], numbers: list[int], options: Any) -> None:
    """Run small problems by several processes, which fills the cache of kernels."""
    words = [*words, "--factor", str(SMALL), "--rounds", "0"]

    def work(own: list[int]) -> None:
        for each in worked(words, own, options.limit, ROOT):
            if "error" in each:
                print(f"{each['number']:4} small: {each['error']}", flush=True)

    threads = [
        threading.Thread(target=work, args=(numbers[first :: options.ahead],))
        for first in range(options.ahead)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def _title(path: Path) -> str:
    return " ".join(path.stem.split("_")[1:]).strip()


def _line(found: dict[str, Any]) -> str:
    words = f"{found['number']:4} {found['title'][:60]:60}"
    if "error" in found:
        return f"{words} {found['error']}"
    if "ours" in found:
        ratio = found["ours"] / found["torch"]
        times = f"{found['ours']:10.3f} ms{found['torch']:10.3f} ms of torch{ratio:8.3f}"
        return f"{words} {times}  off by {found['off']:.1e}{PARTS if found['parts'] else ''}"
    return f"{words} right, off by {found['off']:.1e}, {found['seconds']:.1f} s"


def _summary(found: list[dict[str, Any]], options: Any) -> int:
    wrong = [each for each in found if "error" in each]
    timed = [each for each in found if "ours" in each]
    print(f"{len(found) - len(wrong)} of {len(found)} are right")
    results.add("level 1", "right", len(found) - len(wrong), "problems")
    results.add("level 1", "all", len(found), "problems")
    if timed:
        faster = [each for each in timed if each["ours"] < each["torch"]]
        print(f"{len(faster)} of {len(timed)} are faster than torch")
        plain = [each for each in faster if not each["parts"]]
        print(f"{len(plain)} of these without products as {PARTS.strip(', ')}")
        results.add("level 1", "faster than torch", len(faster), "problems")
        results.add("level 1", "of these without 3 x tf32", len(plain), "problems")
    for each in timed:
        case = f"{each['number']} {each['title']}{PARTS if each['parts'] else ''}"
        results.add(case, "gridlane", each["ours"], "ms")
        results.add(case, "torch", each["torch"], "ms")
        results.add(case, "gridlane / torch", each["ours"] / each["torch"], "ratio")
    versions = {"torch": metadata.version("torch")}
    results.write("kernelbench", options.record, options.device, versions)
    return len(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
