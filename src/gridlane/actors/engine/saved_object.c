/* Read actors for a checkpoint, and restore new ones from it. The actors are held meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "wire.h"

/* A caller in no process: replies to it are dead letters. */
#define NOBODY (GL_TO_WAITER | 0xFFFFF)

/* pause(timeout): make senders wait until the phase is set again; returns whether no message is
   being posted */
PyObject *Actor_pause(ActorObject *self, PyObject *args)
{
    gl_actor *a = self->actor;
    double seconds;
    int quiet;
    if (closed(self->owner) || !PyArg_ParseTuple(args, "d", &seconds))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    uint64_t until = until_of(seconds);
    uint32_t old = atomic_load(&a->phase);
    while (!atomic_compare_exchange_weak(&a->phase, &old, GL_PAUSED | (old & GL_HAS_FAILED)))
        ;
    while ((quiet = !atomic_load(&a->posting)) == 0 && gl_elapsed() < until)
        gl_pause();
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(quiet);
}

/* held_back(): (blocked outputs, messages handled, their headers where their slots are released,
   subscribers served, code): the rest of the last step */
PyObject *Actor_held_back(ActorObject *self, PyObject *unused)
{
    gl_actor *a = self->actor;
    PyObject *list = PyList_New(0);
    size_t headers = a->settled ? a->handled * sizeof *a->asked : 0;
    (void)unused;
    for (uint32_t n = a->sent; list && n < a->pending; n++) {
        gl_output *output = (gl_output *)(a->output + (size_t)n * a->output_bytes);
        PyObject *item = PyBytes_FromStringAndSize(
            (char *)output, (Py_ssize_t)(sizeof *output + output->payload_bytes));
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    if (!list)
        return NULL;
    return Py_BuildValue("NIy#Ki", list, a->handled, headers ? (char *)a->asked : "",
                         (Py_ssize_t)headers, (unsigned long long)a->subscriber, a->code);
}

static int wrong(const char *what)
{
    PyErr_Format(PyExc_ValueError, "%s does not fit the actor", what);
    return -1;
}

void gl_forget_caller(gl_header *header)
{
    if (header->reply_to & (GL_TO_WAITER | GL_TO_OUTSIDE))
        header->reply_to = NOBODY;
}

/* A message for a slot: -1 with an exception if it is incomplete or too large. */
static int copy_message(gl_queue *queue, PyObject *item, uint64_t type)
{
    gl_header header;
    uint64_t ticket;
    size_t bytes;
    if (!PyBytes_Check(item) || (bytes = (size_t)PyBytes_GET_SIZE(item)) < sizeof header)
        return wrong("a message");
    memcpy(&header, PyBytes_AS_STRING(item), sizeof header);
    if (header.magic != GL_MAGIC || header.version != GL_VERSION || bytes > queue->slot_bytes
        || sizeof header + header.payload_bytes != bytes || (type && header.type != type))
        return wrong("a message");
    gl_header *slot = gl_queue_claim_alone(queue, &ticket);
    if (!slot)
        return wrong("the number of messages");
    gl_forget_caller(&header);
    memcpy(slot, &header, sizeof header);
    memcpy(slot + 1, PyBytes_AS_STRING(item) + sizeof header, header.payload_bytes);
    gl_queue_publish(queue, slot, ticket);
    return 0;
}

static int copy_output(gl_actor *a, PyObject *item)
{
    gl_output *to = (gl_output *)(a->output + (size_t)a->pending * a->output_bytes), from;
    size_t bytes;
    if (!PyBytes_Check(item) || (bytes = (size_t)PyBytes_GET_SIZE(item)) < sizeof from)
        return wrong("an output");
    memcpy(&from, PyBytes_AS_STRING(item), sizeof from);
    if (a->pending == a->outputs || bytes > a->output_bytes || sizeof from + from.payload_bytes != bytes
        || from.message >= a->handled + (a->code != 0) || from.kind < GL_REPLY
        || from.kind > GL_PUBLISH)
        return wrong("an output");
    memcpy(to, PyBytes_AS_STRING(item), bytes);
    a->pending++;
    return 0;
}

/* The headers of messages whose slots are released already. */
static int copy_asked(gl_actor *a, const Py_buffer *headers)
{
    if (!headers->len)
        return 0;
    if ((size_t)headers->len != a->handled * sizeof *a->asked)
        return wrong("the number of messages handled");
    /* An actor with a resident kernel may have more of them than a batch. */
    size_t room = a->handled > a->batch ? a->handled : a->batch;
    if (!a->asked && !(a->asked = calloc(room, sizeof *a->asked))) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(a->asked, headers->buf, (size_t)headers->len);
    for (uint32_t n = 0; n < a->handled; n++)
        gl_forget_caller(&a->asked[n]);
    a->settled = 1;
    return 0;
}

/* load(inbox, outbox, outputs, handled, headers, subscriber, code, inbox_high, outbox_high): the
   queues of a new actor, to which no route leads yet */
PyObject *Actor_load(ActorObject *self, PyObject *args)
{
    gl_actor *a = self->actor;
    PyObject *in, *out, *outputs;
    Py_buffer headers;
    unsigned long long subscriber, in_high, out_high;
    unsigned int handled;
    int code, failed = 0;
    if (closed(self->owner)
        || !PyArg_ParseTuple(args, "O!O!O!Iy*KiKK", &PyList_Type, &in, &PyList_Type, &out,
                             &PyList_Type, &outputs, &handled, &headers, &subscriber, &code,
                             &in_high, &out_high))
        return NULL;
    if (gl_queue_length(&a->inbox) || gl_queue_length(&a->outbox) || a->pending)
        failed = wrong("what the actor has already");
    a->handled = handled;
    a->subscriber = subscriber;
    a->code = code;
    for (Py_ssize_t n = 0; !failed && n < PyList_GET_SIZE(in); n++)
        failed = copy_message(&a->inbox, PyList_GET_ITEM(in, n), a->type);
    for (Py_ssize_t n = 0; !failed && n < PyList_GET_SIZE(out); n++)
        failed = copy_message(&a->outbox, PyList_GET_ITEM(out, n), 0);
    for (Py_ssize_t n = 0; !failed && n < PyList_GET_SIZE(outputs); n++)
        failed = copy_output(a, PyList_GET_ITEM(outputs, n));
    if (!failed)
        failed = copy_asked(a, &headers);
    /* A failed message is still in the inbox, behind the handled ones. */
    if (!failed && (uint64_t)(a->settled ? 0 : handled) + (code != 0) > gl_queue_length(&a->inbox))
        failed = wrong("the number of messages handled");
    PyBuffer_Release(&headers);
    if (failed) {
        a->handled = a->pending = a->settled = 0;
        a->code = 0;
        return NULL;
    }
    atomic_store(a->wire ? &a->wire->high : &a->inbox.inbox->high_water, in_high);
    atomic_store(&a->outbox.inbox->high_water, out_high);
    Py_RETURN_NONE;
}

/* adopt(physical, logical, dead_lost, dead_total): continue the clock and counters of another
   engine */
PyObject *Engine_adopt(EngineObject *self, PyObject *args)
{
    unsigned long long physical, logical, lost, total;
    if (closed(self) || !PyArg_ParseTuple(args, "KKKK", &physical, &logical, &lost, &total))
        return NULL;
    gl_engine *engine = self->engine;
    pthread_mutex_lock(&engine->clock_mutex);
    if (physical >= engine->clock.physical) {
        engine->clock.physical = physical;
        engine->clock.logical = logical;
    }
    pthread_mutex_unlock(&engine->clock_mutex);
    pthread_mutex_lock(&engine->dead_mutex);
    engine->dead_lost = lost;
    engine->dead_total = total;
    pthread_mutex_unlock(&engine->dead_mutex);
    Py_RETURN_NONE;
}

/* dead_letters(): all dead letters, the oldest first: of each 8 bytes of the actor's number, its
   header, its payload. They stay. */
PyObject *Engine_dead_letters(EngineObject *self, PyObject *unused)
{
    (void)unused;
    if (closed(self))
        return NULL;
    gl_engine *engine = self->engine;
    size_t bytes = 0, done = 0;
    pthread_mutex_lock(&engine->dead_mutex);
    for (gl_dead *dead = engine->dead_first; dead; dead = dead->next)
        bytes += sizeof dead->actor + sizeof(gl_header) + dead->header.payload_bytes;
    char *copy = malloc(bytes + 1);
    for (gl_dead *dead = engine->dead_first; copy && dead; dead = dead->next) {
        memcpy(copy + done, &dead->actor, sizeof dead->actor);
        memcpy(copy + done + sizeof dead->actor, &dead->header, sizeof(gl_header));
        done += sizeof dead->actor + sizeof(gl_header);
        memcpy(copy + done, dead->payload, dead->header.payload_bytes);
        done += dead->header.payload_bytes;
    }
    pthread_mutex_unlock(&engine->dead_mutex);
    if (!copy)
        return PyErr_NoMemory();
    PyObject *made = PyBytes_FromStringAndSize(copy, (Py_ssize_t)bytes);
    free(copy);
    return made;
}
