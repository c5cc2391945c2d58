"""Changes of bands of isl's schedules, whose members may be in any order."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl


def same(node: isl.ScheduleNode) -> isl.ScheduleNode:
    return node


def members(node: isl.ScheduleNode) -> int:
    """The members of a band whose loops may change places, else 0."""
    if node.get_type() != isl.schedule_node_type.band or not node.band_get_permutable():
        return 0
    return int(node.band_n_member())


def parallel_first(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """Members that carry no dependence before the others."""
    count = members(node)
    flags = [bool(node.band_member_get_coincident(n)) for n in range(count)]
    wanted = sorted(range(count), key=lambda n: not flags[n])
    return with_members(node, wanted) if wanted != [*range(count)] else node


def turned(by: int) -> Callable[[isl.ScheduleNode], isl.ScheduleNode]:
    """Another member first."""

    def change(node: isl.ScheduleNode) -> isl.ScheduleNode:
        count = members(node)
        if count < 2 or by >= count:
            return node
        return with_members(node, [by, *(n for n in range(count) if n != by)])

    return change


def wavefront(node: isl.ScheduleNode) -> isl.ScheduleNode:
    """The sum of all members first: it carries every dependence that the band carries."""
    count = members(node)
    if count < 2 or any(node.band_member_get_coincident(n) for n in range(count)):
        return node
    whole = node.band_get_partial_schedule()
    total = whole.get_at(0)
    for number in range(1, count):
        total = total.add(whole.get_at(number))
    return node.delete().insert_partial_schedule(whole.set_union_pw_aff(0, total))


def with_members(node: isl.ScheduleNode, order: list[int]) -> isl.ScheduleNode:
    whole = node.band_get_partial_schedule()
    changed = whole
    for place, number in enumerate(order):
        changed = changed.set_union_pw_aff(place, whole.get_at(number))
    flags = [bool(node.band_member_get_coincident(n)) for n in order]
    permutable = int(node.band_get_permutable())
    node = node.delete().insert_partial_schedule(changed).band_set_permutable(permutable)
    for place, flag in enumerate(flags):
        node = node.band_member_set_coincident(place, int(flag))
    return node


def changed(
    schedule: isl.Schedule, change: Callable[[isl.ScheduleNode], isl.ScheduleNode]
) -> isl.Schedule:
    """A schedule whose nodes are changed, the innermost first.

    Raises:
        BaseException: of the change, or of a signal meanwhile; isl would print and drop it.
    """
    errors: list[BaseException] = []

    def guarded(node: isl.ScheduleNode) -> isl.ScheduleNode:
        try:
            return node if errors else change(node)
        except BaseException as error:
            errors.append(error)
            return node

    found = schedule.map_schedule_node_bottom_up(guarded)
    if errors:
        raise errors[0]
    return found


CHANGES: dict[str, Callable[[isl.ScheduleNode], isl.ScheduleNode]] = {
    "": same, ", parallel ones first": parallel_first, ", the second first": turned(1),
    ", the third first": turned(2), ", as wavefronts": wavefront,
}  # fmt: skip
