"""A kernel whose times are made up: the clock is the test's."""

from __future__ import annotations

import hashlib

import numpy as np

from gridlane.tuning import search


class Made:
    """Candidates that write what ``results`` says, and take the time that ``times`` says."""

    shapes, fastmath, outputs = "made up", False, frozenset()

    def __init__(self, times, results=None, name="made", estimate=None, text="text"):
        self.times, self.results = times, results or (lambda candidate: 1)
        self.name, self.source = name, hashlib.sha256(text.encode()).digest()
        self.array = np.zeros(4, np.int64)
        self.arrays = [self.array]
        self.launched, self.prepared = [], []
        self._estimate = estimate or (lambda candidate: 1.0)

    def prepare(self, candidate):
        self.prepared.append(candidate)

    def launch(self, candidate):
        self.launched.append(candidate)
        self.array += self.results(candidate)

    def estimate(self, candidate):
        return self._estimate(candidate)

    def kind(self, candidate):
        return candidate.values


def clock(monkeypatch, subject):
    """Measure a made-up kernel by its own times."""

    def sampled(call, seconds, before, clear, most=30):
        before()
        call()
        return [float(subject.times(subject.launched[-1]))]

    monkeypatch.setattr(search, "sampled", sampled)
    return subject
