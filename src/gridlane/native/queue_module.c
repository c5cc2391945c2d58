/* Queues for Python: functions of the module _pool. A queue and a mark are their addresses.
 *
 * A piece of Python is a reference that the item owns until its worker takes it. All functions but
 * next and wait hold the GIL throughout; the queues' lock is never held while it is taken. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "queue.h"
#include "queue_module.h"

#include <string.h>

/* The delay of a signal's handler by a wait: more while the wait lasts, up to the second. */
enum { SLICE_NS = 1000000, LONGEST_NS = 16000000 };

static struct gl_queues *all; /* of this process; null before the first queue */

static void *pointer(PyObject *number)
{
    return PyLong_AsVoidPtr(number);
}

static struct gl_queues *queues(void)
{
    if (!all && !(all = gridlane_queues()))
        PyErr_NoMemory();
    return all;
}

struct gl_space *gl_space_of_module(void)
{
    struct gl_queues *found = queues();
    return found ? found->space : NULL;
}

static PyObject *state(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return queues() ? PyLong_FromVoidPtr(all) : NULL;
}

static PyObject *adopt(PyObject *module, PyObject *address)
{
    (void)module;
    struct gl_queues *others = pointer(address);
    if (all && all != others) {
        PyErr_SetString(PyExc_RuntimeError, "this process has queues already");
        return NULL;
    }
    all = others;
    Py_RETURN_NONE;
}

static PyObject *new_queue(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    struct gl_queue *made = queues() ? gridlane_queue_new(all) : NULL;
    return made ? PyLong_FromVoidPtr(made) : PyErr_NoMemory();
}

static PyObject *release_queue(PyObject *module, PyObject *queue)
{
    (void)module;
    gridlane_queue_release(pointer(queue));
    Py_RETURN_NONE;
}

/* Forget the pieces of launches that are over. Before a caller learns that its work is done, so
 * that the arrays live no longer. */
static void forget_over(void)
{
    uint64_t piece;
    while (all && __atomic_load_n(&all->over, __ATOMIC_ACQUIRE) &&
           (piece = gridlane_queues_forget(all)))
        Py_DECREF((PyObject *)(uintptr_t)piece);
}

static int has_count(Py_ssize_t count, Py_ssize_t wanted)
{
    if (count != wanted)
        PyErr_Format(PyExc_TypeError, "%zd arguments in place of %zd", count, wanted);
    return count == wanted;
}

/* An item with a reference to a piece of Python. */
static struct gl_item *new_piece(PyObject *piece, uint32_t flags)
{
    struct gl_item *made = gridlane_item(GL_CALL, flags, (uint64_t)(uintptr_t)piece);
    if (made)
        Py_INCREF(piece);
    else
        PyErr_NoMemory();
    return made;
}

/* append(queue, piece, flags): whether a thread must start. */
static PyObject *append(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!has_count(count, 3))
        return NULL;
    struct gl_item *item = new_piece(given[1], (uint32_t)PyLong_AsUnsignedLong(given[2]));
    if (!item)
        return NULL;
    return PyBool_FromLong(gridlane_queue_append(pointer(given[0]), item));
}

enum { HOW = 7 };

/* A launch by HOW objects: launch, native, params, gx, gy, gz, shared. */
static struct gl_item *new_launch(PyObject *piece, uint32_t flags, PyObject *const *how)
{
    char *params;
    Py_ssize_t bytes;
    if (PyBytes_AsStringAndSize(how[2], &params, &bytes))
        return NULL;
    const struct gl_launch launch = {
        .launch = (gl_launcher *)(uintptr_t)pointer(how[0]),
        .native = pointer(how[1]),
        .plan = piece,
        .grid = { (uint32_t)PyLong_AsUnsignedLong(how[3]),
                  (uint32_t)PyLong_AsUnsignedLong(how[4]),
                  (uint32_t)PyLong_AsUnsignedLong(how[5]) },
        .shared = (uint32_t)PyLong_AsUnsignedLong(how[6]),
    };
    if (PyErr_Occurred())
        return NULL;
    struct gl_item *made = gridlane_launch_item(flags, &launch, (size_t)bytes);
    if (!made) {
        PyErr_NoMemory();
        return NULL;
    }
    memcpy(gl_params(made), params, (size_t)bytes);
    Py_INCREF(piece);
    return made;
}

/* append_launch(queue, piece, flags, launch, native, params, gx, gy, gz, shared): whether a thread
 * must start. The piece raises the error of the launch, and lives until that is over. */
static PyObject *append_launch(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!has_count(count, 3 + HOW))
        return NULL;
    const uint32_t flags = (uint32_t)PyLong_AsUnsignedLong(given[2]);
    if (PyErr_Occurred())
        return NULL;
    struct gl_item *item = new_launch(given[1], flags, given + 3);
    if (!item)
        return NULL;
    const int needs_worker = gridlane_queue_append(pointer(given[0]), item);
    forget_over();
    return PyBool_FromLong(needs_worker);
}

/* append_mark(queue, mark, follows): pass or follow a mark. */
static PyObject *append_mark(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!has_count(count, 3))
        return NULL;
    const uint32_t kind = PyObject_IsTrue(given[2]) ? GL_FOLLOW : GL_PASS;
    struct gl_item *item = gridlane_item(kind, GL_ITEM_ALWAYS, (uint64_t)(uintptr_t)pointer(given[1]));
    if (!item)
        return PyErr_NoMemory();
    return PyBool_FromLong(gridlane_queue_append(pointer(given[0]), item));
}

static void forget(struct gl_item *first)
{
    for (struct gl_item *next; first; first = next) {
        next = first->next;
        Py_DECREF(first->kind == GL_LAUNCH ? (PyObject *)first->launch.plan
                                           : (PyObject *)(uintptr_t)first->number);
        gridlane_item_free(first);
    }
}

/* A piece of Python, or for a tuple of a piece and HOW objects a launch. */
static struct gl_item *new_item(PyObject *piece, uint32_t flags)
{
    if (!PyTuple_CheckExact(piece))
        return new_piece(piece, flags);
    if (!has_count(PyTuple_GET_SIZE(piece), 1 + HOW))
        return NULL;
    PyObject *const *given = &PyTuple_GET_ITEM(piece, 0);
    return new_launch(given[0], flags, given + 1);
}

/* extend(queue, pieces, flags): tuples of pieces or launches, and of their flags, at once. */
static PyObject *extend(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!has_count(count, 3) || !PyTuple_Check(given[1]) || !PyTuple_Check(given[2]))
        return NULL;
    struct gl_item *first = NULL, **end = &first;
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(given[1]); n++) {
        const unsigned long flags = PyLong_AsUnsignedLong(PyTuple_GET_ITEM(given[2], n));
        *end = new_item(PyTuple_GET_ITEM(given[1], n), (uint32_t)flags);
        if (!*end) {
            forget(first);
            return NULL;
        }
        end = &(*end)->next;
    }
    const int needs_worker = first && gridlane_queue_append(pointer(given[0]), first);
    forget_over();
    return PyBool_FromLong(needs_worker);
}

static PyObject *serve(PyObject *module, PyObject *queue)
{
    (void)module;
    return PyBool_FromLong(gridlane_queue_serve(pointer(queue)));
}

static PyObject *leave(PyObject *module, PyObject *queue)
{
    (void)module;
    return PyBool_FromLong(gridlane_queue_leave(pointer(queue)));
}

/* next(queue): the next piece of Python, or a number: why there is none. */
static PyObject *next(PyObject *module, PyObject *given)
{
    (void)module;
    struct gl_queue *queue = pointer(given);
    for (;;) {
        uint64_t number = 0;
        int code;
        Py_BEGIN_ALLOW_THREADS
        code = gridlane_queue_next(queue, &number);
        Py_END_ALLOW_THREADS
        if (code == GL_RUN)
            return (PyObject *)(uintptr_t)number;
        if (code == GL_DROPPED)
            Py_DECREF((PyObject *)(uintptr_t)number);
        else if (code != GL_FORGET)
            return PyLong_FromLong(code);
        forget_over();
    }
}

/* wait(queue, mark, count, own): false if the wait would not end. Handlers of signals run. */
static PyObject *wait_for(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!has_count(count, 4) || !queues())
        return NULL;
    struct gl_queue *queue = pointer(given[0]), *own = pointer(given[3]);
    struct gl_mark *mark = pointer(given[1]);
    const uint64_t target = PyLong_AsUnsignedLongLong(given[2]);
    for (int64_t ns = SLICE_NS;; ns = ns < LONGEST_NS ? 2 * ns : ns) {
        int is_over;
        Py_BEGIN_ALLOW_THREADS
        is_over = gridlane_queue_wait(all, queue, mark, target, ns, own);
        Py_END_ALLOW_THREADS
        if (is_over) {
            forget_over();
            return PyBool_FromLong(is_over > 0);
        }
        if (PyErr_CheckSignals()) {
            if (own)
                gridlane_queue_end_wait(own);
            return NULL;
        }
    }
}

static PyObject *turn(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    struct gl_queue *made = queues() ? gridlane_queues_turn(all) : NULL;
    return made ? PyLong_FromVoidPtr(made) : PyErr_NoMemory();
}

/* begin_wait(own, queue): false if the wait would not end. */
static PyObject *begin_wait(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!has_count(count, 2))
        return NULL;
    return PyBool_FromLong(gridlane_queue_begin_wait(pointer(given[0]), pointer(given[1])));
}

static PyObject *end_wait(PyObject *module, PyObject *own)
{
    (void)module;
    gridlane_queue_end_wait(pointer(own));
    Py_RETURN_NONE;
}

static PyObject *waits_for(PyObject *module, PyObject *queue)
{
    (void)module;
    return PyLong_FromVoidPtr(gridlane_queue_waits_for(pointer(queue)));
}

/* set(queue, what, value) */
static PyObject *set(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!has_count(count, 3))
        return NULL;
    const int value = PyObject_IsTrue(given[2]);
    gridlane_queue_set(pointer(given[0]), (int)PyLong_AsLong(given[1]), value);
    Py_RETURN_NONE;
}

/* end(queue, unused): called by a reference to the object whose end that is. No Python runs, so that
 * no exception of a handler comes before. */
static PyObject *end(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!has_count(count, 2))
        return NULL;
    gridlane_queue_end(pointer(given[0]), given[1]);
    Py_RETURN_NONE;
}

static PyObject *sizes(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *made = PyTuple_New(GL_SIZES);
    for (int n = 0; made && n < GL_SIZES; n++)
        PyTuple_SET_ITEM(made, n, PyLong_FromUnsignedLong(gridlane_sizes[n]));
    return made;
}

/* get(queue, what) */
static PyObject *get(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!has_count(count, 2))
        return NULL;
    const int what = (int)PyLong_AsLong(given[1]);
    const uint64_t found = gridlane_queue_get(pointer(given[0]), what);
    forget_over();
    return PyLong_FromUnsignedLongLong(found);
}

static PyObject *failure_of(PyObject *module, PyObject *queue)
{
    (void)module;
    return PyLong_FromVoidPtr(gridlane_queue_failure(pointer(queue)));
}

static PyObject *queue_of(PyObject *module, PyObject *mark)
{
    (void)module;
    return PyLong_FromVoidPtr(gridlane_queue_of(all, pointer(mark)));
}

/* lost(queue): how many items the child of a fork has not done; it forgets their pieces. */
static PyObject *lost(PyObject *module, PyObject *given)
{
    (void)module;
    forget_over();
    return PyLong_FromUnsignedLongLong(gridlane_queue_lost(pointer(given)));
}

static PyObject *busy(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const uint32_t most = all ? gridlane_queues_busy(all, NULL, 0) : 0; /* more need the GIL */
    struct gl_queue **found = most ? PyMem_New(struct gl_queue *, most) : NULL;
    if (most && !found)
        return PyErr_NoMemory();
    uint32_t count = most ? gridlane_queues_busy(all, found, most) : 0;
    count = count < most ? count : most;
    PyObject *made = PyTuple_New(count);
    for (uint32_t n = 0; made && n < count; n++)
        PyTuple_SET_ITEM(made, n, PyLong_FromVoidPtr(found[n]));
    PyMem_Free(found);
    return made;
}

static PyObject *count_refusals(PyObject *module, PyObject *change)
{
    (void)module;
    if (!queues())
        return NULL;
    gridlane_queues_refuse(all, (int)PyLong_AsLong(change));
    Py_RETURN_NONE;
}

static PyObject *new_mark(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    struct gl_mark *made = queues() ? gridlane_mark() : NULL;
    return made ? PyLong_FromVoidPtr(made) : PyErr_NoMemory();
}

static PyObject *release_mark(PyObject *module, PyObject *mark)
{
    (void)module;
    gridlane_mark_release(all, pointer(mark));
    Py_RETURN_NONE;
}

static PyObject *is_passed(PyObject *module, PyObject *mark)
{
    (void)module;
    return PyBool_FromLong(gl_is_passed(pointer(mark)));
}

static PyObject *new_event(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    struct gl_event *made = queues() ? gridlane_event() : NULL;
    return made ? PyLong_FromVoidPtr(made) : PyErr_NoMemory();
}

static PyObject *release_event(PyObject *module, PyObject *event)
{
    (void)module;
    gridlane_event_release(all, pointer(event));
    Py_RETURN_NONE;
}

/* record(event, queue): whether a thread must start. */
static PyObject *record(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    if (!has_count(count, 2))
        return NULL;
    const int needs_worker = gridlane_event_record(all, pointer(given[0]), pointer(given[1]));
    return needs_worker < 0 ? PyErr_NoMemory() : PyBool_FromLong(needs_worker);
}

static PyObject *mark_of(PyObject *module, PyObject *event)
{
    (void)module;
    return PyLong_FromVoidPtr(gridlane_event_mark(all, pointer(event)));
}

static PyObject *time_of(PyObject *module, PyObject *event)
{
    (void)module;
    return PyLong_FromLongLong(gridlane_event_time(all, pointer(event)));
}

static PyObject *note_captured(PyObject *module, PyObject *event)
{
    (void)module;
    gridlane_event_capture(all, pointer(event));
    Py_RETURN_NONE;
}

/* --- whether any queue has work: an object whose truth that is --- */

static int is_busy(PyObject *self)
{
    (void)self;
    if (!all || gl_unfinished_of_all(all))
        return all != NULL;
    forget_over();
    return 0;
}

static PyNumberMethods truth = { .nb_bool = is_busy };

static PyTypeObject busy_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "gridlane.native._pool.Busy",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_as_number = &truth,
};

#define FAST(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL

static PyMethodDef methods[] = {
    { "state", state, METH_NOARGS, "The address of the process's queues." },
    { "adopt", adopt, METH_O, "Use the queues at an address." },
    { "new_queue", new_queue, METH_NOARGS, "A queue." },
    { "release_queue", release_queue, METH_O, "One use less of a queue." },
    { "append", FAST(append), "Append a piece." },
    { "append_launch", FAST(append_launch), "Append a launch." },
    { "append_mark", FAST(append_mark), "Append the passing of a mark, or a wait for it." },
    { "extend", FAST(extend), "Append pieces." },
    { "serve", serve, METH_O, "Become the worker." },
    { "leave", leave, METH_O, "Be the worker no longer." },
    { "next", next, METH_O, "The next piece, or a number." },
    { "wait", FAST(wait_for), "Wait for a mark or a count." },
    { "turn", turn, METH_NOARGS, "The turn of the default stream, as a queue." },
    { "begin_wait", FAST(begin_wait), "Note that a queue waits for another." },
    { "end_wait", end_wait, METH_O, "A queue waits no longer." },
    { "waits_for", waits_for, METH_O, "The queue that a queue waits for, or 0." },
    { "queue_of", queue_of, METH_O, "The queue whose work passes a mark, or 0." },
    { "end", FAST(end), "End the worker behind the last item." },
    { "sizes", sizes, METH_NOARGS, "The number of the interface, and sizes of records." },
    { "set", FAST(set), "Set a flag." },
    { "get", FAST(get), "Get a number." },
    { "failure", failure_of, METH_O, "The address of the failure." },
    { "lost", lost, METH_O, "The items that a fork has lost." },
    { "busy", busy, METH_NOARGS, "The queues with work." },
    { "count_refusals", count_refusals, METH_O, "Count reasons for which C appends nothing." },
    { "new_mark", new_mark, METH_NOARGS, "A mark." },
    { "release_mark", release_mark, METH_O, "One use less of a mark." },
    { "is_passed", is_passed, METH_O, "Whether a mark is passed." },
    { "new_event", new_event, METH_NOARGS, "An event." },
    { "release_event", release_event, METH_O, "One use less of an event." },
    { "record", FAST(record), "Record an event." },
    { "mark_of", mark_of, METH_O, "The mark of an event, with a use, or 0." },
    { "time_of", time_of, METH_O, "The time of an event, 0, or -1." },
    { "note_captured", note_captured, METH_O, "An event is recorded in a capture." },
    { NULL, NULL, 0, NULL },
};

int gl_add_queues(PyObject *module)
{
    if (PyType_Ready(&busy_type) || PyModule_AddFunctions(module, methods) ||
        PyModule_AddIntConstant(module, "INTERFACE", GL_INTERFACE))
        return -1;
    PyObject *one = PyObject_New(PyObject, &busy_type);
    if (!one || PyModule_AddObject(module, "BUSY", one)) {
        Py_XDECREF(one);
        return -1;
    }
    return 0;
}
