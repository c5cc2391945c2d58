"""The counters of a runtime in Prometheus' text, by its own client library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gridlane.actors.errors import ActorError
from gridlane.actors.layouts.blocks import Latencies
from gridlane.actors.local.home import Home
from gridlane.actors.values.latencies import ENDS, NAMES, Latency, read_latencies

COUNTERS = {
    "received": "Messages that the actor has handled.",
    "emitted": "Messages that it has emitted.",
    "failed": "Messages whose handler failed.",
    "dead": "Messages for it that are dead letters.",
    "restarts": "Restarts after failures.",
}
GAUGES = {
    "waiting": "Messages in its inbox.",
    "unread": "Replies in its outbox.",
    "inbox_high": "The most messages that its inbox held at once.",
    "outbox_high": "The most replies that its outbox held at once.",
}
RUNTIME = {
    "dead": ("gauge", "dead_letters", "Dead letters that are kept."),
    "dead_lost": ("counter", "lost_letters", "Dead letters dropped, as there were too many."),
    "dead_total": ("counter", "buried_letters", "Dead letters so far."),
}
"""Facts of the engine: their kinds, names and meanings."""
BOUNDS = [n for n in range(24, 120, 8) if n % 4 == 0]
"""The exported buckets: every second power of two, 128 ns to 0.5 s."""


def text_of(home: Home) -> str:
    """The text of all counters.

    Raises:
        ActorError: the client library is not installed.
    """
    try:
        from prometheus_client import CollectorRegistry, generate_latest
    except ImportError:
        raise ActorError(
            "prometheus() needs the package prometheus-client: pip install 'gridlane[metrics]'"
        ) from None
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(home))
    return generate_latest(registry).decode()


class _Collector:
    """Collect the families of metrics for the client library."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def collect(self) -> Iterator[Any]:
        from prometheus_client import core

        kinds = {"counter": core.CounterMetricFamily, "gauge": core.GaugeMetricFamily}
        facts = self._home.engine.facts()
        for fact, (kind, name, meaning) in RUNTIME.items():
            family = kinds[kind](f"gridlane_actors_{name}", meaning, labels=["device"])
            family.add_metric([self._home.device.name], facts[fact])
            yield family
        instances = self._home.directory.all()
        metrics = [(each.name, each.metrics()) for each in instances]
        lattices = [(each.name, each.metrics()) for each in self._home.lattices.all()]
        metrics += lattices
        for table, kind in ((COUNTERS, "counter"), (GAUGES, "gauge")):
            for name, meaning in table.items():
                family = kinds[kind](f"gridlane_actor_{name}", meaning, labels=["actor"])
                for actor, numbers in metrics:
                    family.add_metric([actor], numbers[name])
                yield family
        family = core.CounterMetricFamily(
            "gridlane_lattice_steps",
            "Steps that the lattice has been told to take.",
            labels=["actor"],
        )
        for name, numbers in lattices:
            family.add_metric([name], numbers["steps"])
        yield family
        latencies = [(each.name, read_latencies(each.there.latencies)) for each in instances]
        for name in NAMES:
            meaning = f"Seconds: {Latencies[name].meaning}."
            family = core.HistogramMetricFamily(
                f"gridlane_actor_{name}_seconds", meaning, labels=["actor"]
            )
            for actor, by_name in latencies:
                buckets, total = _buckets(by_name[name])
                family.add_metric([actor], buckets, total)
            yield family


def _buckets(latency: Latency) -> tuple[list[tuple[str, float]], float]:
    """The cumulative counts by their bounds in seconds, and the sum of all times."""
    below = np.cumsum(latency.buckets)
    bounds = [(repr(float(ENDS[n - 1]) * 1e-9), float(below[n - 1])) for n in BOUNDS]
    return [*bounds, ("+Inf", float(latency.count))], latency.mean * latency.count
