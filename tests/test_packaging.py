"""What is released: workflows that GitHub accepts, and a source distribution that has it all."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
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
    always = {"README.md", "LICENSE", "pyproject.toml", "setup.py", "MANIFEST.in"}
    left_out = [
        name
        for name in listed
        if not name.startswith(("src/", ".github/", *grafted)) and name not in included | always
    ]
    assert left_out == [".gitignore"]


EXTENSIONS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"][
    "ext-modules"
]


@pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda each: each["name"])
def test_an_extension_is_built_again_when_its_headers_change(extension):
    """It depends on the headers that its sources include, and these in turn, and on no other."""
    waiting, headers = [ROOT / name for name in extension["sources"]], set()
    while waiting:
        file = waiting.pop()
        for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', file.read_text(), re.M):
            header = (file.parent / name).resolve()
            if header not in headers:
                headers.add(header)
                waiting.append(header)
    listed = extension.get("depends", [])
    assert sorted(listed) == sorted(str(each.relative_to(ROOT)) for each in headers)
    assert all((ROOT / name).exists() for name in extension["sources"])


def test_what_a_release_says_of_its_forge(tmp_path):
    """The addresses of pyproject.toml, and README's links, name files of the checkout."""
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path)
    script = [
        sys.executable,
        str(ROOT / "scripts" / "release_metadata.py"),
        "--root",
        str(tmp_path),
    ]
    forge = "https://forge.example/some/gridlane"
    subprocess.run([*script, f"{forge}/", "v0.1.0"], check=True)
    urls = tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["urls"]
    assert urls["Source"] == f"{forge}/tree/v0.1.0" and urls["Issues"] == f"{forge}/issues"
    text, code = (tmp_path / "README.md").read_text(), "add[4, 256](x, y, out)"
    assert code in text
    links = re.findall(r"\]\(([^)\s]+)\)", text.replace(code, ""))
    assert len(links) > 20
    for link in [*links, urls["Changelog"], urls["Documentation"]]:
        raw = link.endswith((".png", ".jpg", ".svg"))
        place = f"{forge}/{'raw' if raw else 'blob'}/v0.1.0/"
        assert link.startswith(place) and (ROOT / link.removeprefix(place)).exists(), link
    for wrong in ([forge, "v0.1.0"], ["git@forge.example:gridlane", "v0.1.0"], [forge, "a b"]):
        assert subprocess.run([*script, *wrong], capture_output=True).returncode == 1
