"""Random sequences of calls under sanitizers: few of them; ``python -m tests.abi.sequences`` runs
more."""

import pytest
from tests.abi.sequences.running import built, run, sanitizers

pytestmark = pytest.mark.skipif(not sanitizers(), reason="gcc's AddressSanitizer is not installed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return built(tmp_path_factory.mktemp("sequences"))


def test_a_sequence(folder):
    found = run(folder, 7, 500, 300)
    assert found.total() > 500 and found[0] > 50 and len(found) > 10


# In these the sequence itself used memory that it had freed: it registered what a context's end
# freed, and it launched a graph whose copy had an end that lived for one call.
@pytest.mark.parametrize("seed, calls", [(699193935, 600), (233824711, 2500)])
def test_a_sequence_uses_no_memory_that_it_freed(seed, calls, folder):
    assert run(folder, seed, calls, 300).total() > calls
