"""What a tuning has found."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, cast

from gridlane.core.frozen import frozen
from gridlane.tuning.spaces import Candidate, Space


class State(StrEnum):
    """What became of a candidate."""

    MEASURED = "measured"
    WRONG = "wrong"
    FAILED = "failed"
    STOPPED = "stopped"


@frozen
class Trial:
    """A candidate that was tried.

    Attributes:
        milliseconds: of a launch; infinite where it was not measured.
        reason: why not.
        estimate: by which it was ranked.
    """

    candidate: Candidate
    state: State
    milliseconds: float = math.inf
    reason: str = ""
    estimate: float = math.inf

    def as_json(self) -> dict[str, Any]:
        """The trial for a file, by the names of values."""
        time = self.milliseconds if math.isfinite(self.milliseconds) else None
        return {
            "values": self.candidate.named,
            "state": str(self.state),
            "milliseconds": time,
            "reason": self.reason,
        }


@frozen
class Tuning:
    """What is known of a kernel's candidates for arguments of one shape class.

    Attributes:
        kernel: its name.
        shapes: the shape class, as text.
        device: the name of the device.
        trials: those that were tried, in order.
        complete: False where the tuning was interrupted.
        is_known: whether nothing was measured, as a file or a table had it.
        seconds: that the tuning took.
        source: a digest of the kernel's text, by which tables have it.
        count: the candidates of the space.
    """

    kernel: str
    shapes: str
    device: str
    trials: tuple[Trial, ...]
    complete: bool
    is_known: bool
    seconds: float
    source: str
    count: int

    @property
    def best(self) -> Trial:
        """The fastest one that was measured.

        Raises:
            ValueError: none was.
        """
        return min(self.measured, key=lambda each: each.milliseconds)

    @property
    def measured(self) -> list[Trial]:
        """Those whose results were right."""
        return [each for each in self.trials if each.state is State.MEASURED]

    @property
    def plain(self) -> Trial:
        """The plain schedule's."""
        return self.trials[0]

    def as_json(self) -> dict[str, Any]:
        """The tuning for a table."""
        return {
            "kernel": self.kernel,
            "source": self.source,
            "shapes": self.shapes,
            "complete": self.complete,
            "trials": [each.as_json() for each in self.trials],
        }

    def __str__(self) -> str:
        """A table as text, the fastest first."""
        rows = [["candidate", "time", "against plain", "state"]]
        for each in sorted(self.trials, key=lambda each: each.milliseconds):
            rows.append([str(each.candidate), time_text(each), self._ratio(each), state_text(each)])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        how = "known" if self.is_known else f"{self.seconds:.1f} s"
        title = f"{self.kernel}({self.shapes}) on {self.device}: {len(self.trials)} of "
        return "\n".join([f"{title}{self.count} candidates, {how}", *lines])

    def _ratio(self, trial: Trial) -> str:
        """A trial's time against the plain schedule's."""
        ratio = trial.milliseconds / self.plain.milliseconds
        return f"{ratio:.2f}x" if math.isfinite(ratio) else ""


def time_text(trial: Trial) -> str:
    """A trial's time.

    >>> from gridlane.tuning.spaces import Candidate
    >>> time_text(Trial(Candidate((0,), (("block", 32),)), State.MEASURED, 0.0213))
    '21.3 us'
    """
    value = trial.milliseconds
    if not math.isfinite(value):
        return "-"
    return f"{value * 1000:.3g} us" if value < 1 else f"{value:.4g} ms"


def state_text(trial: Trial) -> str:
    """What became of a trial, with the reason."""
    return f"{trial.state}: {trial.reason}" if trial.reason else str(trial.state)


def trials_of(data: Any, space: Space) -> list[Trial]:
    """Trials of a file, as far as their values are candidates of a space.

    Raises:
        ValueError: the file's data has another form.
    """
    if not isinstance(data, list):
        raise ValueError("no list of trials")
    by_values = {_key(each.named): each for each in space.candidates}
    found: dict[Candidate, Trial] = {}
    for item in cast("list[Any]", data):
        values, state, time, reason = (
            _field(item, name) for name in ("values", "state", "milliseconds", "reason")
        )
        candidate = by_values.get(_key(values))
        if candidate is None:
            continue
        kind = State(state)
        time = math.inf if time is None else time
        if type(time) not in (int, float) or not time > 0 or not isinstance(reason, str):
            raise ValueError("no time of a trial")
        if (kind is State.MEASURED) != math.isfinite(time):
            raise ValueError("no time of a trial that was measured")
        found[candidate] = Trial(candidate, kind, float(time), reason)
    return [*found.values()]


def _field(item: Any, name: str) -> Any:
    if not isinstance(item, dict) or name not in item:
        raise ValueError(f"a trial without {name}")
    return cast("dict[str, Any]", item)[name]


def _key(values: Any) -> str:
    """A text that is the same for the values of a file and those of a space: JSON's."""
    if not isinstance(values, dict):
        raise ValueError("no values of a trial")
    return json.dumps(cast("dict[str, Any]", values), sort_keys=True)


def merged(first: Sequence[Trial], second: Sequence[Trial]) -> list[Trial]:
    """The trials of both; of a candidate in both the quicker one."""
    found: dict[Candidate, Trial] = {each.candidate: each for each in first}
    for each in second:
        known = found.get(each.candidate)
        if known is None or each.milliseconds < known.milliseconds:
            found[each.candidate] = each
    return [*found.values()]
