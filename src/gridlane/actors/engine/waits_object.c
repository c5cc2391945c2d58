/* Waits of Python's own threads, dead letters, and counters. */
#include <stdlib.h>
#include <string.h>

#include "objects.h"

static PyObject *wait_for_actor(EngineObject *self, double seconds, int events)
{
    gl_engine *engine = self->engine;
    gl_actor *found = NULL;
    uint64_t until = until_of(seconds), number = 0;
    Py_BEGIN_ALLOW_THREADS
    if (events)
        gl_follow_time();
    pthread_mutex_lock(&engine->mutex);
    for (;;) {
        if (events && engine->first_event) {
            found = engine->first_event;
            engine->first_event = found->next_event;
            if (!engine->first_event)
                engine->last_event = NULL;
            found->in_events = 0;
        } else if (!events && engine->host_head != engine->host_tail) {
            found = engine->host_ready[engine->host_head++ % GL_RUN_QUEUE];
        }
        if (found || atomic_load(&engine->stop) || gl_elapsed() >= until)
            break;
        gl_cond_wait(events ? &engine->events : &engine->host, &engine->mutex, slice_of(until));
    }
    if (found)
        number = found->id; /* out of the list, it may be freed */
    pthread_mutex_unlock(&engine->mutex);
    Py_END_ALLOW_THREADS
    if (!found)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(number);
}

/* take(timeout): the id of an actor that Python has to run, or None */
PyObject *Engine_take(EngineObject *self, double timeout)
{
    return wait_for_actor(self, timeout, 0);
}

/* failed(timeout): the id of an actor whose handler failed, or None */
PyObject *Engine_failed(EngineObject *self, double timeout)
{
    return wait_for_actor(self, timeout, 1);
}

/* dead(): take (actor, header and payload) of the oldest dead letter, or None */
PyObject *Engine_dead(EngineObject *self)
{
    gl_engine *engine = self->engine;
    pthread_mutex_lock(&engine->dead_mutex);
    gl_dead *dead = engine->dead_first;
    if (dead) {
        engine->dead_first = dead->next;
        if (!engine->dead_first)
            engine->dead_last = NULL;
        engine->dead_count--;
    }
    pthread_mutex_unlock(&engine->dead_mutex);
    if (!dead)
        Py_RETURN_NONE;
    PyObject *made = PyBytes_FromStringAndSize(
        NULL, (Py_ssize_t)(sizeof(gl_header) + dead->header.payload_bytes));
    if (made) {
        memcpy(PyBytes_AS_STRING(made), &dead->header, sizeof(gl_header));
        memcpy(PyBytes_AS_STRING(made) + sizeof(gl_header), dead->payload, dead->header.payload_bytes);
        made = Py_BuildValue("KN", (unsigned long long)dead->actor, made);
    }
    free(dead);
    return made;
}

/* bury(actor, header and payload): store a dead letter again */
PyObject *Engine_bury(EngineObject *self, uint64_t actor, const Py_buffer *message, uint32_t reason)
{
    gl_header header;
    if ((size_t)message->len < sizeof header) {
        PyErr_SetString(PyExc_ValueError, "a message begins with its header");
        return NULL;
    }
    memcpy(&header, message->buf, sizeof header);
    if (sizeof header + header.payload_bytes != (size_t)message->len) {
        PyErr_SetString(PyExc_ValueError, "a message has the length that its header says");
        return NULL;
    }
    gl_letter letter;
    gl_letter_of(&letter, &header);
    gl_bury(self->engine, actor, &letter, (uint8_t *)message->buf + sizeof header, reason);
    Py_RETURN_NONE;
}

/* expire(time): drop the dead letters that were posted before it; returns their number */
uint64_t Engine_expire(EngineObject *self, uint64_t limit)
{
    unsigned long long count = 0;
    gl_engine *engine = self->engine;
    gl_dead *dropped = NULL, *last = NULL, **place = &engine->dead_first;
    pthread_mutex_lock(&engine->dead_mutex);
    for (gl_dead *dead = *place; dead; dead = *place) {
        if (dead->header.clock.physical < limit) {
            *place = dead->next;
            dead->next = dropped;
            dropped = dead;
            count++;
        } else {
            last = dead;
            place = &dead->next;
        }
    }
    engine->dead_last = last;
    engine->dead_count -= count;
    pthread_mutex_unlock(&engine->dead_mutex);
    while (dropped) {
        gl_dead *next = dropped->next;
        free(dropped);
        dropped = next;
    }
    return count;
}

/* facts(): numbers of the engine */
PyObject *Engine_facts(EngineObject *self)
{
    gl_engine *engine = self->engine;
    pthread_mutex_lock(&engine->dead_mutex);
    uint64_t count = engine->dead_count, lost = engine->dead_lost, total = engine->dead_total;
    pthread_mutex_unlock(&engine->dead_mutex);
    gl_clock clock = engine->clock;
    return Py_BuildValue("{s:K,s:K,s:K,s:I,s:I,s:K,s:K}", "dead", (unsigned long long)count,
                         "dead_lost", (unsigned long long)lost, "dead_total",
                         (unsigned long long)total, "workers", engine->workers, "parked",
                         __atomic_load_n(&engine->parked, __ATOMIC_SEQ_CST), "physical",
                         (unsigned long long)clock.physical, "logical",
                         (unsigned long long)clock.logical);
}

/* hung(limit): the numbers of actors whose step has run for more than `limit` nanoseconds */
PyObject *Engine_hung(EngineObject *self, PyObject *limit)
{
    uint64_t longest = PyLong_AsUnsignedLongLong(limit), now = gl_elapsed();
    PyObject *found, *iterator, *each;
    if (PyErr_Occurred() || closed(self) || !(found = PyList_New(0)))
        return NULL;
    iterator = PyObject_GetIter(self->actors);
    while (iterator && (each = PyIter_Next(iterator))) {
        gl_actor *actor = ((ActorObject *)each)->actor;
        uint64_t since = atomic_load(&actor->since);
        if (since && now > since && now - since > longest) {
            PyObject *number = PyLong_FromUnsignedLongLong(actor->id);
            if (number)
                PyList_Append(found, number);
            Py_XDECREF(number);
        }
        Py_DECREF(each);
    }
    Py_XDECREF(iterator);
    if (PyErr_Occurred())
        Py_CLEAR(found);
    return found;
}
