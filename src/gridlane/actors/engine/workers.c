/* The threads that run actors' steps, in the order in which actors are scheduled. */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* ---- the run queue: any number of producers and consumers; an actor is in it at most once, so it
   is never full */

static void push(gl_engine *engine, gl_actor *actor)
{
    uint64_t ticket = atomic_fetch_add_explicit(&engine->run_tail, 1, memory_order_relaxed);
    gl_cell *cell = &engine->run[ticket % GL_RUN_QUEUE];
    while (atomic_load_explicit(&cell->turn, memory_order_acquire) != ticket / GL_RUN_QUEUE * 2)
        gl_pause(); /* its last reader is about to leave the cell */
    cell->actor = actor;
    atomic_store_explicit(&cell->turn, ticket / GL_RUN_QUEUE * 2 + 1, memory_order_release);
}

static gl_actor *pop(gl_engine *engine)
{
    uint64_t ticket = atomic_load_explicit(&engine->run_head, memory_order_relaxed);
    for (;;) {
        gl_cell *cell = &engine->run[ticket % GL_RUN_QUEUE];
        uint64_t full = ticket / GL_RUN_QUEUE * 2 + 1;
        int64_t ahead = (int64_t)(atomic_load_explicit(&cell->turn, memory_order_acquire) - full);
        if (ahead < 0)
            return NULL;
        if (ahead == 0
            && atomic_compare_exchange_weak_explicit(&engine->run_head, &ticket, ticket + 1,
                                                     memory_order_relaxed, memory_order_relaxed)) {
            gl_actor *actor = cell->actor;
            atomic_store_explicit(&cell->turn, full + 1, memory_order_release);
            return actor;
        }
        if (ahead > 0)
            ticket = atomic_load_explicit(&engine->run_head, memory_order_relaxed);
    }
}

static int is_empty(gl_engine *engine)
{
    return atomic_load(&engine->run_head) == atomic_load(&engine->run_tail);
}

/* The state of a worker thread. An actor that its step schedules runs next on the same thread,
   whose caches have the message: a handover to another processor takes longer than a step. After
   STREAK such actors in a row the worker takes the head of the run queue, so that two actors that
   schedule each other do not starve the rest. */
#define STREAK 16u

static _Thread_local struct {
    gl_engine *engine;
    gl_actor *next;
    uint32_t streak;
} self;

static void enqueue(gl_actor *actor, int may_be_next)
{
    gl_engine *engine = actor->engine;
    if (may_be_next && self.engine == engine && !self.next && !actor->by_host) {
        self.next = actor;
        return;
    }
    if (actor->by_host) {
        pthread_mutex_lock(&engine->mutex);
        engine->host_ready[engine->host_tail++ % GL_RUN_QUEUE] = actor;
        pthread_cond_signal(&engine->host);
        pthread_mutex_unlock(&engine->mutex);
        return;
    }
    push(engine, actor);
    atomic_thread_fence(memory_order_seq_cst);
    gl_unpark(&engine->parked, &engine->mutex, &engine->work, 0);
}

static void schedule(gl_actor *actor, int may_be_next)
{
    if (actor->wire)
        return; /* its kernel polls for messages itself */
    atomic_thread_fence(memory_order_seq_cst);
    if (!gl_step_allowed(actor) || atomic_load_explicit(&actor->wanted, memory_order_relaxed))
        return;
    if (atomic_load_explicit(&actor->scheduled, memory_order_relaxed))
        return;
    if (!atomic_exchange_explicit(&actor->scheduled, 1, memory_order_seq_cst))
        enqueue(actor, may_be_next);
}

/* Schedule an actor, if it may run; called after each change that may provide work. */
void gl_schedule(gl_actor *actor) { schedule(actor, 1); }

/* The next actor of this worker; NULL if there is none. */
static gl_actor *next_of(gl_engine *engine)
{
    gl_actor *next = self.next;
    self.next = NULL;
    if (next && self.streak++ < STREAK)
        return next;
    self.streak = 0;
    if (next)
        enqueue(next, 0);
    return pop(engine);
}

/* ---- steps */

static void launch(gl_actor *actor)
{
    int code;
    if (self.next) { /* it does not wait for a handler, which may take long */
        gl_actor *next = self.next;
        self.next = NULL;
        enqueue(next, 0);
    }
    pthread_mutex_lock(&actor->mutex);
    actor->thread = pthread_self();
    actor->in_launch = 1;
    pthread_mutex_unlock(&actor->mutex);
    atomic_store_explicit(&actor->since, gl_elapsed(), memory_order_relaxed);
    code = actor->launch(actor->plan, actor->params, 1, 1, 1, 0, actor->report);
    pthread_mutex_lock(&actor->mutex);
    actor->in_launch = 0;
    if (actor->stopped) {
        actor->stopped = 0;
        if (actor->engine->stop_thread)
            actor->engine->stop_thread(actor->thread, 0);
    }
    pthread_mutex_unlock(&actor->mutex);
    atomic_store_explicit(&actor->since, 0, memory_order_relaxed);
    gl_step_end(actor, code);
}

/* Run one step, and schedule the actor again if there is more work. `scheduled` is set. */
void gl_run_step(gl_actor *actor)
{
    atomic_store_explicit(&actor->in_step, 1, memory_order_seq_cst);
    if (gl_step_allowed(actor) && gl_flush(actor) && gl_step_allowed(actor)
        && gl_step_begin(actor, gl_now()))
        launch(actor);
    gl_step_over(actor);
}

/* Keep an actor from its next step until gl_release; 0 where a step does not end until then. It
   waits for one scheduled step at most, so neither it nor the actor's messages starve. */
int gl_hold(gl_actor *actor, uint64_t until)
{
    atomic_fetch_add(&actor->wanted, 1);
    for (uint32_t tries = 0;; tries++) {
        uint32_t expected = 0;
        if (atomic_compare_exchange_strong(&actor->scheduled, &expected, 1))
            return 1;
        if (gl_elapsed() >= until) {
            atomic_fetch_sub(&actor->wanted, 1);
            gl_schedule(actor);
            return 0;
        }
        gl_back_off(tries, 1000, 50000, 50000);
    }
}

void gl_release(gl_actor *actor)
{
    atomic_fetch_sub(&actor->wanted, 1);
    gl_step_over(actor);
}

/* Clear the flags of a step. Memory order: a thread that finds work after the fence schedules the
   actor. */
void gl_step_over(gl_actor *actor)
{
    uint64_t head;
    int waits = actor->handled || actor->pending;
    atomic_store_explicit(&actor->in_step, 0, memory_order_release);
    atomic_store_explicit(&actor->scheduled, 0, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    head = atomic_load_explicit(&actor->inbox.inbox->head, memory_order_relaxed);
    /* A blocked actor is scheduled by the receiver that makes room, unless that happened before the
       flags were clear. */
    if (waits ? !atomic_load(&actor->waiting) : gl_queue_has(&actor->inbox, head))
        schedule(actor, 0); /* at the tail of the run queue */
}

static void *work(void *argument)
{
    gl_engine *engine = argument;
    uint32_t number = atomic_fetch_add(&engine->started, 1);
    uint32_t idle = 0;
    self.engine = engine;
    while (!atomic_load_explicit(&engine->stop, memory_order_acquire)) {
        gl_actor *actor = next_of(engine);
        if (actor) {
            atomic_fetch_add_explicit(&engine->inside[number * 8], 1, memory_order_seq_cst);
            gl_run_step(actor);
            atomic_fetch_add_explicit(&engine->inside[number * 8], 1, memory_order_seq_cst);
            idle = 0;
            continue;
        }
        if (++idle < engine->worker_spins) {
            gl_pause();
            continue;
        }
        gl_park(&engine->parked, &engine->mutex);
        atomic_thread_fence(memory_order_seq_cst);
        while (is_empty(engine) && !atomic_load(&engine->stop)) {
            engine->wakes++;
            pthread_cond_wait(&engine->work, &engine->mutex);
        }
        gl_rise(&engine->parked, &engine->mutex);
        idle = 0;
    }
    return NULL;
}

int gl_engine_start(gl_engine *engine, uint32_t workers)
{
    engine->threads = calloc(workers ? workers : 1, sizeof *engine->threads);
    engine->inside = calloc((size_t)(workers ? workers : 1) * 8, sizeof *engine->inside);
    if (!engine->threads || !engine->inside)
        return -1;
    for (uint32_t n = 0; n < workers; n++) {
        if (gl_start_thread(&engine->threads[n], work, engine))
            return -1;
        engine->workers++;
    }
    return 0;
}

void gl_engine_stop(gl_engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    atomic_store(&engine->stop, 1);
    pthread_cond_broadcast(&engine->work);
    pthread_cond_broadcast(&engine->host);
    pthread_cond_broadcast(&engine->events);
    pthread_mutex_unlock(&engine->mutex);
    pthread_mutex_lock(&engine->answer_mutex);
    pthread_cond_broadcast(&engine->answers);
    pthread_cond_broadcast(&engine->answered);
    pthread_cond_broadcast(&engine->taken);
    pthread_mutex_unlock(&engine->answer_mutex);
    for (uint32_t n = 0; n < engine->workers; n++)
        pthread_join(engine->threads[n], NULL);
    engine->workers = 0;
    if (engine->wire_started)
        pthread_join(engine->wire_thread, NULL);
    engine->wire_started = 0;
}

/* Report the failure of an actor's handler to Python, which handles it. */
void gl_event(gl_actor *actor)
{
    gl_engine *engine = actor->engine;
    pthread_mutex_lock(&engine->mutex);
    if (!actor->in_events) {
        actor->in_events = 1;
        actor->next_event = NULL;
        if (engine->last_event)
            engine->last_event->next_event = actor;
        else
            engine->first_event = actor;
        engine->last_event = actor;
        pthread_cond_broadcast(&engine->events);
    }
    pthread_mutex_unlock(&engine->mutex);
}

/* Request that the launch of an actor, running since `since`, stop; returns whether it was
   requested. */
int gl_stop_launch(gl_actor *actor, uint64_t since)
{
    int asked = 0;
    pthread_mutex_lock(&actor->mutex);
    if (actor->in_launch && actor->engine->stop_thread
        && atomic_load(&actor->since) == since) {
        actor->stopped = 1;
        actor->engine->stop_thread(actor->thread, 1);
        asked = 1;
    }
    pthread_mutex_unlock(&actor->mutex);
    return asked;
}
