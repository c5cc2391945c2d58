/* Read actors for a checkpoint, and restore new ones from it. The actors are held meanwhile. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "wire.h"

/* A caller in no process: replies to it are dead letters. */
#define NOBODY (GL_TO_WAITER | GL_NUMBERS)

/* pause(timeout): make senders wait until the phase is set again; returns whether no message is
   being posted */
int Actor_pause(ActorObject *self, double timeout)
{
    gl_actor *a = self->actor;
    int quiet;
    Py_BEGIN_ALLOW_THREADS
    uint64_t until = until_of(timeout);
    uint32_t old = atomic_load(&a->phase);
    while (!atomic_compare_exchange_weak(&a->phase, &old, GL_PAUSED | (old & GL_HAS_FAILED)))
        ;
    while ((quiet = !atomic_load(&a->posting)) == 0 && gl_elapsed() < until)
        gl_pause();
    Py_END_ALLOW_THREADS
    return quiet;
}

/* held_back(): (blocked outputs, messages handled, their headers where their slots are released,
   subscribers served, code): the rest of the last step */
PyObject *Actor_held_back(ActorObject *self)
{
    gl_actor *a = self->actor;
    PyObject *list = PyList_New(0);
    size_t headers = a->settled ? a->handled * sizeof *a->asked : 0;
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
PyObject *Actor_load(ActorObject *self, PyObject *inbox, PyObject *outbox, PyObject *outputs,
                     uint32_t handled, const Py_buffer *headers, uint64_t subscriber, int code,
                     uint64_t inbox_high, uint64_t outbox_high)
{
    gl_actor *a = self->actor;
    int failed = 0;
    if (gl_queue_length(&a->inbox) || gl_queue_length(&a->outbox) || a->pending)
        failed = wrong("what the actor has already");
    a->handled = handled;
    a->subscriber = subscriber;
    a->code = code;
    for (Py_ssize_t n = 0; !failed && n < PyList_GET_SIZE(inbox); n++)
        failed = copy_message(&a->inbox, PyList_GET_ITEM(inbox, n), a->type);
    for (Py_ssize_t n = 0; !failed && n < PyList_GET_SIZE(outbox); n++)
        failed = copy_message(&a->outbox, PyList_GET_ITEM(outbox, n), 0);
    for (Py_ssize_t n = 0; !failed && n < PyList_GET_SIZE(outputs); n++)
        failed = copy_output(a, PyList_GET_ITEM(outputs, n));
    if (!failed)
        failed = copy_asked(a, headers);
    /* A failed message is still in the inbox, behind the handled ones. */
    if (!failed && (uint64_t)(a->settled ? 0 : handled) + (code != 0) > gl_queue_length(&a->inbox))
        failed = wrong("the number of messages handled");
    if (failed) {
        a->handled = a->pending = a->settled = 0;
        a->code = 0;
        return NULL;
    }
    atomic_store(a->wire ? &a->wire->high : &a->inbox.inbox->high_water, inbox_high);
    atomic_store(&a->outbox.inbox->high_water, outbox_high);
    Py_RETURN_NONE;
}

/* adopt(physical, logical, dead_lost, dead_total): continue the clock and counters of another
   engine */
void Engine_adopt(EngineObject *self, uint64_t physical, uint64_t logical, uint64_t dead_lost,
                  uint64_t dead_total)
{
    gl_engine *engine = self->engine;
    pthread_mutex_lock(&engine->clock_mutex);
    if (physical >= engine->clock.physical) {
        engine->clock.physical = physical;
        engine->clock.logical = logical;
    }
    pthread_mutex_unlock(&engine->clock_mutex);
    pthread_mutex_lock(&engine->dead_mutex);
    engine->dead_lost = dead_lost;
    engine->dead_total = dead_total;
    pthread_mutex_unlock(&engine->dead_mutex);
}

/* dead_letters(): all dead letters, the oldest first: of each 8 bytes of the actor's number, its
   header, its payload. They stay. */
PyObject *Engine_dead_letters(EngineObject *self)
{
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
