/* The pool as a Python module: the addresses of its functions, which cpu_native.py calls, and the
 * functions of queues. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "pool.h"
#include "queue_module.h"

static PyObject *addresses(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K}", /* by the names of their symbols */
        "gridlane_bytes", (unsigned long long)(uintptr_t)gridlane_bytes,
        "gridlane_launch", (unsigned long long)(uintptr_t)gridlane_launch,
        "gridlane_launch_all", (unsigned long long)(uintptr_t)gridlane_launch_all,
        "gridlane_start", (unsigned long long)(uintptr_t)gridlane_start,
        "gridlane_stop", (unsigned long long)(uintptr_t)gridlane_stop,
        "gridlane_python", (unsigned long long)(uintptr_t)&gridlane_python);
}

static PyMethodDef methods[] = {
    { "addresses", addresses, METH_NOARGS, "The addresses of the pool's functions, by name." },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gridlane.native._pool",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__pool(void)
{
    PyObject *made = PyModule_Create(&module);
    if (made && (gl_add_queues(made) || gl_add_space(made)))
        Py_CLEAR(made);
    return made;
}
