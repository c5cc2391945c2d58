"""What is released: workflows that GitHub accepts, and a source distribution that has it all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WORKFLOWS = ROOT / ".github" / "workflows"


@pytest.mark.skipif(not WORKFLOWS.exists(), reason="a source distribution has no workflows")
def test_workflows_follow_their_schema():
    files = sorted(map(str, WORKFLOWS.glob("*.yml")))
    assert files
    check = [sys.executable, "-m", "check_jsonschema"]
    done = subprocess.run(
        [*check, "--builtin-schema", "vendor.github-workflows", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_every_file_is_in_the_source_distribution():
    """Files that MANIFEST.in and the packages leave out are named here."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    grafted = tuple(
        f"{line.split()[1]}/"
        for line in (ROOT / "MANIFEST.in").read_text().splitlines()
        if line.startswith("graft ")
    )
    included = {
        name
        for line in (ROOT / "MANIFEST.in").read_text().splitlines()
        if line.startswith("include ")
        for name in line.split()[1:]
    }
    always = {"README.md", "LICENSE", "pyproject.toml", "MANIFEST.in"}
    left_out = [
        name
        for name in listed
        if not name.startswith(("src/", ".github/", *grafted)) and name not in included | always
    ]
    assert left_out == [".gitignore"]
