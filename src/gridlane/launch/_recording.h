/* Launches that a thread delays are appended to its lists; launcher.py says to which. Included by
   _native.c. A profile with a target is one of these: its `result` has the offset and the size of
   each number that is passed on beside the key. */

/* (keys, numbers, launches, own, most, submit) of this thread, or NULL */
static _Thread_local PyObject *recording = NULL;

static PyObject *launcher_record(PyObject *nothing, PyObject *lists)
{
    (void)nothing;
    int valid = lists == Py_None || (PyTuple_CheckExact(lists) && PyTuple_GET_SIZE(lists) == 6);
    for (int n = 0; valid && lists != Py_None && n < 3; n++)
        valid = PyList_CheckExact(PyTuple_GET_ITEM(lists, n));
    if (valid && lists != Py_None)
        valid = PyDict_CheckExact(PyTuple_GET_ITEM(lists, 3)) &&
                PyLong_CheckExact(PyTuple_GET_ITEM(lists, 4));
    if (!valid) {
        PyErr_SetString(PyExc_ValueError, "not the lists of a recording");
        return NULL;
    }
    Py_XSETREF(recording, lists == Py_None ? NULL : Py_NewRef(lists));
    Py_RETURN_NONE;
}

/* Whether the memory of an array is known as the device's own: the bytes that describe it are the
   same object, which no other array has. -1 with an exception. */
static int is_own(PyObject *own, PyObject *array)
{
    PyObject *pair = PyObject_GetAttr(array, name_launch);
    if (pair == NULL)
        return -1;
    PyObject *known = NULL, *packed = NULL;
    if (PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2) {
        packed = PyTuple_GET_ITEM(pair, 1);
        known = PyDict_GetItemWithError(own, packed);
    }
    int same = known != NULL && known == packed;
    Py_DECREF(pair);
    return PyErr_Occurred() ? -1 : same;
}

static int append_bytes(PyObject *list, const unsigned char *start, Py_ssize_t size)
{
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)start, size);
    int status = bytes == NULL ? -1 : PyList_Append(list, bytes);
    Py_XDECREF(bytes);
    return status;
}

static int append_numbers(PyObject *list, const Profile *profile, unsigned char *block)
{
    PyObject *places = profile->result;
    Py_ssize_t count = PyTuple_CheckExact(places) ? PyTuple_GET_SIZE(places) : 0;
    for (Py_ssize_t n = 0; n + 1 < count; n += 2) {
        long offset = PyLong_AsLong(PyTuple_GET_ITEM(places, n));
        long size = PyLong_AsLong(PyTuple_GET_ITEM(places, n + 1));
        if (PyErr_Occurred())
            return -1;
        if (offset < 0 || size < 0 || (size_t)offset + (size_t)size > profile->size) {
            PyErr_SetString(PyExc_ValueError, "not the place of a number");
            return -1;
        }
        if (append_bytes(list, block + offset, size) < 0)
            return -1;
        memset(block + offset, 0, size);
    }
    return 0;
}

/* Append a launch to this thread's lists: its key without those numbers, the numbers, the
   arguments. 0 where none are recorded here, -1 with an exception. */
static int record(const Profile *profile, PyObject *args, unsigned char *block)
{
    PyObject *lists = recording;
    if (lists == NULL)
        return 0;
    Py_INCREF(lists);
    PyObject *keys = PyTuple_GET_ITEM(lists, 0), *numbers = PyTuple_GET_ITEM(lists, 1);
    PyObject *launches = PyTuple_GET_ITEM(lists, 2), *own = PyTuple_GET_ITEM(lists, 3);
    int status = 1;
    for (Py_ssize_t n = 0; n < profile->count && status > 0; n++)
        if (profile->matchers[n].kind == ARRAY)
            status = is_own(own, PyTuple_GET_ITEM(args, n));
    if (status > 0) {
        Py_ssize_t before[] = {PyList_GET_SIZE(keys), PyList_GET_SIZE(numbers)};
        if (append_numbers(numbers, profile, block) < 0 ||
            PyList_Append(keys, profile->target) < 0 ||
            append_bytes(keys, block, profile->size) < 0 || PyList_Append(launches, args) < 0) {
            PyObject *type, *value, *trace;
            PyErr_Fetch(&type, &value, &trace);
            if (PyList_SetSlice(keys, before[0], PyList_GET_SIZE(keys), NULL) < 0 ||
                PyList_SetSlice(numbers, before[1], PyList_GET_SIZE(numbers), NULL) < 0)
                PyErr_Clear();
            PyErr_Restore(type, value, trace);
            status = -1;
        }
    }
    Py_DECREF(lists);
    return status;
}

/* Submit this thread's launches where they are as many as it delays. */
static PyObject *submit_where_full(void)
{
    PyObject *lists = recording;
    if (lists == NULL || PyList_GET_SIZE(PyTuple_GET_ITEM(lists, 2)) <
                             PyLong_AsSsize_t(PyTuple_GET_ITEM(lists, 4)))
        Py_RETURN_NONE;
    PyObject *submit = Py_NewRef(PyTuple_GET_ITEM(lists, 5));
    PyObject *result = PyObject_CallNoArgs(submit);
    Py_DECREF(submit);
    return result;
}
