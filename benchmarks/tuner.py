"""The tuner's choice beside the best of all schedules: ratios of times, and their median.

    python benchmarks/tuner.py [NAME ...] [--device cuda] [--processes N] [--table OUT.json]
                               [--record]

Each kernel is tuned anew; then all of its candidates are measured, in rounds. The tuner's choice
and the best of these are measured again in turn; a ratio is that of their times. --table writes the
tunings, as a table that gridlane could ship. Before all that, N processes compile all candidates
into the disk cache.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import gridlane
import results
from gridlane import cuda, tiles
from gridlane.core.config import config
from gridlane.core.errors import GridlaneError
from gridlane.cuda.kernels.tuning import TunedKernel
from gridlane.launch import current
from gridlane.tiles.tuning import TunedProgram
from gridlane.tuning import tables
from gridlane.tuning.limits import limited
from gridlane.tuning.measuring import cache_filler, sampled
from gridlane.tuning.results import State, Tuning
from gridlane.tuning.search import typical
from gridlane.tuning.spaces import Candidate, Space
from timing import machine
from tuner_kernels import CASES, Case

GOAL = 1.05
ROUNDS, AGAIN = 3, 9
ROUND_S = 0.02


def tuned_case(case: Case, args: tuple[Any, ...], seconds: float) -> Any:
    """Tune a kernel."""
    tune = cuda.tune if isinstance(case.kernel, cuda.Dispatcher) else tiles.tune
    return tune(case.kernel, args, case.space, grid=case.grid, seconds=seconds, **case.options)


def untuned(case: Case, args: tuple[Any, ...]) -> Any:
    """What ``tuned_case`` returns, before anything is measured."""
    options = dict(case.options)
    space = Space(case.space, where=options.pop("where", None))
    if isinstance(case.kernel, cuda.Dispatcher):
        return TunedKernel(case.kernel, space, case.grid, **options)
    return TunedProgram(case.kernel, space, case.grid, {}, **options)


def compile_part(number: int, part: int, parts: int, device: str, folder: str) -> int:
    """Compile each of ``parts`` candidates of a case, in a process of its own."""
    use_folder(folder)
    compiled = 0
    with gridlane.device(device):
        case = CASES[number]
        args = case.args(scale_of_device())
        tuned = untuned(case, args)
        subject = tuned.subject(args)
        for candidate in tuned.space.candidates[part::parts]:
            try:
                subject.prepare(candidate)
                compiled += 1
            except GridlaneError:  # the tuner shows it
                continue
    return compiled


def compile_all(chosen: list[Case], processes: int, device: str, folder: str) -> None:
    """Compile all candidates into the disk cache, by several processes."""
    begin, tasks = time.monotonic(), list[Any]()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context) as pool:
        for number, case in enumerate(CASES):
            if case in chosen:
                parts = min(processes, 4)
                for part in range(parts):
                    tasks.append(pool.submit(compile_part, number, part, parts, device, folder))
        compiled = sum(each.result() for each in tasks)
    print(f"{compiled} candidates compiled in {time.monotonic() - begin:.1f} s", flush=True)


def use_folder(folder: str) -> None:
    """Use a disk cache of this run alone."""
    os.environ["GRIDLANE_CACHE_DIR"] = folder
    config.cache_clear()


def scale_of_device() -> int:
    return 1 if current.device().host_visible else 4


def exhaustive(tuned: Any, args: tuple[Any, ...]) -> dict[Candidate, float]:
    """The time of each candidate that is right, in milliseconds."""
    subject, device = tuned.subject(args), current.device()
    wrong = {t.candidate for t in tuned.tuning.trials if t.state is not State.MEASURED}
    samples: dict[Candidate, list[float]] = {}
    clear, kinds = cache_filler(device), set[Any]()
    for turn in range(ROUNDS):
        for candidate in tuned.space.candidates:
            kind = subject.kind(candidate)
            if candidate in wrong or (not turn and kind in kinds):
                continue
            kinds.add(kind)
            if turn and candidate not in samples:
                continue
            try:
                subject.prepare(candidate)
                with limited(device, 5.0):
                    call = partial(subject.launch, candidate)
                    call()
                    samples.setdefault(candidate, []).extend(sampled(call, ROUND_S, None, clear))
            except GridlaneError:
                wrong.add(candidate)
    return {candidate: typical(each) for candidate, each in samples.items()}


def in_turn(calls: list[Callable[[], None]]) -> list[float]:
    """The times of calls that are measured in turn."""
    clear = cache_filler(current.device())
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(AGAIN):
        for call, mine in zip(calls, times, strict=True):
            mine.extend(sampled(call, ROUND_S, None, clear))
    return [typical(each) for each in times]


def compare(case: Case, scale: int, seconds: float) -> tuple[float, Tuning]:
    """The ratio of the tuner's choice to the best, and the tuning."""
    args = case.args(scale)
    begin = time.monotonic()
    tuned = tuned_case(case, args, seconds)
    spent = time.monotonic() - begin
    times, subject = exhaustive(tuned, args), tuned.subject(args)
    best = min(times, key=lambda each: times[each])
    chosen = tuned.tuning.best.candidate
    runs = [partial(subject.launch, each) for each in (chosen, best, tuned.space.plain)]
    ours, theirs, plain = in_turn(runs)
    ratio, gain = (max(ours / theirs, 1.0) if chosen != best else 1.0), plain / ours
    print(
        f"{case.name:24}{ratio:6.2f}x  {ours * 1e3:9.1f} us {chosen!s:32} best {best!s:32} "
        f"{len(tuned.tuning.trials)} of {len(times)}, {gain:5.2f}x of plain, {spent:5.1f} s",
        flush=True,
    )
    results.add(case.name, "tuner to the best", ratio, "ratio")
    results.add(case.name, "plain to tuner", gain, "x")
    return ratio, tuned.tuning


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="kernels, by parts of their names; all by default")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=30.0, help="the deadline of each")
    parser.add_argument("--processes", type=int, default=0, help="compile beforehand by so many")
    parser.add_argument("--table", help="write the tunings here")
    results.option(parser)
    options = parser.parse_args()
    print(machine())
    chosen = [c for c in CASES if not options.names or any(n in c.name for n in options.names)]
    ratios, tunings = list[float](), list[Tuning]()
    with tempfile.TemporaryDirectory() as folder, gridlane.device(options.device):
        use_folder(folder)
        tables.shipped = lambda: ()  # as if gridlane had none
        if options.processes:
            compile_all(chosen, options.processes, options.device, folder)
        scale = scale_of_device()
        for case in chosen:
            ratio, tuning = compare(case, scale, options.seconds)
            ratios.append(ratio)
            tunings.append(tuning)
            if options.table:
                Path(options.table).write_text(tables.text_of(tunings, current.device()))
    median = statistics.median(ratios)
    print(f"median {median:.3f}x of the best (goal {GOAL}), worst {max(ratios):.2f}x")
    results.add("median", "tuner to the best", median, "ratio")
    results.write("tuner", options.record, device=options.device)


if __name__ == "__main__":
    main()
