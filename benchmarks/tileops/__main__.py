"""TileOPs' workloads by gridlane: right, and on a GPU their times beside torch's.

    python -m benchmarks.tileops --suite FOLDER [--only NUMBER ...] [--factor 16] [--device cpu]
    python -m benchmarks.tileops --suite FOLDER --device cuda [--ahead 8] [--record]

FOLDER is a checkout of TileOPs, which is not part of this project; its manifest has the workloads
of products of matrices, attention, convolutions and norms. Lengths are divided by the factor (1 on
a GPU by default). Results are compared with torch's; on a GPU both take turns with a cold second
cache. What gridlane's kernels do not compute is named with the reason.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import threading
import time
import traceback
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))

from benchmarks import results  # noqa: E402
from benchmarks.kernelbench.workers import worked  # noqa: E402
from benchmarks.tileops.manifest import Workload, workloads  # noqa: E402

SMALL = 16
GOAL = 0.95
"""Of torch's speed, in the geometric mean."""


def arguments() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=Path, required=True, help="a checkout of TileOPs")
    parser.add_argument("--only", type=int, nargs="*", default=[], help="numbers of workloads")
    parser.add_argument("--factor", type=int, help="of lengths: 16 on the CPU, else 1")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--limit", type=float, default=30.0, help="seconds of a workload")
    parser.add_argument("--ahead", type=int, default=0, help="processes that compile first")
    parser.add_argument("--within", action="store_true", help="work in this process")
    results.option(parser)
    return parser


def main() -> int:
    """Returns the number of workloads that are not right."""
    options = arguments().parse_args()
    known = dict(enumerate(workloads(options.suite)))
    numbers = [number for number in known if not options.only or number in options.only]
    is_host = options.device in results.HOST_DEVICES
    factor = options.factor or (SMALL if is_host else 1)
    if options.within:
        for number in numbers:
            found = _measured(known[number], factor, options)
            print(json.dumps({"number": number, **found}), flush=True)
        return 0
    words = ["-m", "benchmarks.tileops", "--suite", str(options.suite), "--within"]
    words += ["--device", options.device, "--factor", str(factor)]
    if options.ahead:
        _compile([*words, "--rounds", "0"], numbers, options)
    words += ["--rounds", "0" if is_host else str(options.rounds)]
    found: list[dict[str, Any]] = []
    for each in worked(words, numbers, options.limit, ROOT):
        found.append({"name": known[each["number"]].name, **each})
        print(_line(found[-1]), flush=True)
    return _summary(found, options)


def _measured(workload: Workload, factor: int, options: Any) -> dict[str, Any]:
    """What is found of a workload: ``error``, ``missing``, or ``off`` and the times."""
    import torch
    from benchmarks.kernelbench.measuring import times
    from benchmarks.tileops import attention, convolutions, norms, prefill, products
    from benchmarks.tileops.cases import Given, Missing, is_close

    import gridlane

    builders = {
        **products.BUILDERS, **attention.BUILDERS, **prefill.BUILDERS, **convolutions.BUILDERS,
        **norms.BUILDERS,
    }  # fmt: skip
    torch.set_default_device("cpu" if options.device in results.HOST_DEVICES else options.device)
    torch.manual_seed(1)
    start = time.perf_counter()
    try:
        with torch.no_grad(), gridlane.device(options.device):
            case = builders[workload.operator](Given(workload, factor))
            near, off = is_close(case.ours(), case.theirs())
            if not near:
                return {"error": f"WRONG: off by {off:.3g} of the largest result"}
            timed = times(case.ours, case.theirs, options.rounds) if options.rounds else {}
    except Missing as reason:
        return {"missing": str(reason)}
    except Exception as error:  # of any kind: it is this workload's result
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    return {"off": off, "seconds": time.perf_counter() - start, **timed}


def _compile(words: list[str], numbers: list[int], options: Any) -> None:
    """Run workloads by several processes, which fills the cache of kernels."""

    def work(own: list[int]) -> None:
        for _ in worked(words, own, options.limit, ROOT):
            pass

    threads = [
        threading.Thread(target=work, args=(numbers[first :: options.ahead],))
        for first in range(options.ahead)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def _line(found: dict[str, Any]) -> str:
    words = f"{found['number']:4} {found['name'][:74]:74}"
    if "ours" in found:
        ratio = found["ours"] / found["torch"]
        times = f"{found['ours'] * 1e3:10.1f} us{found['torch'] * 1e3:10.1f} us of torch"
        return f"{words} {times}{ratio:8.3f}  off by {found['off']:.1e}"
    if "off" in found:
        return f"{words} right, off by {found['off']:.1e}, {found['seconds']:.1f} s"
    return f"{words} {found.get('error') or 'missing: ' + found['missing']}"


def _summary(found: list[dict[str, Any]], options: Any) -> int:
    wrong = [each for each in found if "error" in each]
    right = [each for each in found if "off" in each]
    reasons = Counter(each["missing"] for each in found if "missing" in each)
    print(f"{len(right)} of {len(found)} are right, {len(wrong)} are not")
    results.add("manifest", "all", len(found), "workloads")
    results.add("manifest", "right", len(right), "workloads")
    for reason, count in sorted(reasons.items()):
        print(f"missing: {count} of {reason}")
        results.add(f"missing: {reason}", "gridlane", count, "workloads")
    timed = [each for each in right if "ours" in each]
    for each in timed:
        case = f"{each['number']} {each['name']}"
        results.add(case, "gridlane", each["ours"], "ms")
        results.add(case, "torch", each["torch"], "ms")
        results.add(case, "gridlane / torch", each["ours"] / each["torch"], "ratio")
    families: dict[str, list[float]] = {}
    for each in timed:
        families.setdefault(each["name"].split(" ")[0], []).append(each["ours"] / each["torch"])
    families["all"] = [ratio for ratios in families.values() for ratio in ratios]
    for name, ratios in families.items() if timed else ():
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"{name:46} {mean:.3f} of torch's time, {len(ratios)} workloads")
        results.add(f"geometric mean of {name}", "gridlane / torch", mean, "ratio")
    versions = {"torch": metadata.version("torch")}
    results.write("tileops", options.record, options.device, versions)
    return len(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
