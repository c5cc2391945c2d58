"""The folder of this user's running programs: shared inboxes, and published actors."""

from __future__ import annotations

import os
import stat
import warnings
from contextlib import suppress
from pathlib import Path

from gridlane.actors.errors import ActorError


def user_folder() -> Path:
    """The path of the folder."""
    from platformdirs import user_runtime_path  # not needed before

    with warnings.catch_warnings():  # without XDG_RUNTIME_DIR; the folder is verified
        warnings.simplefilter("ignore")
        return user_runtime_path("gridlane", appauthor=False) / "actors"


def verified_folder() -> Path:
    """The folder, created if missing.

    Raises:
        ActorError: it is not this user's alone, or others may write to those around it.
        OSError: it cannot be made.
    """
    path = user_folder()
    for each in (path.parent.parent, path.parent, path):
        with suppress(FileExistsError):
            each.mkdir(mode=0o700, parents=True)
        _verify(each, path)
    return path


def _verify(path: Path, folder: Path) -> None:
    facts = os.lstat(path)
    mode = stat.S_IMODE(facts.st_mode)
    owners = {os.geteuid()} if path != folder.parent.parent else {os.geteuid(), 0}
    private = not mode & (0o077 if path == folder else 0o022)
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid not in owners or not private:
        raise ActorError(
            f"{path} is no folder of this user alone (owner {facts.st_uid}, mode {mode:o}): chmod "
            "700 it, remove it, or set XDG_RUNTIME_DIR to one that is"
        )
