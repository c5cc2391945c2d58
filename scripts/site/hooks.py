"""What a build of the site adds to docs/: the API reference, and the files that pages link to.

A link to a file outside of docs/ works on a forge. On the site it leads to a page with that file.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "src")]

import reference

from gridlane.core.version import VERSION

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<=\]\()((?:\.\./)+)([^)#\s]+)((?:#[^)\s]*)?)(?=\))")
KINDS = {".py": "python", ".c": "c", ".h": "c", ".sh": "bash", ".toml": "toml", ".html": "html"}


def on_config(config: Any) -> Any:
    """Show the version at the foot of each page, and link the forge where its address is set."""
    config.copyright = f"gridlane {VERSION}, MIT licence"
    config.repo_url = config.repo_url or None
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for name, text in reference.pages().items():
        files.append(File.generated(config, f"reference/{name}.md", content=text))
    for path in sorted(linked(ROOT / "docs")):
        files.append(File.generated(config, f"{page_of(path)}", content=source_page(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links that leave docs/ to the pages of sources."""
    folder = posixpath.dirname(page.file.src_uri)
    if folder.startswith(("source", "reference")):
        return markdown

    def local(match: re.Match[str]) -> str:
        target = outside(ROOT / "docs" / folder, match)
        return match[0] if target is None else page_of(target) + match[3]

    return LINK.sub(local, markdown)


def linked(folder: Path) -> set[str]:
    """The files outside of docs/ that its pages link to, by their path in the repository."""
    found = (
        outside(page.parent, match)
        for page in folder.rglob("*.md")
        for match in LINK.finditer(page.read_text())
    )
    return {path for path in found if path is not None}


def outside(folder: Path, match: re.Match[str]) -> str | None:
    """The path in the repository that a link means, or None if it is a page of docs/."""
    path = (folder / (match[1] + match[2])).resolve().relative_to(ROOT)
    return None if path.parts[:1] == ("docs",) else path.as_posix()


def page_of(path: str) -> str:
    return "source/" + path.removesuffix(".md").rstrip("/").replace("/", "-") + ".md"


def source_page(path: str) -> str:
    """A page with a file's text: Markdown as it is but for its links, code in a fence."""
    file = ROOT / path
    hidden = "---\nsearch:\n  exclude: true\n---\n\n"
    if file.is_dir():
        names = sorted(each.name for each in file.iterdir() if not each.name.startswith("_"))
        return f"{hidden}# {path}\n\n" + "\n".join(f"- `{name}`" for name in names) + "\n"
    if file.suffix == ".md":
        # A room's links lead to its own files, which the site does not have.
        return hidden + re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", file.read_text())
    return f"{hidden}# {path}\n\n````{KINDS.get(file.suffix, 'text')}\n{file.read_text()}````\n"
