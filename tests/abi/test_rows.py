"""Each function of a family that is done is there, or says why it is not."""

from __future__ import annotations

import pytest

from gridlane.abi.calls.registry import calls
from gridlane.core.cuda_table.functions import functions

DONE = "arrays", "peers", "pointers", "pools", "stream memory", "tensor maps", "textures"


@pytest.mark.parametrize("api", ["driver", "runtime"])
def test_no_function_is_forgotten(api):
    rows = functions(api)
    known = calls(api)
    of_these = [name for name, row in rows.items() if row.family in DONE]
    assert of_these
    assert [name for name in of_these if (name in known) == bool(rows[name].refused)] == []
