"""The search for a kernel's fastest schedule, inside a deadline."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Protocol

from gridlane.core.device_errors import handled
from gridlane.core.encoding import encode
from gridlane.core.errors import GridlaneError
from gridlane.launch import current
from gridlane.tuning import store, tables
from gridlane.tuning.errors import Overran, Stuck, TuningError
from gridlane.tuning.limits import can_stop, limited, waited
from gridlane.tuning.measuring import cache_filler, sampled
from gridlane.tuning.memory import Bits, Saved, differs, tolerance_of
from gridlane.tuning.observing import observers, wishes
from gridlane.tuning.ranking import Ranking
from gridlane.tuning.results import State, Trial, Tuning, merged, trials_of
from gridlane.tuning.spaces import Candidate, Space

SECONDS = 30.0
"""The deadline where none is given."""
MOST = 8
"""Candidates that are measured."""
_OTHERS = 3
"""Candidates that are wrong, or do not run, for each that is measured."""
_SAMPLE_S = 0.3
"""Seconds of measuring one candidate."""
_PATIENCE, _LEAST_S = 20.0, 0.5
"""A candidate is stopped after so many times the plain schedule's time, and seconds at least."""
_STUCK_S = 5.0
"""Seconds that a candidate has at least on a device that cannot stop it."""
_SLOW = 4.0
"""Of the best time, from which on one measured launch is enough."""
_CLOSE, _FINALISTS, _ROUNDS = 1.25, 3, 6
"""The fastest within a factor are measured again, in turn."""


class Subject(Protocol):
    """A kernel with the arguments that it is tuned for.

    ``compiles_s``, if it has that, is how many seconds the first launch of a candidate may compile.

    Attributes:
        name: the kernel's.
        shapes: the class of the arguments' types and shapes, as text.
        arrays: those that its launches may write.
        outputs: the numbers of those whose elements no launch reads.
        fastmath: whether results may differ in their last digits.
        source: a digest of its text and of what that depends on; empty where that is unknown.
    """

    @property
    def name(self) -> str: ...

    @property
    def shapes(self) -> str: ...

    @property
    def arrays(self) -> Sequence[Any]: ...

    @property
    def outputs(self) -> frozenset[int]: ...

    @property
    def fastmath(self) -> bool: ...

    @property
    def source(self) -> bytes: ...

    def prepare(self, candidate: Candidate) -> None:
        """Compile what a candidate launches."""
        ...

    def launch(self, candidate: Candidate) -> None:
        """Launch on the default stream of this thread's device."""
        ...

    def estimate(self, candidate: Candidate) -> float:
        """A number that is larger for slower candidates, as far as this is known beforehand."""
        ...

    def kind(self, candidate: Candidate) -> Hashable:
        """What code and launches depend on: of candidates with the same one is measured."""
        ...


def tune(
    subject: Subject,
    space: Space,
    seconds: float = SECONDS,
    most: int = MOST,
    tolerance: float | None = None,
) -> Tuning:
    """Find the fastest candidate whose results are those of the plain one.

    Arrays have the values that they had when it returns, also where it is interrupted. What was
    measured is kept after each candidate; a tuning that was interrupted is taken up again.

    Args:
        seconds: the deadline. Compilations are not interrupted.
        most: the most candidates that are measured, the plain one included.
        tolerance: of floats, relative to the largest one of an array; None for equal bits, or under
            ``fastmath`` for what is usual for their type.

    Raises:
        TuningError: there is no time, or the plain candidate does not end in it.
        Stuck: another candidate does not end, on a device that cannot stop it.
        GridlaneError: the plain candidate does not compile or run.
    """
    if wishes.seconds is not None:
        seconds = wishes.seconds
    if not isinstance(seconds, Real) or not 0 < seconds < math.inf:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TuningError(f"tune: seconds={seconds!r}: a deadline is a number of seconds above 0")
    if not isinstance(most, Integral) or most < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TuningError(f"tune: most={most!r}: at least the plain schedule is measured")
    if current.fusing():
        raise TuningError("tune: launches are delayed here, inside of fused()")
    for each in observers:
        each.begins(subject.name, subject.shapes, len(space.candidates))
    tuning = _Search(subject, space, seconds, most, tolerance).run()
    for each in observers:
        each.ends(tuning)
    return tuning


def agree(subject: Subject, one: Candidate, other: Candidate, tolerance: float | None) -> bool:
    """Whether two candidates have the same results; arrays keep their values."""
    device = current.device()
    subject.prepare(one)
    subject.prepare(other)
    saved = Saved(subject.arrays, device)
    results: list[list[Bits]] = []
    try:
        for each in (one, other):
            saved.restore()
            device.default_stream.synchronize()
            subject.launch(each)
            device.default_stream.synchronize()
            results.append(saved.contents())
    finally:
        saved.restore()
        device.default_stream.synchronize()
    if tolerance is None and subject.fastmath:
        tolerance = tolerance_of(results[0])
    return not any(differs(a, b, tolerance) for a, b in zip(*results, strict=True))


class _Search:
    def __init__(
        self, subject: Subject, space: Space, seconds: float, most: int, tolerance: float | None
    ) -> None:
        self.subject, self.space, self.most = subject, space, most
        self.tolerance, self.seconds = tolerance, seconds
        self.begin = time.monotonic()
        self.device = current.device()
        self.trials: list[Trial] = []
        self.samples: dict[Candidate, list[float]] = {}
        self.path = self._path()
        self.marked: set[Candidate] = set()
        self.stuck = False
        self.wanted: list[Bits] = []
        self.plain_s = 0.0

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.begin + self.seconds - time.monotonic()

    def _path(self) -> Path | None:
        subject, parameters = self.subject, tuple(self.space.parameters.items())
        if not subject.source:
            return None
        exact = encode(
            (subject.name, subject.shapes, parameters, self.space.plain.place, self.tolerance)
        )
        return store.place_of(self.device, subject.source, exact)

    def run(self) -> Tuning:
        """Return what is known, or measure."""
        known, complete = ([], False) if wishes.again else self._known()
        if complete:
            self.trials = known
            return self._tuning(True, True)
        self.clear = cache_filler(self.device)
        originals = Saved(self.subject.arrays, self.device)
        try:
            for number in self.subject.outputs:
                originals.invert(number)
            self.saved = Saved(self.subject.arrays, self.device)
            self._first(known)
            advice = None if wishes.again else tables.advice(self.subject, self.space, self.device)
            if advice is not None and advice.is_exact and self._holds(advice.order[0]):
                self.trials = advice.trials
                return self._tuning(True, True)
            complete = self._others(advice.order if advice is not None else ())
            self._final()
            self._keep(complete)
        finally:
            if not self.stuck:  # else the device does nothing that comes behind
                originals.restore(whole=True)
                self.device.default_stream.synchronize()
                if self.marked:
                    self._keep(complete)
        return self._tuning(complete, False)

    # ---- what is known

    def _known(self) -> tuple[list[Trial], bool]:
        """The trials of earlier tunings, and whether no more are needed."""
        data = store.load(self.path)
        try:
            if not isinstance(data, dict):
                return [], False
            trials = trials_of(data.get("trials"), self.space)
            first = [each for each in trials if each.candidate == self.space.plain]
            if not first or first[0].state is not State.MEASURED:
                return [], False
            trials = [*first, *(each for each in trials if each is not first[0])]
            count = sum(each.state is State.MEASURED for each in trials)
            enough = count >= self.most and data.get("most", 0) >= self.most
            return trials, bool(data.get("complete")) or enough
        except (ValueError, TypeError):
            return [], False

    def _keep(self, complete: bool, mark: Trial | None = None) -> None:
        """Write what is known, with what another process has measured meanwhile.

        Args:
            mark: of the candidate that runs.
        """
        if self.path is None:
            return
        others, _ = ([], False) if wishes.again else self._known()
        own = self.samples.keys() | self.marked
        trials = merged(self.trials, [each for each in others if each.candidate not in own])
        kept = [each for each in trials if each.state is not State.FAILED]
        kept += [mark] if mark is not None else []
        data = {"most": self.most, "complete": complete, "trials": [t.as_json() for t in kept]}
        store.keep(self.path, data)

    def _tuning(self, complete: bool, known: bool) -> Tuning:
        return Tuning(
            self.subject.name, self.subject.shapes, self.device.name, tuple(self.trials), complete,
            known, time.monotonic() - self.begin, tables.digest_of(self.subject),
            len(self.space.candidates),
        )  # fmt: skip

    # ---- measuring

    def _first(self, known: list[Trial]) -> None:
        """Run the plain schedule: its results are those of all others, its errors are raised."""
        plain = self.space.plain
        self.subject.prepare(plain)
        before = self.saved.contents()
        try:
            self.plain_s = self._run(plain, self.left)
        except (Overran, Stuck):
            raise TuningError(
                f"tune: {self.subject.name} with the plain schedule, {plain}, has not ended within "
                f"the {self.seconds:g} s of the deadline"
            ) from None
        self.wanted = self.saved.contents()
        if self.tolerance is None and self.subject.fastmath:
            self.tolerance = tolerance_of(self.wanted)
        pairs = zip(before, self.wanted, strict=True)
        self.saved.written = {n for n, (a, b) in enumerate(pairs) if differs(a, b, None)}
        earlier = next((each for each in known if each.candidate == plain), None)
        self.trials = [earlier or self._timed(plain, math.inf)]
        self.trials += [each for each in known if each.candidate != plain]
        self._tell(self.trials[0])

    def _others(self, first: Sequence[Candidate]) -> bool:
        """Try candidates, the most promising first; whether none is left to try."""
        ranking = Ranking(self.space, self.subject, first, self.left / 4)
        plain = self.trials[0]
        self.trials[0] = replace(plain, estimate=ranking.estimate(plain.candidate))
        tried = {each.candidate for each in self.trials}
        kinds = {self.subject.kind(each) for each in tried}
        count = sum(each.state is State.MEASURED for each in self.trials)
        others = len(self.trials) - count
        while count < self.most and others < _OTHERS * self.most:
            candidate = ranking.next(self.trials, tried)
            if candidate is None:
                return True
            tried.add(candidate)
            kind = self.subject.kind(candidate)
            if kind in kinds:
                continue
            if self.left <= 0:
                return False
            kinds.add(kind)
            trial = self._try(candidate, ranking.estimate(candidate))
            if trial is None:
                return False
            count += trial.state is State.MEASURED
            others += trial.state is not State.MEASURED
            self.trials.append(trial)
            self._tell(trial)
        return True

    def _tell(self, trial: Trial) -> None:
        self._keep(False)
        for each in observers:
            each.tried(self.subject.name, trial)

    def _try(self, candidate: Candidate, estimate: float) -> Trial | None:
        """Compile, run, compare and measure a candidate; None where the deadline stopped it."""
        state, reason = State.FAILED, ""
        late = getattr(self.subject, "compiles_s", 0.0)
        patience = max(_PATIENCE * self.plain_s, _LEAST_S) + late
        try:
            self.subject.prepare(candidate)
            once = self._run(candidate, max(min(self.left, patience), 0.05))
            reason = self._difference()
            if not reason:
                return self._timed(candidate, estimate, once)
            state = State.WRONG
        except Stuck:
            raise
        except Overran as error:
            if self.left <= 0 and not reason:
                self.saved.restore(whole=True)
                return None
            state, reason = State.STOPPED, str(error)
        except Exception as error:  # a kernel may raise any
            reason = _line(error)
        self.saved.restore(whole=True)
        return Trial(candidate, state, math.inf, reason, estimate)

    def _holds(self, candidate: Candidate) -> bool:
        """Whether a candidate that a table has gives the plain schedule's results here."""
        try:
            self.subject.prepare(candidate)
            self._run(candidate, max(self.left, 0.05))
        except Stuck:
            raise
        except GridlaneError as error:
            handled(error)
            self.saved.restore(whole=True)
            return False
        right = not self._difference()
        self.saved.restore(whole=not right)
        return right

    def _run(self, candidate: Candidate, limit: float) -> float:
        """Run once on the saved values; the seconds.

        Raises:
            Overran: it was stopped.
            Stuck: it does not end, and cannot be stopped.
        """
        self.saved.restore()
        stream = self.device.default_stream
        stream.synchronize()
        begin = time.monotonic()

        def run() -> None:
            self.subject.launch(candidate)
            stream.synchronize()

        if can_stop(self.device):
            with limited(self.device, limit):
                run()
        else:
            self._wait(candidate, run, limit)
        return time.monotonic() - begin

    def _wait(self, candidate: Candidate, run: Callable[[], None], limit: float) -> None:
        """Wait for a candidate's first run. Meanwhile it is kept as one that does not end, for a
        process that has to be killed."""
        self.marked.add(candidate)
        limit = max(limit, _STUCK_S)
        mark = Trial(candidate, State.STOPPED, math.inf, "its process was ended while it ran")
        if candidate != self.space.plain:
            self._keep(False, mark)
        if not waited(run, self.device, limit):
            self.stuck = True
            raise Stuck(
                f"tune: {self.subject.name} with {candidate} has not ended within {limit:.3g} s, "
                f"and {self.device.name} cannot stop it: end this process. A later tuning passes "
                "it over; `gridlane tune` starts such a program again"
            )

    def _difference(self) -> str:
        """How the arrays differ from those of the plain schedule; "" if they do not."""
        for wanted, got in zip(self.wanted, self.saved.contents(), strict=True):
            reason = differs(wanted, got, self.tolerance)
            if reason:
                return f"results are not those of the plain schedule: {reason}"
        return ""

    def _timed(self, candidate: Candidate, estimate: float, once: float = 0.0) -> Trial:
        """Measure a candidate whose results are right."""
        best = min([each.milliseconds for each in self.trials], default=math.inf)
        seconds = min(_SAMPLE_S, max(self.left, 0.0) / 4)
        if once * 1000 > _SLOW * best + 5:
            seconds = 0.0
        samples = self._samples(candidate, seconds)
        if not samples:
            raise TuningError(
                f"tune: every time of {self.subject.name} with {candidate} is NaN, infinite or "
                f"negative by the clock of {self.device.name}"
            )
        self.samples[candidate] = samples
        return self._trial(candidate, estimate)

    def _samples(self, candidate: Candidate, seconds: float, most: int = 30) -> list[float]:
        """The times of launches, without those that no clock measures."""
        call: Callable[[], None] = partial(self.subject.launch, candidate)
        with limited(self.device, max(self.left, 0.0) + _LEAST_S):
            samples = sampled(call, seconds, self.saved.restore, self.clear, most)
        return [each for each in samples if 0 <= each < math.inf]

    def _trial(self, candidate: Candidate, estimate: float) -> Trial:
        return Trial(candidate, State.MEASURED, typical(self.samples[candidate]), "", estimate)

    def _final(self) -> None:
        """Measure the fastest again, in turn, so that none has the quieter moment."""
        least = {each: self._least(each) for each in self.trials}
        order = sorted(self.trials, key=lambda each: least[each])
        close = [each for each in order if least[each] <= _CLOSE * least[order[0]]][:_FINALISTS]
        if len(close) < 2:
            return
        seconds = min(_SAMPLE_S * len(close), self.left / 2) / (_ROUNDS * len(close))
        for _ in range(_ROUNDS):
            for each in close:
                if self.left > 0:
                    new = self._samples(each.candidate, seconds, 5)
                    self.samples[each.candidate] = self.samples.get(each.candidate, []) + new
        for each in close:
            if self.samples.get(each.candidate):
                place = self.trials.index(each)
                self.trials[place] = self._trial(each.candidate, each.estimate)

    def _least(self, trial: Trial) -> float:
        """The least time of a trial: others may have had a busy moment."""
        return min(self.samples.get(trial.candidate, [trial.milliseconds]))


def typical(samples: Sequence[float]) -> float:
    """The time of a launch that nothing disturbs: more than a tenth of all take no longer.

    >>> typical([5.0, 3.0, 9.0])
    3.0
    """
    return max(sorted(samples)[len(samples) // 10], 1e-6)


def _line(error: BaseException) -> str:
    """The line of an error that has its reason."""
    lines = str(error).splitlines() or [type(error).__name__]
    return lines[0] or type(error).__name__
