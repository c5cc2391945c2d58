/* Latencies and traces for Python. */
#include <string.h>

#include "objects.h"
#include "wire.h"

PyObject *Actor_latencies(const ActorObject *self)
{
    return PyMemoryView_FromMemory((char *)self->actor->latencies, sizeof(gl_latencies), PyBUF_READ);
}

/* note_call(nanoseconds): an asynchronous call was answered. The GIL makes this the only writer. */
PyObject *Actor_note_call(ActorObject *self, PyObject *nanoseconds)
{
    uint64_t taken = PyLong_AsUnsignedLongLong(nanoseconds);
    if (PyErr_Occurred())
        return NULL;
    gl_note(&self->actor->latencies->calls, taken, 1);
    Py_RETURN_NONE;
}

/* trace_begin(size): store the last `size` events of messages, a power of two; ValueError during a
   trace */
PyObject *Engine_trace_begin(EngineObject *self, uint64_t size)
{
    gl_engine *engine = self->engine;
    if (atomic_load(&engine->trace) || !size || size & (size - 1) || size > 1u << 26) {
        PyErr_SetString(PyExc_ValueError, "one trace at a time, of a power of two events");
        return NULL;
    }
    if (!engine->ring || engine->ring->mask != size - 1) {
        gl_trace *made = gl_trace_new(size);
        if (!made)
            return PyErr_NoMemory();
        if (engine->ring)
            made->spans = atomic_load(&engine->ring->spans);
        /* Lifetime: a thread may still write to the older ring, so it is freed with the engine. */
        gl_trace **list = realloc(engine->rings, (engine->ring_count + 1) * sizeof *list);
        if (!list) {
            free(made);
            return PyErr_NoMemory();
        }
        engine->rings = list;
        engine->rings[engine->ring_count++] = engine->ring = made;
    }
    engine->ring->first = atomic_load(&engine->ring->tail);
    atomic_store(&engine->trace, engine->ring);
    Py_RETURN_NONE;
}

/* trace_end(): (events of 7 words each, how many were dropped) */
PyObject *Engine_trace_end(EngineObject *self)
{
    gl_engine *engine = self->engine;
    Py_BEGIN_ALLOW_THREADS
    gl_wire_hear(engine);
    Py_END_ALLOW_THREADS
    gl_trace *trace = atomic_exchange(&engine->trace, NULL);
    if (!trace) {
        PyErr_SetString(PyExc_ValueError, "there is no trace");
        return NULL;
    }
    uint64_t end = atomic_load(&trace->tail), size = trace->mask + 1, kept = 0;
    uint64_t begin = end - trace->first > size ? end - size : trace->first;
    uint64_t(*copy)[7] = malloc((end - begin + 1) * sizeof *copy);
    if (!copy)
        return PyErr_NoMemory();
    for (uint64_t ticket = begin; ticket < end; ticket++) {
        gl_record *record = &trace->record[ticket & trace->mask];
        if (atomic_load_explicit(&record->turn, memory_order_acquire) != 2 * ticket + 2)
            continue; /* it is being written, or holds a later event */
        for (int n = 0; n < 7; n++)
            copy[kept][n] = atomic_load_explicit(&record->word[n], memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        kept += atomic_load_explicit(&record->turn, memory_order_relaxed) == 2 * ticket + 2;
    }
    PyObject *made = Py_BuildValue("y#K", (char *)copy, (Py_ssize_t)(kept * sizeof *copy),
                                   (unsigned long long)(end - trace->first - kept));
    free(copy);
    return made;
}
