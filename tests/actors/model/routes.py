"""The table of routes: engine/routes.c, and quiet() and free_routes() of engine_object.c.

Two tables of one place each. A reader looks for the name ``a``, which nobody has, or for ``c``.
The writer adds ``c`` to the first table, replaces that by the second, and frees the first when no
step can read it.
"""

from __future__ import annotations

from typing import Any

from tests.actors.model.checker import BLOCKED, Memory, Model, Order, Process, View, step

MEMORY: Memory = {
    "table": 1,
    "key1": None,
    "actor1": None,
    "freed1": False,
    "key2": None,
    "actor2": None,
    "inside": 0,
    "wrong": None,
}


def reader(wanted: str, change: str, steps: int) -> Process:
    """A worker: a step in which gl_find_route looks for a name."""

    @step("workers.c work", "enters a step (inside is odd)")
    def enter(s: View) -> Any:
        if s["steps"] == steps:
            return None
        s["steps"] += 1
        if change == "enters a step without a fence":
            s.store("inside", s.load("inside") + 1)
        else:
            s.add("inside", 1)
        return table

    @step("routes.c gl_find_route", "loads the table (acquire)")
    def table(s: View) -> Any:
        s["table"] = s.load("table")
        return key

    @step("routes.c place_of", "loads the key of a place (acquire)")
    def key(s: View) -> Any:
        if s["table"] == 1 and s.see("freed1"):
            s.note("wrong", "a step reads a table that is freed")
        s["key"] = s.load(f"key{s['table']}")
        if s["key"] is None and change != "takes the actor of a place without a key":
            return leave  # nobody has the name
        return actor if s["key"] in (wanted, None) else leave

    @step("routes.c gl_find_route", "loads the actor of the place (acquire)")
    def actor(s: View) -> Any:
        found = s.load(f"actor{s['table']}")
        if found is not None and found != wanted:
            s.note("wrong", f"the name {wanted} leads to the actor {found}")
        if found is None and s["key"] == wanted:
            s.note("wrong", f"the name {wanted} is there, and leads to nobody")
        return leave

    @step("workers.c work", "leaves the step (inside is even)")
    def leave(s: View) -> Any:
        s.add("inside", 1)
        return enter

    return Process("worker", enter, {"table": 0, "key": None, "steps": 0})


def writer(change: str) -> Process:
    """gl_set_route by the thread that has the directory's lock."""
    key_first = change == "writes the key before the actor"

    @step("routes.c put", "stores the actor (release)")
    def actor(s: View) -> Any:
        s.store("actor1", "c", release=True)
        return copy if key_first else key

    @step("routes.c put", "stores the key (release)")
    def key(s: View) -> Any:
        s.store("key1", "c", release=True)
        return actor if key_first else copy

    @step("routes.c gl_set_route", "fills a larger copy")
    def copy(s: View) -> Any:
        s.store("actor2", "c")
        s.store("key2", "c", release=True)
        return replace

    @step("routes.c gl_set_route", "replaces the table (release)")
    def replace(s: View) -> Any:
        s.store("table", 2, release=True)
        return free if change == "frees without quiet()" else fence

    @step("engine_object.c Engine_quiet", "passes its fence")
    def fence(s: View) -> Any:
        if change != "no fence in quiet()":
            s.fence()
        return look

    @step("engine_object.c Engine_quiet", "notes which step the worker is in")
    def look(s: View) -> Any:
        s["seen"] = s.load("inside")
        return wait if s["seen"] % 2 else free

    @step("engine_object.c Engine_quiet", "waits until the worker has left that step")
    def wait(s: View) -> Any:
        return BLOCKED if s.load("inside") == s["seen"] else free

    @step("engine_object.c Engine_free_routes", "frees the first table")
    def free(s: View) -> Any:
        s.fence()
        s.note("freed1", True)
        return None

    return Process("writer", key if key_first else actor, {"seen": 0})


def routes(wanted: str = "a", change: str = "", order: Order = "tso") -> Model:
    """A worker that looks for a name in two steps, while the table changes."""
    made = [reader(wanted, change, 2), writer(change)]
    return Model(MEMORY, made, lambda memory: memory["wrong"], order=order)
