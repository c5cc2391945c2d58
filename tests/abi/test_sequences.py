"""Random sequences of calls under sanitizers: few of them; ``python -m tests.abi.sequences`` runs
more."""

import pytest
from tests.abi.sequences.running import built, run, sanitizers


@pytest.mark.skipif(not sanitizers(), reason="gcc's AddressSanitizer is not installed")
def test_a_sequence(tmp_path):
    folder = built(tmp_path)
    found = run(folder, 7, 500, 300)
    assert found.total() > 500 and found[0] > 50 and len(found) > 10
