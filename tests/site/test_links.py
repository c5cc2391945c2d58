"""Links of the pages lead somewhere, on a forge as on the site, and the site lists every page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.*)$", without_code(page.read_text()), re.M)
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


def without_code(text: str) -> str:
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return re.sub(r"^ {4}[^\n]*$", "", text, flags=re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", without_code(page.read_text()))
    for target, anchor in LINK.findall(text):
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{page.name} links to {target}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{page.name} links to {target}#{anchor}"


def test_the_site_lists_every_page() -> None:
    listed = set(re.findall(r"([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    assert {page.name for page in (ROOT / "docs").glob("*.md")} <= listed


def test_pictures_are_small() -> None:
    pictures = list((ROOT / "docs" / "pictures").rglob("*.png"))
    assert len(pictures) >= 11 and all(each.stat().st_size < 64_000 for each in pictures)


CONFIG = ROOT / "src" / "gridlane" / "core" / "config.py"
LONGEST = 2500
"""Words of a page that a person wrote: split a longer one, or move internals to docs/design."""
GENERATED = re.compile(r"\b(writes|wrote|draws|prints|made) (this page|the tables? of this page)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_is_long(page: Path) -> None:
    """A generated page says so in its first paragraph."""
    text = page.read_text()
    first = " ".join(text.split("\n\n")[1].split())
    assert GENERATED.search(first) or len(text.split()) <= LONGEST


def test_every_environment_variable_has_a_row() -> None:
    page = (ROOT / "docs" / "environment.md").read_text()
    read = set(re.findall(r'"((?:GRIDLANE|NUMBA)_[A-Z0-9_]+)"', CONFIG.read_text()))
    rows = set(re.findall(r"\b(?:GRIDLANE|NUMBA)_[A-Z0-9_]+", page))
    assert len(read) > 20 and read <= rows, read - rows
