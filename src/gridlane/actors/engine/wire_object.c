/* Actors with resident kernels for Python, and calls of them. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "wire.h"

#define HELD 100000ull /* nanoseconds that a call spins with the GIL held; a release costs time */
#define SILENT 20000000ull /* nanoseconds after which a handled message gets no answer */

/* connect(keep, inbox, out, answers, orders, status, control, latencies, shift, chunks, slot_bytes,
   out_shift, out_slot, answer_bytes): the memory that a kernel and the host share; `keep` owns it.
   Where the kernel counts latencies they are there, of zeros; elsewhere their address is 0. */
PyObject *Actor_connect(ActorObject *self, PyObject *keep, uint64_t inbox, uint64_t out,
                        uint64_t answers, uint64_t orders, uint64_t status, uint64_t control,
                        uint64_t latencies, uint32_t shift, uint32_t chunks, uint32_t slot_bytes,
                        uint32_t out_shift, uint32_t out_slot, uint32_t answer_bytes)
{
    gl_actor *a = self->actor;
    void *memory = NULL;
    if (a->wire || posix_memalign(&memory, 64, sizeof(gl_wire)))
        return PyErr_NoMemory();
    gl_wire *wire = memset(memory, 0, sizeof *wire);
    wire->letter_bytes = (out_slot / sizeof(gl_chunk) + 1) * GL_PIECE;
    wire->letter = malloc(wire->letter_bytes);
    if (!wire->letter) {
        free(wire);
        return PyErr_NoMemory();
    }
    wire->inbox = (uint8_t *)(uintptr_t)inbox;
    wire->out = (uint8_t *)(uintptr_t)out;
    wire->answers = (uint8_t *)(uintptr_t)answers;
    wire->orders = (gl_orders *)(uintptr_t)orders;
    wire->status = (gl_status *)(uintptr_t)status;
    wire->shift = shift;
    wire->chunks = chunks;
    wire->slot_bytes = slot_bytes;
    wire->out_shift = out_shift;
    wire->out_slot = out_slot;
    wire->answer_bytes = answer_bytes;
    atomic_store(&wire->free, ~0ull);
    atomic_store(&wire->orders->requests, 1);
    gl_control *there = (gl_control *)(uintptr_t)control;
    memcpy(there, a->control, sizeof *there);
    free(a->control);
    a->control = there;
    if (latencies) {
        free(a->latencies);
        a->latencies = (gl_latencies *)(uintptr_t)latencies;
        wire->timed = 1;
    }
    a->wire = wire;
    self->keep = Py_NewRef(keep);
    gl_wire_order(a);
    if (gl_wire_add(a))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* resides(raised): its kernel is about to run, and reports errors at an address, or nowhere (0) */
void Actor_resides(ActorObject *self, uint64_t raised)
{
    gl_wire *wire = self->actor->wire;
    wire->raised = (_Atomic uint32_t *)(uintptr_t)raised;
    wire->stopping = wire->leaving = 0;
    wire->resident = 1;
    gl_wire_order(self->actor);
}

/* ends(): order the kernel to end without handling more */
void Actor_ends(ActorObject *self)
{
    self->actor->wire->stopping = 1;
    gl_wire_order(self->actor);
}

/* leaves(): order the kernel to leave the device for a while */
void Actor_leaves(ActorObject *self)
{
    self->actor->wire->leaving = 1;
    gl_wire_order(self->actor);
}

/* give_up(since): request that the handler give up its message, if there is no heartbeat since
   then, or in any case (0); returns whether it was requested */
int Actor_give_up(ActorObject *self, uint64_t since)
{
    int asked;
    Py_BEGIN_ALLOW_THREADS
    asked = gl_wire_give_up(self->actor, since);
    Py_END_ALLOW_THREADS
    return asked;
}

/* tables(version): publish the version of the tables of routes */
void Actor_tables(ActorObject *self, uint32_t version)
{
    atomic_store(&self->actor->wire->orders->version, version);
}

/* refuse(chunks, ticket, reason): a message that the kernel has not handled; returns whether it
   is complete */
int Actor_refuse(ActorObject *self, const Py_buffer *chunks, uint64_t ticket, uint32_t reason)
{
    const gl_wire *wire = self->actor->wire;
    return (size_t)chunks->len >= wire->chunks * sizeof(gl_chunk)
           && gl_wire_refuse_chunks(self->actor, chunks->buf, gl_sequence_of(ticket, wire->shift),
                                    reason);
}

/* ended(): the kernel has ended; deliver the messages that it has sent */
void Actor_ended(ActorObject *self)
{
    gl_actor *a = self->actor;
    gl_wire *wire = a->wire;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&a->engine->wire_mutex);
    wire->resident = 0;
    atomic_store(&a->since, 0);
    atomic_store(&a->control->busy, 0);
    uint32_t code = wire->raised ? atomic_load(wire->raised) : 0;
    if (code && !atomic_load(&a->control->error))
        gl_wire_fail(a, code);
    pthread_mutex_unlock(&a->engine->wire_mutex);
    Py_END_ALLOW_THREADS
}

/* retire(shut): nothing of it runs any more. Deliver its messages where there is room, except
   to actors whose numbers and keys of names are in `shut`, each a uint64. */
void Actor_retire(ActorObject *self, const Py_buffer *shut)
{
    if (self->actor->wire && self->owner->engine) {
        Py_BEGIN_ALLOW_THREADS
        gl_wire_remove(self->actor, shut->buf, (uint32_t)(shut->len / 8));
        Py_END_ALLOW_THREADS
    }
}

/* fail(code): its kernel has ended with an error */
void Actor_fail(ActorObject *self, uint32_t code)
{
    gl_wire_fail(self->actor, code);
}

/* skip(reason): bury the message at which the kernel has ended */
uint64_t Actor_skip(ActorObject *self, uint32_t reason)
{
    return gl_wire_drain(self->actor, 1, reason);
}

/* position: (order, messages taken, messages sent, physical, logical, version of the tables, source
   of the current message), as the kernel published them, and the number of its delivered
   messages */
PyObject *Actor_position(const ActorObject *self)
{
    const gl_wire *wire = self->actor->wire;
    gl_status *status = wire->status;
    return Py_BuildValue("IKKKKIIK", atomic_load(&status->order),
                         (unsigned long long)atomic_load(&status->head),
                         (unsigned long long)atomic_load(&status->out_tail),
                         (unsigned long long)atomic_load(&status->physical),
                         (unsigned long long)atomic_load(&status->logical),
                         atomic_load(&status->version), atomic_load(&status->source),
                         (unsigned long long)(atomic_load(&wire->orders->out_head)
                                              - atomic_load(&wire->kept_count)));
}

void wire_free(gl_actor *actor)
{
    if (!actor->wire)
        return;
    gl_wire_forget(actor->wire);
    if (actor->wire->timed)
        actor->latencies = NULL;
    free(actor->wire->letter);
    free(actor->wire);
    actor->control = NULL; /* it is part of the memory that `keep` owns */
}

/* ---- calls */

typedef struct {
    gl_actor *actor;
    gl_letter *letter;
    const void *payload;
    uint64_t ticket;
    gl_wire_answer answer;
    uint32_t reason;
    uint64_t handled; /* the time at which it was seen handled */
} Call;

/* Whether its message is handled, and its handler has not replied. */
static int is_silent(Call *call)
{
    uint64_t now = gl_elapsed();
    if (atomic_load(&call->actor->wire->status->head) <= call->ticket)
        return 0;
    if (!call->handled)
        call->handled = now;
    return now - call->handled > SILENT;
}

/* Poll the answer for so long; returns whether it is there. */
static int spin(Call *call, uint64_t nanoseconds)
{
    const gl_wire *wire = call->actor->wire;
    uint64_t begin = 0, now = 0;
    do {
        for (int n = 0; n < 32; n++) {
            if (gl_wire_answered(wire, call->letter->reply_to, &call->answer, &call->reason))
                return 1;
            gl_pause();
        }
        now = gl_elapsed();
        begin = begin ? begin : now;
    } while (now - begin < nanoseconds);
    return 0;
}

/* Wait without the GIL until a time, with growing sleeps. */
static int park(Call *call, uint64_t spins, uint64_t until)
{
    if (spins && spin(call, spins))
        return 1;
    for (uint32_t sleeps = 0; gl_elapsed() < until; sleeps++) {
        gl_back_off(sleeps, 0, 20000, 320000);
        if (gl_wire_answered(call->actor->wire, call->letter->reply_to, &call->answer,
                             &call->reason))
            return 1;
        if (is_silent(call)) {
            call->reason = GL_UNANSWERED;
            return 1;
        }
        if (atomic_load(&call->actor->engine->stop))
            return 0;
    }
    return 0;
}

static int post(Call *call)
{
    gl_actor *to = call->actor;
    if (call->letter->payload_bytes > to->tier)
        return GL_TOO_LARGE;
    atomic_fetch_add_explicit(&to->posting, 1, memory_order_seq_cst);
    uint32_t phase = atomic_load_explicit(&to->phase, memory_order_seq_cst);
    int result = phase & GL_ACCEPTS  ? gl_wire_post(to, call->letter, call->payload, &call->ticket)
                 : phase & GL_PAUSED ? GL_IS_FULL /* a checkpoint is taken with the GIL held */
                                     : GL_INACTIVE;
    atomic_fetch_sub_explicit(&to->posting, 1, memory_order_release);
    return result;
}

/* Post and wait: 1 answered, 0 not in time, -1 with an exception; `posted` as of gl_post. */
static int wait_for(EngineObject *self, Call *call, uint64_t spins, uint64_t until, int *posted)
{
    int done = 0, failed = 1;
    uint64_t held = spins < HELD ? spins : HELD;
    while ((*posted = post(call)) == GL_IS_FULL && (failed = again(self, until)) == 1) {
        Py_BEGIN_ALLOW_THREADS
        gl_nap(20000);
        Py_END_ALLOW_THREADS
    }
    if (failed < 0 || *posted != GL_POSTED)
        return failed < 0 ? -1 : 0;
    done = spin(call, held);
    for (spins -= held; !done && (failed = again(self, until)) == 1; spins = 0) {
        uint64_t now = gl_elapsed();
        uint64_t slice = until > now && until - now > SLICE ? now + SLICE : until;
        Py_BEGIN_ALLOW_THREADS
        done = park(call, spins, slice);
        Py_END_ALLOW_THREADS
        if (atomic_load(&call->actor->engine->stop))
            break;
    }
    return done ? 1 : failed < 0 ? -1 : 0;
}

/* A call of a resident kernel, as call_actor; -1 where no place is free. */
int wire_call(EngineObject *self, Asked *asked, PyObject **result)
{
    gl_actor *actor = asked->actor;
    gl_letter letter = host_letter(self->engine, actor, asked->bytes, asked->begin);
    Call call = {.actor = actor, .letter = &letter, .payload = asked->payload};
    uint8_t payload[16384];
    int posted = GL_IS_FULL;
    *result = NULL;
    if (!gl_wire_claim(actor->wire, &letter.reply_to))
        return -1;
    letter.correlation = letter.reply_to;
    int done = wait_for(self, &call, asked->spin, asked->until, &posted);
    if (!self->engine) /* a signal handler has forked: the memory belongs to the other process too */
        return 0;
    int is_answer = done == 1 && !call.reason;
    if (is_answer)
        gl_wire_read_answer(actor->wire, letter.reply_to, call.answer.bytes, payload);
    gl_wire_leave(actor->wire, letter.reply_to, call.ticket, done == 1 || posted != GL_POSTED);
    if (is_answer) {
        uint64_t end = gl_elapsed();
        gl_host_merge(self->engine, &call.answer.clock, end);
        gl_wire_note_call(actor, &letter, &call.answer, asked->begin, end);
        asked->is_answer = 1;
        *result = asked->make(asked->context, payload, call.answer.bytes);
    } else if (done == 1) {
        *result = PyLong_FromUnsignedLong(call.reason);
    } else if (!done) {
        *result = posted > 0              ? PyLong_FromLong(posted)
                  : posted == GL_IS_FULL ? PyLong_FromLong(GL_FULL)
                                         : Py_NewRef(Py_None);
    }
    return 0;
}

/* time_calls(actor, payload, count, pause): nanoseconds of each of so many calls by gl_call, as
   uint64; `pause` nanoseconds lie between two */
PyObject *Engine_time_calls(EngineObject *self, gl_actor *actor, const Py_buffer *payload,
                            Py_ssize_t count, uint64_t pause)
{
    (void)self;
    Py_ssize_t n = 0;
    PyObject *made = actor->wire && count > 0 ? PyBytes_FromStringAndSize(NULL, 8 * count) : NULL;
    if (made) {
        uint64_t *times = (uint64_t *)PyBytes_AS_STRING(made);
        uint8_t reply[16384];
        Py_BEGIN_ALLOW_THREADS
        for (; n < count; n++) {
            uint64_t begin = gl_elapsed(), after = begin + pause;
            uint32_t room = sizeof reply;
            while (begin < after)
                begin = gl_elapsed();
            if (gl_call(actor, payload->buf, (uint32_t)payload->len, reply, &room, begin + SLICE))
                break;
            times[n] = gl_elapsed() - begin;
        }
        Py_END_ALLOW_THREADS
    }
    if (n == count && made)
        return made;
    Py_XDECREF(made);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "a call was not answered, or the actor takes none so");
    return NULL;
}
