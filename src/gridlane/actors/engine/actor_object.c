/* One actor of the engine, as a Python type. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "wire.h"

void actor_free(gl_actor *actor)
{
    gl_queue_free(&actor->inbox);
    gl_queue_free(&actor->outbox);
    pthread_mutex_destroy(&actor->mutex);
    free(actor->blocked);
    free(actor->asked);
    free(actor->params);
    free(actor->info);
    gl_outputs_free(actor);
    wire_free(actor);
    free(actor->control);
    free(actor->latencies);
    free(actor);
}

/* Lifetime: an actor that is in a list of the engine is not freed before it has left the list. */
int actor_is_listed(const gl_actor *actor)
{
    return atomic_load(&actor->scheduled) || atomic_load(&actor->waiting)
           || atomic_load(&actor->in_events);
}

static void Actor_dealloc(ActorObject *self)
{
    gl_engine *engine = self->owner ? self->owner->engine : NULL;
    int runs = engine && !atomic_load(&engine->stop);
    if (self->actor && self->actor->wire && engine)
        gl_wire_remove(self->actor, NULL, 0);
    if (self->actor && !(runs && actor_is_listed(self->actor)))
        actor_free(self->actor);
    Py_XDECREF(self->owner);
    Py_XDECREF(self->keep);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyObject *Actor_control(const ActorObject *self)
{
    return PyMemoryView_FromMemory((char *)self->actor->control, sizeof(gl_control), PyBUF_WRITE);
}

PyObject *Actor_places(const ActorObject *self)
{
    gl_actor *a = self->actor;
    return Py_BuildValue("KKKK", (unsigned long long)(uintptr_t)a->info,
                         (unsigned long long)(uintptr_t)a->inbox.slots,
                         (unsigned long long)(uintptr_t)a->output,
                         (unsigned long long)(uintptr_t)a->outbox.slots);
}

static PyObject *Actor_get_phase(ActorObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLong(atomic_load(&self->actor->phase));
}

static int Actor_set_phase(ActorObject *self, PyObject *value, void *closure)
{
    unsigned long phase = value ? PyLong_AsUnsignedLong(value) : 0;
    (void)closure;
    if (PyErr_Occurred())
        return -1;
    uint32_t old = atomic_load(&self->actor->phase);
    while (!atomic_compare_exchange_weak(&self->actor->phase, &old,
                                         (uint32_t)phase | (old & GL_HAS_FAILED)))
        ;
    if (self->actor->wire)
        gl_wire_order(self->actor);
    return 0;
}

/* recover(): its failure is handled, and its phase decides again whether it runs */
void Actor_recover(ActorObject *self)
{
    atomic_fetch_and(&self->actor->phase, ~(uint32_t)GL_HAS_FAILED);
    if (self->actor->wire)
        gl_wire_order(self->actor);
}

uint64_t Actor_since(const ActorObject *self)
{
    return atomic_load(&self->actor->since);
}

int Actor_working(const ActorObject *self)
{
    gl_actor *a = self->actor;
    return atomic_load(&a->in_step) || atomic_load(&a->posting)
                           || (a->wire && !gl_wire_follows(a));
}

int Actor_listed(const ActorObject *self)
{
    return actor_is_listed(self->actor);
}

int Actor_blocked(const ActorObject *self)
{
    return atomic_load(&self->actor->waiting);
}

PyObject *Actor_lengths(const ActorObject *self)
{
    gl_actor *a = self->actor;
    gl_queue_note_high(&a->inbox);
    gl_queue_note_high(&a->outbox);
    uint64_t length = a->wire ? gl_wire_length(a) : gl_queue_length(&a->inbox);
    uint64_t high = a->wire ? atomic_load(&a->wire->high)
                            : atomic_load(&a->inbox.inbox->high_water);
    return Py_BuildValue("KKKK", (unsigned long long)length,
                         (unsigned long long)gl_queue_length(&a->outbox), (unsigned long long)high,
                         (unsigned long long)atomic_load(&a->outbox.inbox->high_water));
}

PyObject *Actor_clock(const ActorObject *self)
{
    if (self->actor->wire) { /* its kernel has the clock */
        const gl_status *status = self->actor->wire->status;
        return Py_BuildValue("KKK", (unsigned long long)atomic_load(&status->physical),
                             (unsigned long long)atomic_load(&status->logical),
                             (unsigned long long)self->actor->id);
    }
    return Py_BuildValue("KKK", (unsigned long long)self->actor->clock.physical,
                         (unsigned long long)self->actor->clock.logical,
                         (unsigned long long)self->actor->clock.node);
}

void Actor_set_clock(ActorObject *self, uint64_t physical, uint64_t logical, uint64_t node)
{
    self->actor->clock = (gl_clock){physical, logical, node};
    if (self->actor->wire) { /* the kernel is not there yet */
        atomic_store(&self->actor->wire->status->physical, physical);
        atomic_store(&self->actor->wire->status->logical, logical);
    }
}

/* bind(launch, plan, params): the function by which C launches the kernel, and its arguments */
PyObject *Actor_bind(ActorObject *self, uint64_t launch, uint64_t plan, const Py_buffer *params)
{
    void *copy = NULL;
    if (posix_memalign(&copy, 64, params->len ? (size_t)params->len : 1)) {
        return PyErr_NoMemory();
    }
    memcpy(copy, params->buf, (size_t)params->len);
    free(self->actor->params);
    self->actor->params = copy;
    self->actor->launch = (gl_launch)(uintptr_t)launch;
    self->actor->plan = (const void *)(uintptr_t)plan;
    Py_RETURN_NONE;
}

void Actor_schedule(ActorObject *self)
{
    gl_schedule(self->actor);
}

/* begin(): the number of messages of the next step, for actors whose kernels Python launches */
uint64_t Actor_begin(ActorObject *self)
{
    gl_actor *a = self->actor;
    uint32_t count = 0;
    Py_BEGIN_ALLOW_THREADS
    atomic_fetch_add(&a->engine->visitors, 1);
    atomic_store(&a->in_step, 1);
    if (gl_step_allowed(a) && gl_flush(a) && gl_step_allowed(a))
        count = gl_step_begin(a, gl_now());
    if (count)
        atomic_store(&a->since, gl_elapsed());
    else
        gl_step_over(a);
    atomic_fetch_sub(&a->engine->visitors, 1);
    Py_END_ALLOW_THREADS
    return count;
}

void Actor_end(ActorObject *self, int code)
{
    Py_BEGIN_ALLOW_THREADS
    atomic_fetch_add(&self->actor->engine->visitors, 1);
    atomic_store(&self->actor->since, 0);
    gl_step_end(self->actor, code);
    gl_step_over(self->actor);
    atomic_fetch_sub(&self->actor->engine->visitors, 1);
    Py_END_ALLOW_THREADS
}

/* hold(timeout): keep it from its next step until release(); returns whether it is held */
int Actor_hold(ActorObject *self, double timeout)
{
    int held;
    Py_BEGIN_ALLOW_THREADS
    held = self->actor->wire ? gl_wire_hold(self->actor, until_of(timeout))
                             : gl_hold(self->actor, until_of(timeout));
    Py_END_ALLOW_THREADS
    return held;
}

void Actor_release(ActorObject *self)
{
    if (self->actor->wire)
        gl_wire_release(self->actor);
    else
        gl_release(self->actor);
}

int Actor_stop(ActorObject *self, uint64_t since)
{
    return gl_stop_launch(self->actor, since);
}

uint64_t Actor_report(const ActorObject *self)
{
    return (uintptr_t)self->actor->report;
}

/* drain(reason): deliver blocked outputs where there is room; bury the others and the inbox. No
   step and no post may run. Returns the number of buried messages. */
uint64_t Actor_drain(ActorObject *self, uint32_t reason)
{
    gl_actor *a = self->actor;
    unsigned long count = 0;
    Py_BEGIN_ALLOW_THREADS
    atomic_fetch_add(&a->engine->visitors, 1);
    gl_leave_list(a);
    a->full = GL_DEAD;
    gl_flush(a);
    if (a->wire)
        count += gl_wire_drain(a, UINT32_MAX, reason);
    for (;;) {
        uint64_t head = atomic_load(&a->inbox.inbox->head);
        if (!gl_queue_has(&a->inbox, head))
            break;
        gl_refuse_slot(a, gl_slot(&a->inbox, head), reason);
        gl_queue_release(&a->inbox);
        count++;
    }
    gl_unblock(a);
    atomic_fetch_sub(&a->engine->visitors, 1);
    Py_END_ALLOW_THREADS
    return count;
}

static PyObject *letters(const gl_queue *queue)
{
    uint64_t head = atomic_load(&queue->inbox->head);
    PyObject *list = PyList_New(0);
    while (list && gl_queue_has(queue, head)) {
        gl_header *slot = gl_slot(queue, head);
        PyObject *item = PyBytes_FromStringAndSize(
            (char *)slot, (Py_ssize_t)(sizeof(gl_header) + slot->payload_bytes));
        if (!item || PyList_Append(list, item)) {
            Py_XDECREF(item);
            Py_CLEAR(list);
            break;
        }
        Py_DECREF(item);
        head++;
    }
    return list;
}

/* queued(): the messages in the inbox, in the outbox, and the blocked outputs, as bytes */
PyObject *Actor_queued(ActorObject *self)
{
    gl_actor *a = self->actor;
    PyObject *in = letters(&a->inbox), *out = in ? letters(&a->outbox) : NULL;
    if (!out) {
        Py_XDECREF(in);
        return NULL;
    }
    return Py_BuildValue("NNII", in, out, a->settled ? 0 : a->handled, a->pending - a->sent);
}

METHODS_OF(Actor, ACTOR_METHODS)

ATTRIBUTES_OF(Actor, ACTOR_ATTRIBUTES,
              {"phase", (getter)Actor_get_phase, (setter)Actor_set_phase, NULL, NULL}, )

TYPE_OF(Actor, .tp_methods = Actor_methods, .tp_getset = Actor_attributes)
