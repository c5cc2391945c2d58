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

static PyObject *Actor_control(ActorObject *self, void *closure)
{
    (void)closure;
    return PyMemoryView_FromMemory((char *)self->actor->control, sizeof(gl_control), PyBUF_WRITE);
}

static PyObject *Actor_places(ActorObject *self, void *closure)
{
    gl_actor *a = self->actor;
    (void)closure;
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
static PyObject *Actor_recover(ActorObject *self, PyObject *unused)
{
    (void)unused;
    atomic_fetch_and(&self->actor->phase, ~(uint32_t)GL_HAS_FAILED);
    if (self->actor->wire)
        gl_wire_order(self->actor);
    Py_RETURN_NONE;
}

static PyObject *Actor_since(ActorObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(atomic_load(&self->actor->since));
}

static PyObject *Actor_working(ActorObject *self, void *closure)
{
    gl_actor *a = self->actor;
    (void)closure;
    return PyBool_FromLong(atomic_load(&a->in_step) || atomic_load(&a->posting)
                           || (a->wire && !gl_wire_follows(a)));
}

static PyObject *Actor_listed(ActorObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(actor_is_listed(self->actor));
}

static PyObject *Actor_blocked(ActorObject *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(atomic_load(&self->actor->waiting));
}

static PyObject *Actor_lengths(ActorObject *self, void *closure)
{
    gl_actor *a = self->actor;
    (void)closure;
    gl_queue_note_high(&a->inbox);
    gl_queue_note_high(&a->outbox);
    uint64_t length = a->wire ? gl_wire_length(a) : gl_queue_length(&a->inbox);
    uint64_t high = a->wire ? atomic_load(&a->wire->high)
                            : atomic_load(&a->inbox.inbox->high_water);
    return Py_BuildValue("KKKK", (unsigned long long)length,
                         (unsigned long long)gl_queue_length(&a->outbox), (unsigned long long)high,
                         (unsigned long long)atomic_load(&a->outbox.inbox->high_water));
}

static PyObject *Actor_clock(ActorObject *self, void *closure)
{
    (void)closure;
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

static PyObject *Actor_set_clock(ActorObject *self, PyObject *args)
{
    unsigned long long physical, logical, node;
    if (!PyArg_ParseTuple(args, "KKK", &physical, &logical, &node))
        return NULL;
    self->actor->clock = (gl_clock){physical, logical, node};
    if (self->actor->wire) { /* the kernel is not there yet */
        atomic_store(&self->actor->wire->status->physical, physical);
        atomic_store(&self->actor->wire->status->logical, logical);
    }
    Py_RETURN_NONE;
}

/* bind(launch, plan, params): the function by which C launches the kernel, and its arguments */
static PyObject *Actor_bind(ActorObject *self, PyObject *args)
{
    unsigned long long launch, plan;
    Py_buffer params;
    if (!PyArg_ParseTuple(args, "KKy*", &launch, &plan, &params))
        return NULL;
    void *copy = NULL;
    if (posix_memalign(&copy, 64, params.len ? (size_t)params.len : 1)) {
        PyBuffer_Release(&params);
        return PyErr_NoMemory();
    }
    memcpy(copy, params.buf, (size_t)params.len);
    PyBuffer_Release(&params);
    free(self->actor->params);
    self->actor->params = copy;
    self->actor->launch = (gl_launch)(uintptr_t)launch;
    self->actor->plan = (const void *)(uintptr_t)plan;
    Py_RETURN_NONE;
}

static PyObject *Actor_schedule(ActorObject *self, PyObject *unused)
{
    (void)unused;
    if (closed(self->owner))
        return NULL;
    gl_schedule(self->actor);
    Py_RETURN_NONE;
}

/* begin(): the number of messages of the next step, for actors whose kernels Python launches */
static PyObject *Actor_begin(ActorObject *self, PyObject *unused)
{
    gl_actor *a = self->actor;
    uint32_t count = 0;
    (void)unused;
    if (closed(self->owner))
        return NULL;
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
    return PyLong_FromUnsignedLong(count);
}

static PyObject *Actor_end(ActorObject *self, PyObject *args)
{
    int code;
    if (closed(self->owner) || !PyArg_ParseTuple(args, "i", &code))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    atomic_fetch_add(&self->actor->engine->visitors, 1);
    atomic_store(&self->actor->since, 0);
    gl_step_end(self->actor, code);
    gl_step_over(self->actor);
    atomic_fetch_sub(&self->actor->engine->visitors, 1);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

/* hold(timeout): keep it from its next step until release(); returns whether it is held */
static PyObject *Actor_hold(ActorObject *self, PyObject *args)
{
    double seconds;
    int held;
    if (!PyArg_ParseTuple(args, "d", &seconds) || closed(self->owner))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    held = self->actor->wire ? gl_wire_hold(self->actor, until_of(seconds))
                             : gl_hold(self->actor, until_of(seconds));
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(held);
}

static PyObject *Actor_release(ActorObject *self, PyObject *unused)
{
    (void)unused;
    if (closed(self->owner))
        return NULL;
    if (self->actor->wire)
        gl_wire_release(self->actor);
    else
        gl_release(self->actor);
    Py_RETURN_NONE;
}

static PyObject *Actor_stop(ActorObject *self, PyObject *args)
{
    unsigned long long since;
    if (closed(self->owner) || !PyArg_ParseTuple(args, "K", &since))
        return NULL;
    return PyBool_FromLong(gl_stop_launch(self->actor, since));
}

static PyObject *Actor_report(ActorObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong((uintptr_t)self->actor->report);
}

/* drain(reason): deliver blocked outputs where there is room; bury the others and the inbox. No
   step and no post may run. Returns the number of buried messages. */
static PyObject *Actor_drain(ActorObject *self, PyObject *args)
{
    gl_actor *a = self->actor;
    unsigned int reason;
    unsigned long count = 0;
    if (closed(self->owner) || !PyArg_ParseTuple(args, "I", &reason))
        return NULL;
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
    return PyLong_FromUnsignedLong(count);
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
static PyObject *Actor_queued(ActorObject *self, PyObject *unused)
{
    gl_actor *a = self->actor;
    PyObject *in = letters(&a->inbox), *out = in ? letters(&a->outbox) : NULL;
    (void)unused;
    if (!out) {
        Py_XDECREF(in);
        return NULL;
    }
    return Py_BuildValue("NNII", in, out, a->settled ? 0 : a->handled, a->pending - a->sent);
}

static PyMethodDef Actor_methods[] = {
    {"bind", (PyCFunction)Actor_bind, METH_VARARGS, NULL},
    {"schedule", (PyCFunction)Actor_schedule, METH_NOARGS, NULL},
    {"begin", (PyCFunction)Actor_begin, METH_NOARGS, NULL},
    {"end", (PyCFunction)Actor_end, METH_VARARGS, NULL},
    {"hold", (PyCFunction)Actor_hold, METH_VARARGS, NULL},
    {"release", (PyCFunction)Actor_release, METH_NOARGS, NULL},
    {"stop", (PyCFunction)Actor_stop, METH_VARARGS, NULL},
    {"drain", (PyCFunction)Actor_drain, METH_VARARGS, NULL},
    {"recover", (PyCFunction)Actor_recover, METH_NOARGS, NULL},
    {"queued", (PyCFunction)Actor_queued, METH_NOARGS, NULL},
    {"connect", (PyCFunction)Actor_connect, METH_VARARGS, NULL},
    {"resides", (PyCFunction)Actor_resides, METH_VARARGS, NULL},
    {"ends", (PyCFunction)Actor_ends, METH_NOARGS, NULL},
    {"leaves", (PyCFunction)Actor_leaves, METH_NOARGS, NULL},
    {"give_up", (PyCFunction)Actor_give_up, METH_VARARGS, NULL},
    {"tables", (PyCFunction)Actor_tables, METH_VARARGS, NULL},
    {"refuse", (PyCFunction)Actor_refuse, METH_VARARGS, NULL},
    {"ended", (PyCFunction)Actor_ended, METH_NOARGS, NULL},
    {"retire", (PyCFunction)Actor_retire, METH_VARARGS, NULL},
    {"fail", (PyCFunction)Actor_fail, METH_VARARGS, NULL},
    {"skip", (PyCFunction)Actor_skip, METH_VARARGS, NULL},
    {"pause", (PyCFunction)Actor_pause, METH_VARARGS, NULL},
    {"held_back", (PyCFunction)Actor_held_back, METH_NOARGS, NULL},
    {"dam", (PyCFunction)Actor_dam, METH_VARARGS, NULL},
    {"keep", (PyCFunction)Actor_keep, METH_NOARGS, NULL},
    {"kept", (PyCFunction)Actor_kept, METH_NOARGS, NULL},
    {"ring", (PyCFunction)Actor_ring, METH_VARARGS, NULL},
    {"put", (PyCFunction)Actor_put, METH_O, NULL},
    {"put_kept", (PyCFunction)Actor_put_kept, METH_VARARGS, NULL},
    {"note_call", (PyCFunction)Actor_note_call, METH_O, NULL},
    {"load", (PyCFunction)Actor_load, METH_VARARGS, NULL},
    {"set_clock", (PyCFunction)Actor_set_clock, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef Actor_attributes[] = {
    {"control", (getter)Actor_control, NULL, NULL, NULL},
    {"places", (getter)Actor_places, NULL, NULL, NULL},
    {"phase", (getter)Actor_get_phase, (setter)Actor_set_phase, NULL, NULL},
    {"since", (getter)Actor_since, NULL, NULL, NULL},
    {"working", (getter)Actor_working, NULL, NULL, NULL},
    {"listed", (getter)Actor_listed, NULL, NULL, NULL},
    {"blocked", (getter)Actor_blocked, NULL, NULL, NULL},
    {"lengths", (getter)Actor_lengths, NULL, NULL, NULL},
    {"latencies", (getter)Actor_latencies, NULL, NULL, NULL},
    {"clock", (getter)Actor_clock, NULL, NULL, NULL},
    {"report", (getter)Actor_report, NULL, NULL, NULL},
    {"posted", (getter)Actor_posted, NULL, NULL, NULL},
    {"position", (getter)Actor_position, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject ActorType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gridlane.actors._engine.Actor",
    .tp_basicsize = sizeof(ActorObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = (destructor)Actor_dealloc,
    .tp_methods = Actor_methods,
    .tp_getset = Actor_attributes,
};
