"""The workloads of TileOPs: how the manifest is read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from benchmarks.tileops.manifest import FAMILIES, Workload, workloads  # noqa: E402

MANIFEST = """# ours
OneFwdOp:
  status: implemented

  workloads:
  # a comment
  - {m: 9, n: 64, scale: -0.5, turned: false, dtypes: [float16, bfloat16], label: "one-9"}
  - {shape: [1, 2],
     eps: 1e-5, label: 3-d}
  - shape: [4, 5]  # another
    label: "block"

  roofline:
    vars:
      m: "9"
TwoOp:
    workloads:
    - {m: 1, other: null, label: x}
"""


def test_workloads_are_read(tmp_path) -> None:
    for family in FAMILIES:
        (tmp_path / f"{family}.yaml").write_text(MANIFEST if family == "bmm" else "")
    one, two, three, four = workloads(tmp_path)
    assert one == Workload(
        "OneFwdOp",
        {
            "m": 9, "n": 64, "scale": -0.5, "turned": False, "dtypes": ["float16", "bfloat16"],
            "label": "one-9",
        },
    )  # fmt: skip
    assert one.name == "OneFwd one-9"
    assert two.words == {"shape": [1, 2], "eps": 1e-5, "label": "3-d"}
    assert three.words == {"shape": [4, 5], "label": "block"}
    assert four == Workload("TwoOp", {"m": 1, "other": None, "label": "x"})


def test_a_folder_without_a_manifest(tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match="no manifest"):
        workloads(tmp_path)


def test_windows_end_at_their_query() -> None:
    pytest.importorskip("torch", reason="torch's attention")
    from benchmarks.tileops.attention import _mask

    assert _mask(2, 4, 1, True).tolist() == [[False, True, True, False], [False, False, True, True]]
    assert _mask(2, 4, 9, True).tolist() == [[True, True, True, False], [True] * 4]
