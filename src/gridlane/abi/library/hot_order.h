/* Streams and events by their handles, between hot_order.c, which has the tables, and hot_streams.c
 * and hot_events.c, which stubs call. The work of a stream is in its queue; see native/queue.h. */
#ifndef GRIDLANE_HOT_ORDER_H
#define GRIDLANE_HOT_ORDER_H

#include "hot_memory.h"

enum { GL_BUCKETS = 4096, GL_MOST_ENDED = 64 };

struct stream {
    uint64_t handle, context;
    uint32_t flags; /* as in CUDA; flags and priority are set for streams that C made */
    int32_t priority;
    struct gl_queue *queue; /* of which the table has a use */
    int is_known;           /* Python has the stream */
    struct stream *next;
};

struct event {
    uint64_t handle, context;
    struct gl_event *event; /* of which the table has a use */
    uint32_t flags;         /* as in CUDA */
    int is_known;           /* Python has the event */
    struct event *next;
};

/* The streams and events of all libraries of the process, under the lock of the queues. */
struct gl_order {
    uint64_t handle; /* the last handle that C made */
    struct stream *streams[GL_BUCKETS], *spare;
    struct event *events[GL_BUCKETS], *spare_event;
    uint64_t ended[GL_MOST_ENDED]; /* handles that C ended and Python still has */
    uint32_t ended_count;
};

static inline struct gl_order *gl_order(void)
{
    return shared()->order;
}

static inline void gl_lock_order(void)
{
    pthread_mutex_lock(&gl_process.queues->lock);
}

static inline void gl_unlock_order(void)
{
    pthread_mutex_unlock(&gl_process.queues->lock);
}

/* Returns null without memory. */
struct gl_order *gl_new_order(void);
void gl_move_order(uint64_t from, uint64_t to);
void gl_end_streams(uint64_t context);
void gl_end_events(uint64_t context);

/* --- with the lock --- */

static inline unsigned gl_bucket(uint64_t handle)
{
    return handle / 16 % GL_BUCKETS;
}

/* A handle that no other object of the process had. */
uint64_t gl_new_handle(void);

/* Note an ended handle for Python, which drops its object at the next look-up; false if the caller
 * must end it now. */
int gl_note_ended(uint64_t handle);

/* A stream of this thread's context, or null; of CUDA's handle of its default stream as well. */
struct stream *gl_stream_of(const struct gl_thread *me, uint64_t handle);

/* The queue of such a stream, if C may use it: without an error, and not captured. Or null. */
struct gl_queue *gl_queue_of(const struct gl_thread *me, const void *stream);

/* Add a stream, with the caller's use of its queue; false without memory. */
int gl_add_stream(const struct stream *stream);
void gl_take_stream_out(struct stream *stream);

/* Whether C may append to a queue: its thread runs, and it is not full. */
int gl_has_place(const struct gl_queue *queue);

/* Append an item to a queue where C may; false otherwise. */
int gl_put_item(struct gl_queue *queue, struct gl_item *item);

/* Append an item that passes a mark, or follows it. */
int gl_put_mark(struct gl_queue *queue, struct gl_mark *mark, uint32_t kind);

#endif
