/* The tables of names and topics.

   Names and numbers are in a hash table that steps read while Python adds to it. Memory order: an
   entry's actor is written before its key. A removed entry keeps its key. A table that is too small
   is replaced by a larger copy; old tables stay until no step can read them (gl_engine_quiet). */
#include <stdlib.h>

#include "engine.h"

static gl_route *place_of(gl_routes *routes, uint64_t key)
{
    uint64_t place = key * 0x9E3779B97F4A7C15ull >> 20;
    for (;; place++) {
        gl_route *route = &routes->route[place & routes->mask];
        uint64_t there = atomic_load_explicit(&route->key, memory_order_acquire);
        if (there == key || !there)
            return route;
    }
}

gl_actor *gl_find_route(const gl_engine *engine, uint64_t key)
{
    gl_routes *routes = atomic_load_explicit(&engine->routes, memory_order_acquire);
    if (!routes || !key)
        return NULL;
    /* An entry without a key may be assigned to another name at this moment: its actor is not
       ours. */
    gl_route *route = place_of(routes, key);
    if (atomic_load_explicit(&route->key, memory_order_acquire) != key)
        return NULL;
    return atomic_load_explicit(&route->actor, memory_order_acquire);
}

static gl_routes *make(uint64_t size)
{
    gl_routes *routes = calloc(1, sizeof *routes + size * sizeof(gl_route));
    if (routes)
        routes->mask = size - 1;
    return routes;
}

static void put(gl_routes *routes, uint64_t key, gl_actor *actor)
{
    gl_route *route = place_of(routes, key);
    int is_new = !atomic_load(&route->key);
    atomic_store_explicit(&route->actor, actor, memory_order_release);
    if (is_new) {
        atomic_store_explicit(&route->key, key, memory_order_release);
        routes->used++;
    }
}

/* Route a key to an actor, or to none; -1 without memory. One thread at a time. */
int gl_set_route(gl_engine *engine, uint64_t key, gl_actor *actor)
{
    gl_routes *routes = atomic_load(&engine->routes);
    if (!routes || 2 * (routes->used + 1) > routes->mask) {
        uint64_t live = 0, size = 64;
        for (uint64_t n = 0; routes && n <= routes->mask; n++)
            live += atomic_load(&routes->route[n].actor) != NULL;
        while (size < 4 * (live + 1))
            size *= 2;
        gl_routes *larger = make(size);
        if (!larger)
            return -1;
        for (uint64_t n = 0; routes && n <= routes->mask; n++) {
            gl_actor *there = atomic_load(&routes->route[n].actor);
            if (there)
                put(larger, atomic_load(&routes->route[n].key), there);
        }
        larger->older = routes;
        atomic_store_explicit(&engine->routes, larger, memory_order_release);
        routes = larger;
    }
    put(routes, key, actor);
    return 0;
}

const gl_topic *gl_find_topic(const gl_topics *topics, uint64_t key)
{
    uint32_t low = 0, high = topics ? topics->count : 0;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (topics->topic[middle].key == key)
            return &topics->topic[middle];
        if (topics->topic[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void gl_routes_free(gl_routes *routes)
{
    while (routes) {
        gl_routes *older = routes->older;
        free(routes);
        routes = older;
    }
}

void gl_topics_free(gl_topics *topics)
{
    while (topics) {
        gl_topics *older = topics->older;
        for (uint32_t n = 0; n < topics->count; n++)
            free(topics->topic[n].subscribers);
        free(topics->topic);
        free(topics);
        topics = older;
    }
}
