"""``gridlane tune``: a program's tunings while it runs, and what they found as files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from gridlane.backends import backend, names
from gridlane.cli import run
from gridlane.cli.failure import fail
from gridlane.cli.tables import table
from gridlane.core.frozen import frozen
from gridlane.tuning import observing
from gridlane.tuning.errors import Stuck
from gridlane.tuning.results import Trial, Tuning, state_text, time_text

_STUCK = 75
"""The exit status of a process whose device is busy for ever."""
_MOST_STARTS = 16


@frozen
class Request:
    """What is asked for.

    Attributes:
        seconds: the deadline of each tuning, in place of the program's.
        again: measure also what is known.
        tables: files of tables to use.
        export: a file for the table of what was found.
        plot: a file for a picture of the candidates.
        is_child: whether the program runs here, not in a process of its own; None where the device
            decides: one that cannot stop a launch is used by a process that can be ended.
    """

    seconds: str | None = None
    again: bool = False
    tables: tuple[str, ...] = ()
    export: str | None = None
    plot: str | None = None
    is_child: bool | None = None


def tune(program: run.Request, request: Request) -> None:
    """Run a program, and show its tunings; at its end, write the files."""
    is_child = _is_on_host(program.device) if request.is_child is None else request.is_child
    if not is_child:
        _supervise()
    seconds = _seconds(request.seconds) if request.seconds is not None else None
    _check_folders(request)
    shown = _Shown()

    def begin() -> None:
        from gridlane.core.errors import GridlaneError
        from gridlane.tuning import tables

        for each in request.tables:
            try:
                tables.use(each)
            except (GridlaneError, OSError) as error:
                fail(f"tune: {error}")
        observing.wishes.seconds, observing.wishes.again = seconds, request.again
        observing.observers.append(shown)

    stuck: Stuck | None = None
    try:
        run.run(program, begin)
    except Stuck as error:
        stuck = error
    finally:
        shown.close()
        _write(request, shown.tunings)
    if stuck is not None:  # nothing that waits for the device may run
        print(f"gridlane {stuck}", file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_STUCK)
    if not shown.tunings:
        print(
            "gridlane tune: nothing was tuned: the program calls cuda.tune, tiles.tune, or the "
            "method tune of a loop nest, or launches a program with tiles.autotune",
            file=sys.stderr,
        )


def _is_on_host(device: str | None) -> bool:
    """Whether a device, by its name, stops launches on request."""
    kind = (device or os.environ.get("GRIDLANE_DEVICE") or "cpu").partition(":")[0]
    return kind in names() and backend(kind).on_host


def _supervise() -> NoReturn:
    """Run the same command in a process of its own, and again while one has met a candidate that
    does not end; exit with its status."""
    words = sys.argv[1:]
    place = words.index("tune") + 1
    rest = words[place + 1 :] if words[place] == "--supervised" else words[place:]
    words = [*words[:place], "--child", *rest]
    status = _STUCK
    for _ in range(_MOST_STARTS):
        try:
            status = subprocess.run([sys.executable, "-m", "gridlane", *words]).returncode
        except KeyboardInterrupt:  # the child has it, too
            raise SystemExit(130) from None
        if status != _STUCK:
            break
        print("gridlane tune: starting the program again, without that candidate", file=sys.stderr)
    raise SystemExit(status)


def _seconds(given: str) -> float:
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        fail(f"tune: --seconds needs a number of seconds above 0, not {given!r}")
    return seconds


def _check_folders(request: Request) -> None:
    """Fail before the program runs, if its files could not be written after."""
    for each in (request.export, request.plot):
        if each is not None and not Path(each).resolve().parent.is_dir():
            fail(f"tune: there is no folder {str(Path(each).parent)!r} for {each!r}")


def _write(request: Request, tunings: list[Tuning]) -> None:
    """Write the files; those of an interrupted program as well."""
    from gridlane.launch import current
    from gridlane.launch.devices import get_device
    from gridlane.tuning import pictures, tables

    if request.export is not None:
        name = tunings[-1].device if tunings else current.name()
        text = tables.text_of(tunings, get_device(name))
        Path(request.export).write_text(text, encoding="utf-8")
    if request.plot is not None:
        Path(request.plot).write_text(pictures.svg(tunings), encoding="utf-8")


class _Shown:
    """An observer that shows tables: live ones on a terminal, else each when it is whole."""

    def __init__(self) -> None:
        console = Console(stderr=True, highlight=False)
        self.console = (
            console if console.is_terminal else Console(stderr=True, highlight=False, width=140)
        )
        self.tunings: list[Tuning] = []
        self._live: Live | None = None
        self._title, self._count, self._ended = "", 0, True
        self._trials: list[Trial] = []

    def begins(self, kernel: str, shapes: str, count: int) -> None:
        """Show an empty table."""
        self.close()
        self._ended = False
        self._title, self._count, self._trials = f"{kernel}({shapes})", count, []
        if self.console.is_terminal:
            self._live = Live(self._table(), console=self.console, auto_refresh=False)
            self._live.start()

    def tried(self, kernel: str, trial: Trial) -> None:
        """Show one more row."""
        self._trials.append(trial)
        if self._live is not None:
            self._live.update(self._table(), refresh=True)

    def ends(self, tuning: Tuning) -> None:
        """Show what was found."""
        self.tunings.append(tuning)
        self._ended = True
        self._trials = [*tuning.trials]
        best = tuning.best
        gain = tuning.plain.milliseconds / best.milliseconds
        how = "known from before" if tuning.is_known else f"in {tuning.seconds:.1f} s"
        end = f"best: {best.candidate}, {time_text(best)}, {gain:.2f}x as fast as plain, {how}"
        whole = Group(self._table(), end if tuning.complete else f"{end}; interrupted")
        if self._live is not None:
            self._live.update(whole, refresh=True)
            self._live.stop()
            self._live = None
        else:
            self.console.print(whole)

    def close(self) -> None:
        """Leave the last table as it is; show that of a tuning that was interrupted."""
        if self._live is not None:
            self._live.stop()
        elif not self._ended and self._trials:
            self.console.print(self._table())
        if not self._ended:
            self.console.print("interrupted; a later run goes on from here")
        self._live, self._ended = None, True

    def _table(self) -> Table:
        rows = table(
            "candidate", "time", "", "state", title=f"{self._title}: {self._count} candidates"
        )
        rows.columns[1].justify = "right"
        for column in rows.columns[:2]:
            column.no_wrap = True
        times = [each.milliseconds for each in self._trials]
        for each in sorted(self._trials, key=lambda each: each.milliseconds):
            rows.add_row(str(each.candidate), time_text(each), _bar(each, times), state_text(each))
        return rows


def _bar(trial: Trial, times: list[float]) -> str:
    """A bar as long as the time, against the slowest."""
    finite = [each for each in times if each < float("inf")]
    if trial.milliseconds == float("inf"):
        return ""
    return "█" * max(1, round(20 * trial.milliseconds / max(finite)))
