"""Settings of all tests."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from hypothesis import settings
from tests import stubs
from tests.effort import NIGHTLY, alternatives, by_day

# In CI the random cases are the same at every run, so that a change is judged by what it changes;
# everywhere else each run tries new ones (`make fuzz` and the nightly run many).
settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") and not NIGHTLY else "local")


# Mesa's compilers take a fifth of the time of all tests. By day they leave out the passes of LLVM:
# what is under test is the shader that they are given.
if not NIGHTLY:
    os.environ.setdefault("GALLIVM_PERF", "nopt")

# The tests make millions of ops that live as long as the run: looking through them again and again
# took a fifth of the time.
gc.set_threshold(100_000, 50, 100)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let a crash print the stack of its own thread: of all threads, of which a run has hundreds,
    100 are printed, and that one is not among them. Let interrupts interrupt: a shell ignores them
    for what it starts in the background, and so would the programs of the tests. Write the types
    that a build writes, once for all workers."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    file = config.stash.get(fault_handler_stderr_fd_key, None)
    if file is not None:
        faulthandler.enable(file, all_threads=False)
    if not hasattr(config, "workerinput"):
        stubs.write()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--ptx`` runs the kernels of other compilers and programs of other projects, which it
    installs: tests/peers/corpus and tests/peers/clients."""
    parser.addoption("--ptx", action="store_true", help="run tests/peers/corpus and clients too")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what installs other packages unless it is asked for."""
    peers = Path(__file__).parent / "peers"
    installs = collection_path in (peers / "corpus", peers / "clients")
    return True if installs and not config.getoption("--ptx") else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all but one of some alternatives to the night, as ``tests/effort.py`` says.

    Raises:
        UsageError: a test's name has an address, so that workers would have other names for it.
    """
    for item in items:
        if " at 0x" in item.nodeid:
            raise pytest.UsageError(f"give ids to a test with an address: {item.nodeid}")
    tests: dict[tuple[str, Sequence[str]], dict[str, list[pytest.Item]]] = {}
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        params = getattr(item, "callspec", None)
        values = () if params is None else params.params.values()
        for usual in alternatives(folder):
            names = [each for each in values if isinstance(each, str) and each in usual]
            if len(names) == 1:
                test = item.nodeid.replace(names[0], "*")
                tests.setdefault((test, usual), {}).setdefault(names[0], []).append(item)
    for (test, usual), by_name in tests.items():
        by_name.pop(by_day(test, by_name, usual))
        for item in (each for rest in by_name.values() for each in rest):
            item.add_marker(pytest.mark.nightly)


@pytest.fixture(scope="module", autouse=True)
def _young_heap() -> None:
    """Leave what is alive before a file's tests out of garbage collection: many tests ask for one,
    to see that nothing is left of what they made, and a run's heap is large."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _first_device() -> Iterator[None]:
    """What a test chooses is its own."""
    yield
    if "gridlane.launch.current" in sys.modules:
        sys.modules["gridlane.launch.current"].choose(None)
