/* The host's engine of actors: queues, routes, workers and waiting callers, without the GIL.

   An actor is scheduled when a message arrives, and at most once: the thread that publishes a
   message and finds `scheduled` clear sets it. A worker clears it after a step, and tests the inbox
   again. Actors whose kernels C cannot call are handed to Python instead (`GL_BY_HOST`). */
#ifndef GRIDLANE_ACTORS_ENGINE_H
#define GRIDLANE_ACTORS_ENGINE_H

#include <pthread.h>

#include "../../native/threads.h"
#include "queue.h"
#include "telemetry.h"

typedef struct gl_engine gl_engine;
typedef struct gl_actor gl_actor;
typedef struct gl_wire gl_wire;
typedef struct gl_gate gl_gate; /* outside.h */

/* Bits of a phase. */
enum { /* besides GL_ACCEPTS and GL_RUNS */
    GL_HAS_FAILED = 4, /* the handler waits until Python has handled its failure; set by C alone */
    GL_PAUSED = 8,   /* a checkpoint is being taken: senders wait; all actors are held */
};

/* A sender's policy for a full inbox. */
enum { GL_BLOCK, GL_DEAD, GL_RAISE };

typedef int (*gl_launch)(const void *plan, const void *params, int gx, int gy, int gz, int shared,
                         void *report);

struct gl_actor {
    gl_engine *engine;
    gl_control *control;
    gl_queue inbox, outbox;
    uint64_t id, type, reply_type;
    uint32_t tier;
    _Atomic uint32_t phase;
    _Atomic uint32_t scheduled;
    _Atomic uint32_t in_step;
    _Atomic uint32_t wanted; /* threads that hold it or wait for it between two steps; they precede its
                                next step */
    uint32_t by_host;
    uint32_t batch, outputs, output_bytes;
    int full;               /* the policy of its own sends to a full inbox */
    /* the step */
    gl_launch launch;
    const void *plan;
    void *params;
    int64_t report[15]; /* REPORT of core/cpu_abi.py */
    int32_t *info;
    uint8_t *output;        /* `outputs` of `output_bytes` bytes */
    uint32_t sent, pending; /* delivered outputs; all outputs */
    uint64_t subscriber;    /* the next subscriber that receives the current output */
    gl_latencies *latencies;
    uint64_t begun;         /* when the step began, of gl_now */
    uint32_t handled;       /* messages whose slots stay until all outputs are delivered */
    gl_header *asked;       /* their headers, where their slots are released earlier */
    uint32_t settled;       /* whether their slots are released */
    int code;               /* of the step that emitted these outputs */
    /* the thread in its step, and the start of that step */
    _Atomic uint64_t since;
    pthread_t thread;
    uint32_t in_launch, stopped;
    _Atomic uint32_t posting; /* senders between their test of the phase and their end */
    gl_clock clock;
    /* senders that wait for room in the inbox */
    pthread_mutex_t mutex;
    gl_actor **blocked;
    uint32_t blocked_count, blocked_room;
    _Atomic uint32_t has_blocked;
    _Atomic uint32_t waiting; /* whether it is in such a list itself */
    _Atomic(gl_actor *) waits_for; /* the owner of that list */
    gl_actor *next_event;
    _Atomic uint32_t in_events;
    gl_wire *wire; /* of an actor with a resident kernel, else NULL */
};

/* A caller that waits for one reply. */
enum { GL_FREE, GL_WAITING, GL_ANSWERED, GL_REFUSED, GL_GONE };

typedef struct {
    _Atomic uint32_t state;   /* generation * 8 + one of the above */
    uint32_t reason, bytes, room;
    uint64_t actor;           /* whose answer it waits for */
    uint64_t type;
    gl_clock clock;
    uint8_t *payload;
    uint32_t is_async, next;
    _Atomic uint32_t parked;
} gl_waiter;

typedef struct {
    _Atomic uint64_t key;
    _Atomic(gl_actor *) actor;
} gl_route;

typedef struct gl_routes {
    struct gl_routes *older;
    uint64_t mask, used;
    gl_route route[];
} gl_routes;

typedef struct {
    uint64_t key;
    uint32_t count;
    gl_actor **subscribers;
} gl_topic;

/* Topics by their keys; replaced whole. */
typedef struct gl_topics {
    struct gl_topics *older;
    uint32_t count;
    gl_topic *topic;
} gl_topics;

typedef struct gl_dead {
    struct gl_dead *next;
    uint64_t actor;
    gl_header header;
    uint8_t payload[];
} gl_dead;

#define GL_WAITERS 4096
#define GL_COMPLETED (4 * GL_WAITERS)
#define GL_RUN_QUEUE (1u << 16)

typedef struct {
    _Atomic uint64_t turn;
    gl_actor *actor;
} gl_cell;

struct gl_engine {
    _Alignas(64) _Atomic uint64_t run_tail;
    _Alignas(64) _Atomic uint64_t run_head;
    _Alignas(64) gl_cell *run;
    uint32_t parked; /* workers, by gl_park */
    _Atomic uint32_t stop;
    _Atomic uint64_t steps;
    pthread_mutex_t mutex;       /* of parking, of actors for Python, of events, of waiters' lists */
    pthread_cond_t work, host, events;
    pthread_t *threads;
    uint32_t workers;
    _Atomic uint32_t started;
    _Atomic uint64_t *inside; /* of each worker, 64 bytes apart: odd while it is in a step */
    _Atomic uint32_t visitors; /* threads of Python that may read routes and other actors */
    void (*stop_thread)(pthread_t thread, int wish);
    uint32_t worker_spins;
    _Atomic(gl_routes *) routes;
    _Atomic(gl_topics *) topics;
    gl_actor **host_ready;
    uint32_t host_head, host_tail;   /* of a ring of GL_RUN_QUEUE */
    uint32_t host_waits;
    gl_actor *first_event, *last_event;
    /* callers */
    gl_waiter *waiters;
    uint32_t free_waiter;
    uint64_t *completed;     /* asynchronous callers with an answer, a ring */
    uint32_t completed_head, completed_tail;
    pthread_mutex_t answer_mutex;
    pthread_cond_t answered, answers, taken;
    uint32_t answer_parked; /* threads, by gl_park */
    /* dead letters */
    pthread_mutex_t dead_mutex;
    gl_dead *dead_first, *dead_last;
    uint64_t dead_count, dead_limit, dead_lost, dead_total;
    /* the host's clock */
    gl_clock clock;
    pthread_mutex_t clock_mutex;
    uint64_t drift;
    uint64_t node;
    uint64_t wakes;
    /* actors with resident kernels (wire_thread.c) */
    pthread_mutex_t wire_mutex;
    gl_actor **wires;
    uint32_t wire_count, wire_room, wire_started;
    pthread_t wire_thread;
    /* traced events: the current ring or NULL; the newest ring, and all rings */
    _Atomic(gl_trace *) trace;
    gl_trace *ring, **rings;
    uint32_t ring_count;
    /* shared inboxes; answers find them by number */
    gl_gate *gates;
    uint64_t next_gate;
    pthread_mutex_t gates_mutex;
};

/* A message outside of a queue. */
typedef struct {
    uint64_t type, source, destination, correlation, reply_to, deadline, topic, trace, span;
    uint32_t payload_bytes, flags, hops, attempt;
    gl_clock clock;
} gl_letter;

/* clock.c */
uint64_t gl_now(void);
void gl_follow_time(void);
void gl_shift_time(int64_t nanoseconds);
void gl_clock_tick(gl_clock *clock, uint64_t now);
int gl_clock_merge(gl_clock *clock, const gl_clock *seen, uint64_t now, uint64_t drift);
gl_clock gl_host_clock(gl_engine *engine, uint64_t events, uint64_t elapsed);
void gl_host_merge(gl_engine *engine, const gl_clock *seen, uint64_t elapsed);

/* The current ring of traced events, or NULL. */
static inline gl_trace *gl_tracing(const gl_engine *engine)
{
    return atomic_load_explicit(&engine->trace, memory_order_acquire);
}

/* workers.c */
int gl_engine_start(gl_engine *engine, uint32_t workers);
void gl_engine_stop(gl_engine *engine);
void gl_schedule(gl_actor *actor);
void gl_run_step(gl_actor *actor);
void gl_step_over(gl_actor *actor);
int gl_hold(gl_actor *actor, uint64_t until);
void gl_release(gl_actor *actor);
int gl_stop_launch(gl_actor *actor, uint64_t since);

/* step.c: the parts of a step, for workers and for Python */
uint32_t gl_step_begin(gl_actor *actor, uint64_t now);
void gl_step_end(gl_actor *actor, int code);
int gl_flush(gl_actor *actor);
int gl_outputs_init(gl_actor *actor, uint32_t outputs, uint32_t output_bytes);
void gl_outputs_free(gl_actor *actor);
int gl_step_allowed(const gl_actor *actor);
int gl_hand_over(gl_actor *from, uint32_t kind, uint64_t key, const gl_header *asked,
                 gl_letter *letter, const void *payload);
void gl_event(gl_actor *actor);

/* post.c */
/* GL_POSTED, GL_IS_FULL, or a reason (> 0). The message gets the clock of the letter. */
int gl_post(gl_actor *to, const gl_letter *letter, const void *payload, int alone);
int gl_enter(gl_actor *to);
void gl_leave(gl_actor *to);
/* Post `count` payloads of the letter's size in a row, each with the next logical time, until one
   is not posted; returns how many are. `alone`: the caller is the only producer. */
uint64_t gl_post_run(gl_actor *to, gl_letter *letter, const void *payloads, uint64_t count, int alone,
                     int *result);
/* As above, and wait for room until a time of gl_elapsed; GL_IS_FULL where there is none. */
int gl_post_until(gl_actor *to, const gl_letter *letter, const void *payload, uint64_t until);
int gl_post_run_until(gl_actor *to, gl_letter *letter, const void *payloads, uint64_t count,
                      int alone, uint64_t until, uint64_t *posted);
void gl_letter_of(gl_letter *letter, const gl_header *header);
void gl_bury(gl_engine *engine, uint64_t actor, const gl_letter *letter, const void *payload,
             uint32_t reason);
void gl_bury_slot(gl_actor *actor, const gl_header *slot, uint32_t reason);
void gl_refuse_caller(gl_actor *actor, const gl_header *asked, uint32_t reason);

/* GL_FAILED for a caller, with the number of the actor's failure above the lowest 8 bits: another
   failure may follow before the caller reads its own. */
static inline uint32_t gl_failed(const gl_actor *actor)
{
    return GL_FAILED | (uint32_t)atomic_load(&actor->control->failed) << 8;
}

void gl_refuse_slot(gl_actor *actor, const gl_header *slot, uint32_t reason);
void gl_unblock(gl_actor *actor);
enum { GL_HAS_ROOM, GL_IS_BLOCKED, GL_IS_CYCLE };
int gl_block_on(gl_actor *sender, gl_actor *full);
void gl_leave_list(gl_actor *sender);

/* waiters.c */
#define GL_TO_WAITER (1ull << 63)
#define GL_TO_OUTBOX (1ull << 62) /* of the actor that answers */
#define GL_TO_OUTSIDE (1ull << 61) /* another process: the gate's number << 16, its seat */
/* reply_to of a caller: GL_TO_WAITER, the generation, the waiter's number; with GL_DIRECT that of a
   place of the actor, into which its kernel writes */
#define GL_NUMBERS ((1u << GL_NUMBER_BITS) - 1)
#define GL_GENERATIONS ((1u << GL_GENERATION_BITS) - 1)

static inline uint32_t gl_number_of(uint64_t reply_to) { return (uint32_t)reply_to & GL_NUMBERS; }

static inline uint32_t gl_generation_of(uint64_t reply_to)
{
    return (uint32_t)(reply_to >> GL_NUMBER_BITS) & GL_GENERATIONS;
}

uint64_t gl_wait_begin(gl_engine *engine, uint64_t actor, int is_async);
int gl_answer(gl_engine *engine, uint64_t reply_to, uint64_t type, const gl_clock *clock,
              const void *payload, uint32_t bytes, uint32_t reason);
int gl_wait(gl_engine *engine, uint64_t ticket, uint64_t spin, uint64_t until);
int gl_has_answer(gl_engine *engine, uint64_t ticket);
void gl_wait_end(gl_engine *engine, uint64_t ticket, int taken);
gl_waiter *gl_waiter_of(gl_engine *engine, uint64_t ticket);
void gl_wake_receivers(gl_engine *engine);

/* outside.c: 0, or GL_LATE where the caller waits no more */
int gl_gate_answer(gl_engine *engine, uint64_t reply_to, uint64_t call, const gl_clock *clock,
                   const void *payload, uint32_t bytes, uint32_t reason);

/* routes.c */
gl_actor *gl_find_route(const gl_engine *engine, uint64_t key);
int gl_set_route(gl_engine *engine, uint64_t key, gl_actor *actor);
const gl_topic *gl_find_topic(const gl_topics *topics, uint64_t key);
void gl_routes_free(gl_routes *routes);
void gl_topics_free(gl_topics *topics);

#endif
