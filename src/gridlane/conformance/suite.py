"""All cases, and those that targets refuse, with the words of the refusal."""

from __future__ import annotations

import re
from functools import cache

from gridlane.backends import backend
from gridlane.conformance.cases import Case, arithmetic
from gridlane.conformance.effects import effects
from gridlane.conformance.fragments import fragments
from gridlane.core.frozen import frozen


@cache
def cases() -> tuple[Case, ...]:
    """Every op over every type that it accepts, but the inexact functions."""
    return (*arithmetic(), *effects(), *fragments())


@frozen
class Lack:
    """A refusal of a target.

    Attributes:
        labels: a pattern of the labels of the cases of the op; by default all.
        says: words of the message, which names the op and the target as well.
    """

    target: str
    op: str
    says: str
    labels: str = ".*"


def lacks(target: str) -> tuple[Lack, ...]:
    """All refusals of a target, from its record."""
    record = backend(target)
    return (
        *(Lack(target, op, reason) for op, reason in record.reasons.items()),
        *(Lack(target, op, says, labels) for op, labels, says in record.refused),
    )


def lack(case: Case, target: str) -> Lack | None:
    """The refusal of a case, or None where the target must support it."""
    applicable = [
        each
        for each in lacks(target)
        if each.op == case.op and re.fullmatch(each.labels, case.label)
    ]
    return applicable[0] if applicable else None
