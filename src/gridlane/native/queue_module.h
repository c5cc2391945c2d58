/* What module.c adds to the module: the functions of queues and of memory. */
#ifndef GRIDLANE_NATIVE_QUEUE_MODULE_H
#define GRIDLANE_NATIVE_QUEUE_MODULE_H

struct gl_space;

/* Each returns -1 with an exception set on failure. */
int gl_add_queues(PyObject *module);
int gl_add_space(PyObject *module);

/* The space of the process's queues; null with an exception set. */
struct gl_space *gl_space_of_module(void);

#endif
