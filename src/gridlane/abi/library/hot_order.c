/* The tables of streams and events that all libraries of a process share, their handles, and the
 * handles that C ended and Python still has. */
#include "hot_order.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t HANDLES = 0x6D0000000000; /* Python's handles begin below; see handles.py */

struct gl_order *gl_new_order(void)
{
    if (!gl_process.queues)
        gl_process.queues = gridlane_queues();
    struct gl_order *made = gl_process.queues ? calloc(1, sizeof *made) : NULL;
    if (made)
        made->handle = HANDLES;
    return made;
}

/* --- with the lock --- */

uint64_t gl_new_handle(void)
{
    return gl_order()->handle += 16;
}

int gl_note_ended(uint64_t handle)
{
    struct gl_order *all = gl_order();
    if (all->ended_count == GL_MOST_ENDED)
        return 0;
    all->ended[all->ended_count] = handle;
    __atomic_store_n(&all->ended_count, all->ended_count + 1, __ATOMIC_RELEASE);
    return 1;
}

static struct stream **place_of(uint64_t handle)
{
    struct stream **place = &gl_order()->streams[gl_bucket(handle)];
    while (*place && (*place)->handle != handle)
        place = &(*place)->next;
    return place;
}

struct stream *gl_stream_of(const struct gl_thread *me, uint64_t handle)
{
    const int is_own = handle == (uintptr_t)GL_OF_THREAD;
    struct stream *found = *place_of(is_own ? me->own : handle);
    return found && found->context == me->context ? found : NULL;
}

struct gl_queue *gl_queue_of(const struct gl_thread *me, const void *stream)
{
    const struct stream *found = gl_stream_of(me, (uintptr_t)stream);
    struct gl_queue *queue = found ? found->queue : NULL;
    const int is_usable = queue && !queue->has_failed && !queue->is_captured &&
                          !gl_process.queues->refusals;
    return is_usable ? queue : NULL;
}

int gl_add_stream(const struct stream *stream)
{
    struct gl_order *all = gl_order();
    struct stream *made = all->spare ? all->spare : malloc(sizeof *made);
    if (!made)
        return 0;
    if (made == all->spare)
        all->spare = made->next;
    *made = *stream;
    *place_of(stream->handle) = made;
    return 1;
}

void gl_take_stream_out(struct stream *stream)
{
    *place_of(stream->handle) = stream->next;
    gl_drop_queue(stream->queue);
    stream->next = gl_order()->spare;
    gl_order()->spare = stream;
}

void gl_end_streams(uint64_t context)
{
    struct gl_order *all = gl_order();
    gl_lock_order();
    for (unsigned n = 0; n < GL_BUCKETS; n++)
        for (struct stream *stream = all->streams[n], *next; stream; stream = next) {
            next = stream->next;
            if (stream->context == context)
                gl_take_stream_out(stream);
        }
    gl_unlock_order();
}

void gl_move_order(uint64_t from, uint64_t to)
{
    struct gl_order *all = gl_order();
    gl_lock_order();
    for (unsigned n = 0; n < GL_BUCKETS; n++) {
        for (struct stream *stream = all->streams[n]; stream; stream = stream->next)
            stream->context = stream->context == from ? to : stream->context;
        for (struct event *event = all->events[n]; event; event = event->next)
            event->context = event->context == from ? to : event->context;
    }
    gl_unlock_order();
}

/* --- functions that Python calls --- */

/* Add a stream that Python made; returns whether there was memory for it. */
static int add(uint64_t handle, uint64_t context, struct gl_queue *queue)
{
    const struct stream made = { handle, context, 0, 0, queue, 1, NULL };
    if (gl_process.forked)
        return 0;
    gl_lock_order();
    const int is_added = gl_add_stream(&made);
    queue->users += (uint32_t)is_added;
    gl_unlock_order();
    return is_added;
}

/* Python adopts a stream that C made: returns its queue, with one more use, and its context, flags
 * and priority; null if there is none. Fork: also called in the child. */
static struct gl_queue *adopt(uint64_t handle, uint64_t *told)
{
    struct gl_queue *queue = NULL;
    gl_lock_order();
    struct stream *found = *place_of(handle);
    if (found) {
        found->is_known = 1;
        queue = found->queue;
        queue->users++;
        told[0] = found->context;
        told[1] = found->flags;
        told[2] = (uint64_t)(int64_t)found->priority;
    }
    gl_unlock_order();
    return queue;
}

/* Python ends a stream: no thread finds it any more. */
static void withdraw(uint64_t handle)
{
    gl_lock_order();
    struct stream *found = *place_of(handle);
    if (found)
        gl_take_stream_out(found);
    gl_unlock_order();
}

/* A handle that C ended and Python has; 0 if there is none. */
static uint64_t first_ended(void)
{
    gl_lock_order();
    const uint64_t handle = gl_order()->ended_count ? gl_order()->ended[0] : 0;
    gl_unlock_order();
    return handle;
}

/* Python has ended it as well. */
static void forget_ended(uint64_t handle)
{
    struct gl_order *all = gl_order();
    uint32_t kept = 0;
    gl_lock_order();
    for (uint32_t n = 0; n < all->ended_count; n++)
        if (all->ended[n] != handle)
            all->ended[kept++] = all->ended[n];
    __atomic_store_n(&all->ended_count, kept, __ATOMIC_RELEASE);
    gl_unlock_order();
}

static const uint32_t *ended_count(void)
{
    return &gl_order()->ended_count;
}

const struct gl_streams gl_streams = { add,         adopt,        withdraw,
                                       first_ended, forget_ended, ended_count };
