/* Maps of the ranges of memory that programs and devices have, by bisection. */
#include "space.h"

#include <stdlib.h>
#include <string.h>

/* --- with the lock --- */

/* The number of ranges that start at an address or before it. */
static size_t count_to(const struct gl_map *map, uint64_t address)
{
    size_t low = 0, high = map->count;
    if (!high || address < map->ranges[0].start) /* as memory of the program often is */
        return 0;
    if (address >= map->ranges[high - 1].start)
        return high;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (map->ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct gl_span *gl_range_in(const struct gl_map *map, uint64_t address)
{
    const size_t n = count_to(map, address);
    return n && address < map->ranges[n - 1].end ? &map->ranges[n - 1] : NULL;
}

const struct gl_span *gl_range_at(const struct gl_space *space, int of, uint64_t address)
{
    static const struct gl_span unclear = { 0, UINT64_MAX, GL_FOREIGN };
    const struct gl_span *found = NULL;
    for (const struct gl_map *map = space->maps[of]; map; map = map->next) {
        const struct gl_span *here = gl_range_in(map, address);
        if (!here)
            continue;
        if (found)
            return &unclear; /* devices with address spaces of their own: Python knows which */
        found = here;
    }
    return found;
}

void gl_take_range_out(struct gl_map *map, uint64_t start)
{
    const size_t n = count_to(map, start);
    if (!n || map->ranges[n - 1].start != start)
        return;
    memmove(&map->ranges[n - 1], &map->ranges[n], (map->count - n) * sizeof *map->ranges);
    map->count--;
}

int gl_put_range(struct gl_map *map, const struct gl_span *range)
{
    const size_t n = count_to(map, range->start);
    if (n && map->ranges[n - 1].start == range->start) {
        map->ranges[n - 1] = *range;
        return 1;
    }
    if (map->count == map->room) {
        const size_t room = map->room ? 2 * map->room : 64;
        struct gl_span *larger = realloc(map->ranges, room * sizeof *larger);
        if (!larger)
            return 0;
        map->ranges = larger;
        map->room = room;
    }
    memmove(&map->ranges[n + 1], &map->ranges[n], (map->count - n) * sizeof *map->ranges);
    map->ranges[n] = *range;
    map->count++;
    return 1;
}

/* --- functions that Python calls --- */

struct gl_map *gridlane_map(struct gl_space *space, int of)
{
    struct gl_map *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    gl_lock_space(space);
    made->next = space->maps[of];
    made->place = &space->maps[of];
    if (made->next)
        made->next->place = &made->next;
    space->maps[of] = made;
    gl_unlock_space(space);
    return made;
}

void gridlane_map_release(struct gl_space *space, struct gl_map *map)
{
    gl_lock_space(space);
    *map->place = map->next;
    if (map->next)
        map->next->place = map->place;
    gl_unlock_space(space);
    free(map->ranges);
    free(map);
}

int gridlane_range_add(struct gl_space *space, struct gl_map *map, uint64_t start, uint64_t size,
                       uint32_t kind)
{
    const struct gl_span range = { start, start + size, kind };
    gl_lock_space(space);
    const int done = gl_put_range(map, &range);
    gl_unlock_space(space);
    return done;
}

void gridlane_range_remove(struct gl_space *space, struct gl_map *map, uint64_t start)
{
    gl_lock_space(space);
    gl_take_range_out(map, start);
    gl_unlock_space(space);
}

int gridlane_range_find(struct gl_space *space, struct gl_map *map, uint64_t address, uint64_t size,
                        uint64_t *start)
{
    gl_lock_space(space);
    const size_t n = count_to(map, address);
    const struct gl_span *range = n ? &map->ranges[n - 1] : NULL;
    const int found = range && address <= range->end && size <= range->end - address;
    if (found)
        *start = range->start;
    gl_unlock_space(space);
    return found;
}

int gridlane_range_meets(struct gl_space *space, struct gl_map *map, uint64_t address,
                         uint64_t size)
{
    gl_lock_space(space);
    const uint64_t last = size > UINT64_MAX - address ? UINT64_MAX : address + size - 1;
    size_t n = size ? count_to(map, last) : 0;
    while (n && map->ranges[n - 1].start == map->ranges[n - 1].end)
        n--; /* has no bytes */
    const int meets = n && map->ranges[n - 1].end > address;
    gl_unlock_space(space);
    return meets;
}

uint64_t gridlane_range_size(struct gl_space *space, struct gl_map *map, uint64_t start)
{
    gl_lock_space(space);
    const struct gl_span *range = gl_range_in(map, start);
    const uint64_t size = range && range->start == start ? range->end - start : 0;
    gl_unlock_space(space);
    return size;
}

size_t gridlane_ranges(struct gl_space *space, struct gl_map *map, uint64_t *made, size_t most)
{
    gl_lock_space(space);
    const size_t count = map->count;
    for (size_t n = 0; n < count && n < most; n++) {
        made[2 * n] = map->ranges[n].start;
        made[2 * n + 1] = map->ranges[n].end - map->ranges[n].start;
    }
    gl_unlock_space(space);
    return count;
}
