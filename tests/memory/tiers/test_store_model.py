"""Random uses of a store, by two writers and a reader, beside a dict."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.effort import examples

from gridlane.memory.tiers import BlockStore, StoreFull

KEYS = st.sampled_from(["a", "b", "c", "d/e", ""])
DATA = st.one_of(
    st.binary(max_size=200), st.integers(0, 5000).map(bytes), st.just(bytes(range(256)) * 12)
)
WRITER = st.integers(0, 1)


class Stores(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.paths = [self.root / "one", (self.root / "two", 40_000)]
        self.model: dict[str, bytes] = {}
        self.writers = [self.open(), self.open()]
        self.reader = BlockStore(self.paths, mode="r")

    def open(self) -> BlockStore:
        return BlockStore(self.paths, segment_bytes=2000)

    @rule(writer=WRITER, key=KEYS, data=DATA)
    def put(self, writer, key, data):
        self.writers[writer].refresh()
        self.writers[writer].put(key, data, itemsize=4)
        self.model[key] = data

    @rule(writer=WRITER, key=KEYS)
    def delete(self, writer, key):
        store = self.writers[writer]
        store.refresh()
        try:
            del store[key]
        except KeyError:
            assert key not in self.model
        else:
            del self.model[key]

    @rule(writer=WRITER, key=KEYS, data=DATA)
    def put_without_a_look_at_the_other(self, writer, key, data):
        self.writers[writer][key] = data
        self.model[key] = data

    @rule(writer=WRITER, least=st.sampled_from([0.0, 0.3, 0.9]))
    def compact(self, writer, least):
        self.writers[writer].compact(least)

    @rule(writer=WRITER)
    def flush(self, writer):
        self.writers[writer].flush()

    @rule(writer=WRITER)
    def reopen(self, writer):
        self.writers[writer].close()
        self.writers[writer] = self.open()
        assert self.writers[writer].statistics().torn == 0

    @rule(writer=WRITER)
    def end_without_close(self, writer):
        """What a killed process leaves: its locks are free, its files stay."""
        store = self.writers[writer]
        store._log.release()
        self.writers[writer] = self.open()
        store._ended = "killed"
        assert len(list(self.root.glob("*/*.keeps"))) == 4

    @rule()
    def reopen_the_reader(self):
        self.reader.close()
        self.reader = BlockStore(self.paths, mode="r")

    @invariant()
    def all_see_the_same(self):
        for each in (*self.writers, self.reader):
            each.refresh()
            assert dict(each) == self.model
            facts = each.statistics()
            assert facts.bytes == sum(map(len, self.model.values())) and not facts.lost

    def teardown(self):
        for each in (*self.writers, self.reader):
            each.close()
        with BlockStore(self.paths) as store:
            assert dict(store) == self.model
            store.compact()
            facts = store.statistics()
            assert facts.dead <= 200 * facts.files + 400, "only notes of flushes are left"
        shutil.rmtree(self.root)


class Spills(RuleBasedStateMachine):
    """A temporary store with a quota."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.store = BlockStore((self.root, 20_000), temporary=True)
        self.model: dict[str, bytes] = {}

    @rule(key=KEYS, data=st.binary(max_size=3000).map(lambda data: data * 2))
    def put(self, key, data):
        try:
            self.store[key] = data
        except StoreFull:
            live = sum(map(len, self.model.values()))
            assert live + len(data) > 20_000 * 0.8 - 2 * 1250 - 6000
        else:
            self.model[key] = data

    @rule(key=KEYS)
    def delete(self, key):
        assert (self.model.pop(key, None) is None) == (self.store.pop(key, None) is None)

    @invariant()
    def equal(self):
        assert dict(self.store) == self.model
        assert sum(each.stat().st_size for each in self.root.glob("*.spill")) <= 20_000

    def teardown(self):
        self.store.close()
        assert list(self.root.iterdir()) == []
        self.root.rmdir()


TestStores = Stores.TestCase
TestStores.settings = settings(
    max_examples=examples(25, 1000), stateful_step_count=30, deadline=None
)
TestSpills = Spills.TestCase
TestSpills.settings = settings(
    max_examples=examples(25, 1000), stateful_step_count=30, deadline=None
)
