/* gridlane.actors._engine: the engine as types of Python. */
#include "objects.h"
#include "outside.h"

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
