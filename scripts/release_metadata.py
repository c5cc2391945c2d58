"""Write into a checkout where it is published, before a release is built from it.

    python scripts/release_metadata.py https://example.org/owner/gridlane v0.1.0

pyproject.toml gets its ``project.urls``. The links and pictures of README.md, which are paths in
the checkout, lead to the forge at that tag, as PyPI shows the page elsewhere. The workflow of
releases knows the address of the forge; the checkout does not.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)(\[[^\]\n]*\])\((?!https?:|#)([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```|^ {4}[^\n]*$|`[^`\n]*`)", re.M | re.S)
PAGES = {
    "Documentation": "blob/{ref}/docs/index.md",
    "Source": "tree/{ref}",
    "Changelog": "blob/{ref}/CHANGELOG.md",
    "Issues": "issues",
}


def urls(address: str, ref: str) -> str:
    """The table of pyproject.toml, for a forge whose paths are as GitHub's."""
    lines = [f'{name} = "{address}/{path.format(ref=ref)}"' for name, path in PAGES.items()]
    return "\n".join(["", "[project.urls]", *lines, ""])


def with_addresses(text: str, address: str, ref: str) -> str:
    """A page whose links are paths in the checkout, with addresses in their place."""

    def lead(found: re.Match[str]) -> str:
        kind = "raw" if found[1] else "blob"
        return f"{found[1]}{found[2]}({address}/{kind}/{ref}/{found[3]})"

    parts = CODE.split(text)  # code is at the odd places
    parts[::2] = [LINK.sub(lead, part) for part in parts[::2]]
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("address", help="of the project on its forge")
    parser.add_argument("ref", help="the tag, or another name of the commit")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout")
    given = parser.parse_args()
    address = given.address.rstrip("/")
    if not re.fullmatch(r"https://[\w.:/~-]+", address) or not re.fullmatch(r"[\w./-]+", given.ref):
        sys.exit(f"{address!r} is no address of a forge, or {given.ref!r} no name of a commit")
    project, readme = given.root / "pyproject.toml", given.root / "README.md"
    if "[project.urls]" in project.read_text():
        sys.exit(f"{project} has its project.urls already")
    project.write_text(project.read_text() + urls(address, given.ref))
    readme.write_text(with_addresses(readme.read_text(), address, given.ref))


if __name__ == "__main__":
    main()
