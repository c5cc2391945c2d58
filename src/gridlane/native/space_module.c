/* Memory for Python: functions of the module _pool. A map is its address. All hold the GIL
 * throughout. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "queue_module.h"
#include "space.h"

static struct gl_space *space; /* of this process; null before the first map */

static void *pointer(PyObject *number)
{
    return PyLong_AsVoidPtr(number);
}

/* A number of 64 bits, of any type with __index__; false with an exception set. */
static int number_of(PyObject *given, uint64_t *made)
{
    PyObject *whole = PyNumber_Index(given);
    if (!whole)
        return 0;
    *made = PyLong_AsUnsignedLongLong(whole);
    Py_DECREF(whole);
    return *made != UINT64_MAX || !PyErr_Occurred();
}

static int has_count(Py_ssize_t count, Py_ssize_t wanted)
{
    if (count != wanted)
        PyErr_Format(PyExc_TypeError, "%zd arguments in place of %zd", count, wanted);
    return count == wanted;
}

static PyObject *new_map(PyObject *module, PyObject *of)
{
    (void)module;
    const long kind = PyLong_AsLong(of);
    if (!(space = gl_space_of_module()))
        return NULL;
    if (kind < 0 || kind >= GL_KINDS_OF_MAPS) {
        PyErr_SetString(PyExc_ValueError, "no kind of maps");
        return NULL;
    }
    struct gl_map *made = gridlane_map(space, (int)kind);
    return made ? PyLong_FromVoidPtr(made) : PyErr_NoMemory();
}

static PyObject *release_map(PyObject *module, PyObject *map)
{
    (void)module;
    gridlane_map_release(space, pointer(map));
    Py_RETURN_NONE;
}

/* add_range(map, start, size, kind) */
static PyObject *add_range(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    uint64_t start, size;
    if (!has_count(count, 4) || !number_of(given[1], &start) || !number_of(given[2], &size))
        return NULL;
    if (size > UINT64_MAX - start) {
        PyErr_SetString(PyExc_OverflowError, "the range ends behind the last address");
        return NULL;
    }
    const uint32_t kind = (uint32_t)PyLong_AsUnsignedLong(given[3]);
    if (!gridlane_range_add(space, pointer(given[0]), start, size, kind))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* remove_range(map, start) */
static PyObject *remove_range(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    uint64_t start;
    if (!(space = gl_space_of_module()) || !has_count(count, 2) || !number_of(given[1], &start))
        return NULL;
    gridlane_range_remove(space, pointer(given[0]), start);
    Py_RETURN_NONE;
}

/* find_range(map, address, size): the start of the range that holds the bytes, or None. */
static PyObject *find_range(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    uint64_t address, size, start;
    if (!has_count(count, 3))
        return NULL;
    if (!number_of(given[1], &address) || !number_of(given[2], &size)) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            return NULL;
        PyErr_Clear(); /* no address */
        Py_RETURN_NONE;
    }
    if (!gridlane_range_find(space, pointer(given[0]), address, size, &start))
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(start);
}

/* range_meets(map, address, size) */
static PyObject *range_meets(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    uint64_t address, size;
    if (!has_count(count, 3) || !number_of(given[1], &address) || !number_of(given[2], &size))
        return NULL;
    return PyBool_FromLong(gridlane_range_meets(space, pointer(given[0]), address, size));
}

/* range_size(map, start) */
static PyObject *range_size(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    uint64_t start;
    if (!has_count(count, 2) || !number_of(given[1], &start))
        return NULL;
    return PyLong_FromUnsignedLongLong(gridlane_range_size(space, pointer(given[0]), start));
}

/* ranges(map): starts and sizes, in order. */
static PyObject *ranges(PyObject *module, PyObject *map)
{
    (void)module;
    if (!(space = gl_space_of_module())) /* the map may be C's */
        return NULL;
    const size_t most = gridlane_ranges(space, pointer(map), NULL, 0);
    uint64_t *found = PyMem_New(uint64_t, 2 * most);
    if (!found)
        return PyErr_NoMemory();
    size_t count = gridlane_ranges(space, pointer(map), found, most); /* C changes some maps alone */
    count = count < most ? count : most;
    PyObject *made = PyList_New((Py_ssize_t)count);
    for (size_t n = 0; made && n < count; n++) {
        PyObject *pair = Py_BuildValue("KK", (unsigned long long)found[2 * n],
                                       (unsigned long long)found[2 * n + 1]);
        if (pair)
            PyList_SET_ITEM(made, (Py_ssize_t)n, pair);
        else
            Py_CLEAR(made);
    }
    PyMem_Free(found);
    return made;
}

/* adopt_block(address): its start, size and context; or None. */
static PyObject *adopt_block(PyObject *module, PyObject *given)
{
    (void)module;
    uint64_t address, found[3];
    struct gl_space *of = gl_space_of_module();
    if (!of)
        return NULL;
    if (!number_of(given, &address)) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError))
            return NULL;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    if (!gridlane_block_adopt(of, address, found))
        Py_RETURN_NONE;
    return Py_BuildValue("KKK", (unsigned long long)found[0], (unsigned long long)found[1],
                         (unsigned long long)found[2]);
}

static PyObject *release_block(PyObject *module, PyObject *start)
{
    (void)module;
    uint64_t address;
    struct gl_space *of = gl_space_of_module();
    if (!of || !number_of(start, &address))
        return NULL;
    gridlane_block_release(of, address);
    Py_RETURN_NONE;
}

/* free_large(start, size) */
static PyObject *free_large(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    (void)module;
    uint64_t start, size;
    if (!has_count(count, 2) || !number_of(given[0], &start) || !number_of(given[1], &size))
        return NULL;
    gridlane_large_free(start, size);
    Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void))function, METH_FASTCALL

static PyMethodDef methods[] = {
    { "new_map", new_map, METH_O, "A map of ranges." },
    { "release_map", release_map, METH_O, "Free a map." },
    { "add_range", FAST(add_range), "Add a range." },
    { "remove_range", FAST(remove_range), "Remove the range with a start." },
    { "find_range", FAST(find_range), "The start of the range that holds bytes, or None." },
    { "range_meets", FAST(range_meets), "Whether a range has one of the bytes." },
    { "range_size", FAST(range_size), "The size of the range with a start, or 0." },
    { "ranges", ranges, METH_O, "Starts and sizes of the ranges." },
    { "adopt_block", adopt_block, METH_O, "Become the owner of a block." },
    { "release_block", release_block, METH_O, "Free an adopted block." },
    { "free_large", FAST(free_large), "Free a large allocation." },
    { NULL, NULL, 0, NULL },
};

int gl_add_space(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
