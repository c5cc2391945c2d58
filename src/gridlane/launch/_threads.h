/* What a thread has chosen for its launches. launcher.py has the same in Python. Included by
   _native.c. */

/* The device that this thread has selected; a launcher is for threads with the same one. */
static _Thread_local int selected = -1;

/* Where this thread's launches go instead of the stream that they name. */
static _Thread_local int is_redirected = 0;
static _Thread_local void *redirect = NULL;

static PyObject *launcher_select(PyObject *nothing, PyObject *number)
{
    (void)nothing;
    long chosen = PyLong_AsLong(number);
    if (chosen == -1 && PyErr_Occurred())
        return NULL;
    selected = (int)chosen;
    Py_RETURN_NONE;
}

static PyObject *launcher_redirect(PyObject *nothing, PyObject *stream)
{
    (void)nothing;
    void *handle = stream == Py_None ? NULL : PyLong_AsVoidPtr(stream);
    if (handle == NULL && PyErr_Occurred())
        return NULL;
    PyObject *before = is_redirected ? PyLong_FromVoidPtr(redirect) : Py_NewRef(Py_None);
    if (before != NULL) {
        is_redirected = stream != Py_None;
        redirect = handle;
    }
    return before;
}
