/* gridlane.actors._engine: the engine as types of Python. */
#include <stddef.h>

#include "objects.h"
#include "outside.h"

/* ---- the offsets of C's structures, for a test */

#define PLACE(type, field) {#type "." #field, offsetof(type, field)}
static const struct {
    const char *name;
    size_t offset;
} PLACES[] = {
    PLACE(gl_header, magic), PLACE(gl_header, version), PLACE(gl_header, flags),
    PLACE(gl_header, type), PLACE(gl_header, source), PLACE(gl_header, destination),
    PLACE(gl_header, correlation), PLACE(gl_header, reply_to), PLACE(gl_header, payload_bytes),
    PLACE(gl_header, tier), PLACE(gl_header, sequence), PLACE(gl_header, clock),
    PLACE(gl_header, deadline), PLACE(gl_header, topic), PLACE(gl_header, hops),
    PLACE(gl_header, priority), PLACE(gl_header, attempt), PLACE(gl_header, reason),
    PLACE(gl_header, trace), PLACE(gl_header, span), PLACE(gl_header, reserved),
    PLACE(gl_control, state), PLACE(gl_control, command), PLACE(gl_control, heartbeat),
    PLACE(gl_control, received), PLACE(gl_control, answered), PLACE(gl_control, failed),
    PLACE(gl_control, dead), PLACE(gl_control, last_message), PLACE(gl_control, busy),
    PLACE(gl_control, error), PLACE(gl_control, inbox_high), PLACE(gl_control, outbox_high),
    PLACE(gl_control, clock), PLACE(gl_control, actor), PLACE(gl_control, epoch),
    PLACE(gl_control, block), PLACE(gl_control, idle), PLACE(gl_control, reserved),
    PLACE(gl_inbox, capacity), PLACE(gl_inbox, slot_bytes), PLACE(gl_inbox, tail),
    PLACE(gl_inbox, head), PLACE(gl_inbox, high_water), PLACE(gl_inbox, dead),
    PLACE(gl_inbox, token), PLACE(gl_inbox, version), PLACE(gl_inbox, flags),
    PLACE(gl_inbox, reserved),
    PLACE(gl_histogram, total), PLACE(gl_histogram, largest), {"gl_histogram.buckets", offsetof(gl_histogram, bucket)},
    PLACE(gl_latencies, wait), PLACE(gl_latencies, handling), PLACE(gl_latencies, calls),
    PLACE(gl_shared, magic), PLACE(gl_shared, version),
    PLACE(gl_shared, host), PLACE(gl_shared, host_start), PLACE(gl_shared, space),
    PLACE(gl_shared, type), PLACE(gl_shared, reply_type), PLACE(gl_shared, payload_bytes),
    PLACE(gl_shared, reply_bytes), PLACE(gl_shared, seats), PLACE(gl_shared, unused),
    PLACE(gl_shared, bell), PLACE(gl_shared, asleep), PLACE(gl_shared, closed),
    PLACE(gl_shared, unused_too), PLACE(gl_shared, lease), PLACE(gl_shared, reserved),
    PLACE(gl_seat, owner), PLACE(gl_seat, reply), PLACE(gl_seat, bell), PLACE(gl_seat, asleep),
    PLACE(gl_seat, reason), PLACE(gl_seat, bytes), PLACE(gl_seat, clock), PLACE(gl_seat, reserved),
};

static PyObject *places(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    PyObject *made = PyDict_New();
    for (size_t n = 0; made && n < sizeof PLACES / sizeof *PLACES; n++) {
        PyObject *offset = PyLong_FromSize_t(PLACES[n].offset);
        if (!offset || PyDict_SetItemString(made, PLACES[n].name, offset))
            Py_CLEAR(made);
        Py_XDECREF(offset);
    }
    return made;
}

static PyObject *now(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLongLong(gl_now());
}

/* tick(physical, logical, now) and merge(physical, logical, seen_physical, seen_logical, now,
   drift): the next clock, or None where the message is refused */
static PyObject *tick(PyObject *module, PyObject *args)
{
    unsigned long long physical, logical, now;
    (void)module;
    if (!PyArg_ParseTuple(args, "KKK", &physical, &logical, &now))
        return NULL;
    gl_clock clock = {physical, logical, 0};
    gl_clock_tick(&clock, now);
    return Py_BuildValue("KK", (unsigned long long)clock.physical, (unsigned long long)clock.logical);
}

static PyObject *merge(PyObject *module, PyObject *args)
{
    unsigned long long physical, logical, seen_physical, seen_logical, now, drift;
    (void)module;
    if (!PyArg_ParseTuple(args, "KKKKKK", &physical, &logical, &seen_physical, &seen_logical, &now,
                          &drift))
        return NULL;
    gl_clock clock = {physical, logical, 0}, seen = {seen_physical, seen_logical, 0};
    if (gl_clock_merge(&clock, &seen, now, drift))
        Py_RETURN_NONE;
    return Py_BuildValue("KK", (unsigned long long)clock.physical, (unsigned long long)clock.logical);
}

static PyObject *shift_time(PyObject *module, PyObject *nanoseconds)
{
    long long shift = PyLong_AsLongLong(nanoseconds);
    (void)module;
    if (PyErr_Occurred())
        return NULL;
    gl_shift_time(shift);
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"now", now, METH_NOARGS, "This node's time, in nanoseconds since 1970; it never goes back."},
    {"tick", tick, METH_VARARGS, "A hybrid logical clock after an event, for tests."},
    {"merge", merge, METH_VARARGS, "A hybrid logical clock after a message, for tests."},
    {"shift_time", shift_time, METH_O, "Let the time of day be ahead by some nanoseconds, for tests."},
    {"places", places, METH_NOARGS, "The offsets of the fields of C's structures."},
#ifdef __linux__
    {"shared_bytes", shared_bytes, METH_VARARGS, "The bytes of a shared inbox."},
    {"start_of", start_of, METH_O, "When a process started."},
#endif
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_engine",
    .m_size = -1,
    .m_methods = module_methods,
};

PyMODINIT_FUNC PyInit__engine(void)
{
    PyObject *module;
    if (PyType_Ready(&ActorType) || PyType_Ready(&CallerType) || PyType_Ready(&EngineType)
        || PyType_Ready(&FormType))
        return NULL;
    module = PyModule_Create(&definition);
    if (!module || PyModule_AddObjectRef(module, "Engine", (PyObject *)&EngineType)
        || PyModule_AddObjectRef(module, "Actor", (PyObject *)&ActorType)
        || PyModule_AddObjectRef(module, "Caller", (PyObject *)&CallerType)
        || PyModule_AddObjectRef(module, "Form", (PyObject *)&FormType)
        || PyModule_AddIntConstant(module, "REASONS", GL_REASONS)
        || PyModule_AddObject(module, "TO_OUTBOX", PyLong_FromUnsignedLongLong(GL_TO_OUTBOX))
        || add_c_interface(module)) {
        Py_XDECREF(module);
        return NULL;
    }
#ifdef __linux__
    if (PyType_Ready(&GateType) || PyType_Ready(&PeerType)
        || PyModule_AddObjectRef(module, "Gate", (PyObject *)&GateType)
        || PyModule_AddObjectRef(module, "Peer", (PyObject *)&PeerType)) {
        Py_DECREF(module);
        return NULL;
    }
#endif
    return module;
}
