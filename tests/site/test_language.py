"""The examples of docs/language.md on every device here, and the refusals that they name."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests import programs
from tests.devices import DEVICES

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```python\n(.*?)^```", (ROOT / "docs" / "language.md").read_text(), re.M | re.S
)
# One process a device: most of the time would else be their starts.
RUN_ALL = """
import runpy, sys, traceback
from pathlib import Path
from gridlane import cuda
from gridlane.core.errors import GridlaneError
for path in sorted(Path().glob("block*.py")):
    try:
        runpy.run_path(str(path))
        cuda.synchronize()
    except GridlaneError as error:
        print(path.stem, "REFUSED", str(error).partition("\\n")[0])
    except Exception:
        print(path.stem, "FAILED", traceback.format_exc())
    else:
        print(path.stem, "RIGHT")
"""


@pytest.mark.parametrize("device", [*DEVICES, "interp"])
def test_examples(device: str, tmp_path: Path) -> None:
    refused = set()
    for number, block in enumerate(BLOCKS):
        (tmp_path / f"block{number:02}.py").write_text(block)
        named = re.match(r"# refused on: (.*)\n", block)
        if named and device in named[1].split(", "):
            refused.add(f"block{number:02}")
    (tmp_path / "all.py").write_text(RUN_ALL)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "GRIDLANE_DEVICE": device}
    done = programs.run(["-m", "gridlane", "run", "all.py"], tmp_path, environment)
    verdicts = dict(re.findall(r"^(block\d+) (RIGHT|REFUSED|FAILED)", done.stdout, re.M))
    expected = {f"block{number:02}": "RIGHT" for number in range(len(BLOCKS))}
    assert verdicts == expected | dict.fromkeys(refused, "REFUSED"), done.stdout + done.stderr


def test_there_are_examples() -> None:
    assert len(BLOCKS) > 15
