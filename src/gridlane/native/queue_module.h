/* The part of the module _pool that queues are. */
#ifndef GRIDLANE_NATIVE_QUEUE_MODULE_H
#define GRIDLANE_NATIVE_QUEUE_MODULE_H

#include <Python.h>

/* Add the functions of queues to a module; -1 with an exception. */
int gl_add_queues(PyObject *module);

#endif
