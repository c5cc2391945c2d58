"""Two frontends, one meaning: numba's PTX by frontends/ptx, and the same source by
frontends/python, both on the interpreter.

Their results are the same bits; of functions that are not exact, within the sum of both bounds; or
a row of docs/dialect.md says why not.
"""

from __future__ import annotations

from concurrent.futures import Executor
from functools import cache

from tests.peers.numba_ptx import answers_of_ptx
from tests.peers.record_values import CHUNK, RAISES
from tests.peers.test_values import Findings, is_refused, judge
from tests.peers.values import Fact, answers, grouped, recorded


@cache
def kernels() -> list[list[Fact]]:
    """All expressions for all types of operands, of those that may raise one for each kernel: it
    ends the thread."""
    facts = [fact for fact in recorded() if not is_refused(fact)]
    quiet = [fact for fact in facts if not RAISES.search(fact.expression)]
    return [*grouped(quiet, CHUNK), *([fact] for fact in facts if RAISES.search(fact.expression))]


def compare(numba: Executor, some: list[list[Fact]]) -> Findings:
    """Compare the results of some kernels."""
    found = Findings(0, 0, {}, [])
    for facts in some:
        theirs = answers_of_ptx(numba, facts)
        for fact, made, ours in zip(facts, theirs, answers("interp", facts), strict=True):
            judge("interp", Fact(fact.expression, fact.kinds, made, fact.stored), ours, found)
    return found
