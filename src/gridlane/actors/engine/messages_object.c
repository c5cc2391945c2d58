/* Messages of the host: posts, calls and their answers. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"

gl_letter host_letter(gl_engine *engine, const gl_actor *actor, size_t bytes, uint64_t elapsed)
{
    return (gl_letter){.type = actor->type, .source = 0, .payload_bytes = (uint32_t)bytes,
                       .clock = gl_host_clock(engine, 1, elapsed)};
}

/* Whether an unfinished post or wait continues: after a slice, Python's signal handlers run. A
   handler may fork: the engine is then not this process's. */
int again(EngineObject *self, uint64_t until)
{
    if (PyErr_CheckSignals() || closed(self))
        return -1;
    return gl_elapsed() < until;
}

static PyObject *answer_of(const gl_waiter *waiter, gl_engine *engine, Asked *asked)
{
    uint64_t end = gl_elapsed();
    gl_host_merge(engine, &waiter->clock, end);
    if (waiter->reason)
        return PyLong_FromUnsignedLong(waiter->reason);
    /* The GIL makes this the only writer. */
    gl_note(&asked->actor->latencies->calls, gl_between(asked->begin, end), 1);
    asked->is_answer = 1;
    return asked->make(asked->context, waiter->payload, waiter->bytes);
}

/* Post a message and wait for its answer: its value, a reason, None at a timeout, or NULL with an
   exception. */
PyObject *call_actor(EngineObject *self, Asked *asked)
{
    gl_engine *engine = self->engine;
    gl_actor *actor = asked->actor;
    uint64_t until = asked->until, spin = asked->spin, ticket;
    PyObject *result = NULL;
    if (closed(self)) /* the code that packed the message may have forked */
        return NULL;
    if (actor->wire && !wire_call(self, asked, &result))
        return result;
    ticket = gl_wait_begin(engine, actor->id, 0);
    if (!ticket) {
        PyErr_SetString(PyExc_RuntimeError, "too many callers wait for answers at once");
        return NULL;
    }
    gl_letter letter = host_letter(engine, actor, asked->bytes, asked->begin);
    letter.reply_to = letter.correlation = ticket;
    int posted, done = 0, failed = 0;
    do {
        uint64_t slice = slice_of(until);
        Py_BEGIN_ALLOW_THREADS
        posted = gl_post_until(actor, &letter, asked->payload, slice);
        if (posted == GL_POSTED)
            done = gl_wait(engine, ticket, spin, slice);
        Py_END_ALLOW_THREADS
    } while (posted == GL_IS_FULL && (failed = again(self, until)) == 1);
    while (posted == GL_POSTED && !done && !atomic_load(&engine->stop)
           && (failed = again(self, until)) == 1) {
        uint64_t slice = slice_of(until);
        Py_BEGIN_ALLOW_THREADS
        done = gl_wait(engine, ticket, 0, slice);
        Py_END_ALLOW_THREADS
    }
    if (failed >= 0) {
        if (!done) /* a release of the GIL may have taken long */
            done = gl_has_answer(engine, ticket);
        if (done)
            result = answer_of(gl_waiter_of(engine, ticket), engine, asked);
        else if (posted > 0)
            result = PyLong_FromLong(posted);
        else if (posted == GL_IS_FULL)
            result = PyLong_FromLong(GL_FULL);
        else
            result = Py_NewRef(Py_None);
    }
    if (self->engine)
        gl_wait_end(engine, ticket, done);
    return result;
}

/* post(actor, payload, timeout, reply, deadline, topic, correlation, attempt, flags, bury): 0 or a
   reason.

   `reply`: 0 none, the bit TO_OUTBOX for the actor's outbox, else an actor's number. A timeout of 0
   does not wait. `bury`: 1 where a message for a full inbox is a dead letter, 2 where one that is
   refused for another reason is. */
PyObject *Engine_post(EngineObject *self, gl_actor *actor, const Py_buffer *payload, double timeout,
                      uint64_t reply, uint64_t deadline, uint64_t topic, uint64_t correlation,
                      uint32_t attempt, int flags, int bury)
{
    int result = GL_IS_FULL, failed = 0;
    uint64_t until = until_of(timeout);
    gl_letter letter = host_letter(self->engine, actor, (size_t)payload->len, gl_elapsed());
    letter.reply_to = reply & GL_TO_OUTBOX ? GL_TO_OUTBOX | actor->id : reply;
    letter.deadline = deadline;
    letter.topic = topic;
    letter.correlation = correlation;
    letter.attempt = attempt;
    letter.flags = (uint32_t)flags;
    do {
        uint64_t slice = slice_of(until);
        Py_BEGIN_ALLOW_THREADS
        result = gl_post_until(actor, &letter, payload->buf, slice);
        Py_END_ALLOW_THREADS
    } while (result == GL_IS_FULL && (failed = again(self, until)) == 1);
    if (result == GL_IS_FULL)
        result = GL_FULL;
    if (result && bury & (result == GL_FULL ? 1 : 2) && failed >= 0) {
        gl_bury(self->engine, actor->id, &letter, payload->buf, (uint32_t)result);
        atomic_fetch_add_explicit(&actor->control->dead, 1, memory_order_relaxed);
    }
    return failed < 0 ? NULL : PyLong_FromLong(result);
}

/* post_many(actor, payloads, size, timeout, reply, alone): (messages posted, reason) */
PyObject *Engine_post_many(EngineObject *self, gl_actor *actor, const Py_buffer *payloads,
                           uint32_t size, double timeout, int reply, int alone)
{
    if (!size) {
        PyErr_SetString(PyExc_ValueError, "a message has at least one byte");
        return NULL;
    }
    uint64_t until = until_of(timeout), total = (uint64_t)payloads->len / size, done = 0;
    int result = GL_POSTED, failed = 0;
    while (done < total) {
        uint64_t slice = slice_of(until);
        Py_BEGIN_ALLOW_THREADS
        gl_letter letter = {.type = actor->type, .payload_bytes = size,
                            .reply_to = reply ? GL_TO_OUTBOX | actor->id : 0,
                            .clock = gl_host_clock(self->engine, total - done, gl_elapsed())};
        uint64_t posted;
        result = gl_post_run_until(actor, &letter, (const uint8_t *)payloads->buf + done * size,
                                   total - done, alone, slice, &posted);
        done += posted;
        Py_END_ALLOW_THREADS
        failed = again(self, until);
        if (failed < 0 || (result && result != GL_IS_FULL) || (result && !failed))
            break;
    }
    if (failed < 0)
        return NULL;
    return Py_BuildValue("Ki", (unsigned long long)done, result == GL_IS_FULL ? GL_FULL : result);
}

/* post_async(actor, payload, timeout): (ticket, reason); completed() returns the ticket after its
   answer */
PyObject *Engine_post_async(EngineObject *self, gl_actor *actor, const Py_buffer *payload)
{
    uint64_t ticket = gl_wait_begin(self->engine, actor->id, 1);
    if (!ticket) {
        PyErr_SetString(PyExc_RuntimeError, "too many callers wait for answers at once");
        return NULL;
    }
    int result;
    gl_letter letter = host_letter(self->engine, actor, (size_t)payload->len, gl_elapsed());
    letter.reply_to = letter.correlation = ticket;
    Py_BEGIN_ALLOW_THREADS
    result = gl_post(actor, &letter, payload->buf, 0);
    Py_END_ALLOW_THREADS
    if (result)
        gl_wait_end(self->engine, ticket, 0);
    return Py_BuildValue("Ki", (unsigned long long)ticket, result == GL_IS_FULL ? GL_FULL : result);
}

/* cancel(ticket): the caller has its answer, or waits no more; an answer that was not taken is a
   dead letter */
void Engine_cancel(EngineObject *self, uint64_t ticket)
{
    gl_wait_end(self->engine, ticket, 0);
}

/* completed(timeout): the ticket of an asynchronous caller that has an answer, or had one and was
   cancelled; or None */
PyObject *Engine_completed(EngineObject *self, double timeout)
{
    gl_engine *engine = self->engine;
    uint64_t until = until_of(timeout), ticket = 0;
    Py_BEGIN_ALLOW_THREADS
    pthread_mutex_lock(&engine->answer_mutex);
    while (engine->completed_head == engine->completed_tail && !atomic_load(&engine->stop)
           && gl_elapsed() < until) {
        gl_cond_wait(&engine->answers, &engine->answer_mutex, slice_of(until));
    }
    if (engine->completed_head != engine->completed_tail) {
        ticket = engine->completed[engine->completed_head++ % GL_COMPLETED];
        pthread_cond_signal(&engine->taken);
    }
    pthread_mutex_unlock(&engine->answer_mutex);
    Py_END_ALLOW_THREADS
    if (!ticket)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(ticket);
}

/* answer(ticket): take (reason, payload) of an asynchronous caller, or None */
PyObject *Engine_answer(EngineObject *self, uint64_t ticket)
{
    gl_engine *engine = self->engine;
    if (!gl_has_answer(engine, ticket))
        Py_RETURN_NONE;
    gl_waiter *waiter = gl_waiter_of(engine, ticket);
    gl_host_merge(engine, &waiter->clock, gl_elapsed());
    PyObject *made = Py_BuildValue("Iy#", waiter->reason,
                                   waiter->payload ? (char *)waiter->payload : "",
                                   (Py_ssize_t)waiter->bytes);
    if (made)
        gl_wait_end(engine, ticket, 1);
    return made;
}

/* Whether the actor will reply no more; Python writes the state. */
static int has_ended(const gl_actor *actor)
{
    return atomic_load(&actor->control->state) == GL_TERMINATED;
}

/* Whether there is a reply now: another thread may have taken the next one. */
static int has_reply(const gl_actor *actor)
{
    return gl_queue_has(&actor->outbox, atomic_load(&actor->outbox.inbox->head));
}

/* receive(actor, timeout): the header and payload of the next reply in the outbox, or None. It does
   not wait for an actor that has ended. */
PyObject *Engine_receive(EngineObject *self, gl_actor *actor, double timeout)
{
    gl_engine *engine = self->engine;
    uint64_t until = until_of(timeout);
    for (;;) {
        /* The GIL makes this the only consumer. */
        uint64_t head = atomic_load(&actor->outbox.inbox->head);
        if (gl_queue_has(&actor->outbox, head)) {
            gl_header *slot = gl_slot(&actor->outbox, head);
            PyObject *made = PyBytes_FromStringAndSize(
                (char *)slot, (Py_ssize_t)(sizeof(gl_header) + slot->payload_bytes));
            if (!made)
                return NULL;
            ((gl_header *)PyBytes_AS_STRING(made))->sequence = head;
            gl_host_merge(engine, &slot->clock, gl_elapsed());
            gl_queue_note_high(&actor->outbox);
            gl_queue_release(&actor->outbox);
            return made;
        }
        int failed = again(self, until);
        if (failed < 0)
            return NULL;
        if (!failed || atomic_load(&engine->stop) || has_ended(actor))
            Py_RETURN_NONE;
        Py_BEGIN_ALLOW_THREADS
        uint64_t begin = gl_elapsed();
        while (!has_reply(actor) && gl_elapsed() - begin < 20000)
            gl_pause();
        gl_park(&engine->answer_parked, &engine->answer_mutex);
        atomic_thread_fence(memory_order_seq_cst);
        if (!has_reply(actor) && !atomic_load(&engine->stop))
            gl_cond_wait(&engine->answered, &engine->answer_mutex, slice_of(until));
        gl_rise(&engine->answer_parked, &engine->answer_mutex);
        Py_END_ALLOW_THREADS
    }
}
