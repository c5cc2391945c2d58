"""Run numba-cuda's own tests in the dialect, and write what came of them:
``python -m tests.peers.clients.dialect_suite --out docs/numba-dialect-suite.md``.

Each module has a process of its own, ``gridlane run -m unittest -v MODULE``, and a limit of time.
The interpreter's environment has numba-cuda, pytest, cffi, scipy, psutil and NVIDIA's bindings.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tests.peers.clients.dialect_reasons import REASONS

FOLDERS = "cudapy", "cudadrv", "nocuda", "doc_examples"
_ENDED = re.compile(r"\.\.\. (ok|FAIL|ERROR|skipped|expected failure|unexpected success)")
_ALONE = re.compile(r"ok|FAIL|ERROR")
_TEXT = """# numba-cuda's own tests in the dialect

`python -m tests.peers.clients.dialect_suite --out docs/numba-dialect-suite.md` writes this page;
last on {date}. The tests of numba-cuda 0.30.4 run unmodified by `gridlane run -m unittest`, on the
device `{device}`. [The same tests with numba-cuda itself on gridlane's libcuda](numba-suite.md) are
another page.

**{passed} tests pass** of {defined} that the modules define. One test of libdevice makes {made}
more, one for each name, of which {made_passed} pass. Modules that crashed or ran out of time:
{ended}. A test passes if unittest prints `ok`; sub-tests do not count.

## Failures and their reasons

| module | defined | pass | skipped | reason |
|---|--:|--:|--:|---|
"""
_MADE = "cudapy.test_libdevice"
"""Its one test makes one for each name."""


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--raw", type=Path, help="counts by module; its modules are not run again")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--limit", type=int, default=120, help="seconds for a module")
    given = parser.parse_args()
    rows = json.loads(given.raw.read_text()) if given.raw and given.raw.exists() else {}
    for name, path in modules().items():
        if name not in rows:
            rows[name] = run(name, path, given.device, given.limit)
            print(name, rows[name], flush=True)
            if given.raw:
                given.raw.write_text(json.dumps(rows, indent=1))
    if given.out:
        given.out.write_text(page(rows, given.device))


def modules() -> dict[str, Path]:
    """The modules of the suite: ``cudapy.test_sm`` and its file."""
    told = "import numba_cuda; print(numba_cuda.__path__[0])"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    root = Path(found.stdout.strip()) / "numba" / "cuda" / "tests"
    return {
        f"{folder}.{each.stem}": each
        for folder in FOLDERS
        for each in sorted(root.glob(f"{folder}/test_*.py"))
    }


def run(name: str, path: Path, device: str, limit: int) -> dict[str, int]:
    """The counts of a module, by unittest's words, with the tests that its text defines."""
    command = [sys.executable, "-m", "gridlane", "run", "--device", device, "-m", "unittest", "-v"]
    counts: Counter[str] = Counter()
    try:
        made = subprocess.run(
            [*command, f"numba.cuda.tests.{name}"], capture_output=True, text=True, timeout=limit
        )
        text = made.stderr + made.stdout
        counts["ended"] = int(made.returncode < 0)
    except subprocess.TimeoutExpired as error:
        text = error.stderr.decode(errors="replace") if isinstance(error.stderr, bytes) else ""
        counts["ended"] = 1
    for line in text.splitlines():
        found = _ENDED.search(line)
        if found or _ALONE.fullmatch(line.strip()):
            counts[found[1] if found else line.strip()] += 1
    counts["defined"] = len(re.findall(r"^\s+def test\w+", path.read_text(), re.MULTILINE))
    return dict(counts)


def page(rows: dict[str, dict[str, int]], device: str) -> str:
    """The page. A module with failures has its reason in dialect_reasons.py.

    Raises:
        KeyError: a module has none.
    """
    made = rows[_MADE]
    passed = sum(row.get("ok", 0) for name, row in rows.items() if name != _MADE)
    text = _TEXT.format(
        date=datetime.date.today(),
        device=device,
        passed=passed,
        defined=sum(row["defined"] for row in rows.values()),
        made=sum(made.get(each, 0) for each in ("ok", "FAIL", "ERROR")),
        made_passed=made.get("ok", 0),
        ended=sum(row.get("ended", 0) for row in rows.values()),
    )
    lines: list[str] = []
    for name, row in rows.items():
        good = sum(row.get(each, 0) for each in ("ok", "skipped", "expected failure"))
        if good >= row["defined"]:
            continue
        cells = (row["defined"], row.get("ok", 0), row.get("skipped", 0))
        lines.append(f"| {name} | {' | '.join(map(str, cells))} | {REASONS[name]} |")
    return text + "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
