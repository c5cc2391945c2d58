/* Arguments of tile programs: constants, integers of a range, pointers, and the parts of tuples and
   descriptors. launcher_tiles.py has the same in Python, and says what a matcher wants.
   Included by _native.c, behind its Matcher. */

#define NUMPY_CONTIGUOUS 0x3 /* in the order of C or of Fortran */
#define NUMPY_IN_PLACE 0x500 /* aligned and writeable */

/* numpy's PyArrayObject_fields, as its C API fixes them; launcher_tiles.py checks that they hold. */
typedef struct {
    PyObject_HEAD
    char *data;
    int nd;
    Py_ssize_t *dimensions, *strides;
    PyObject *base, *descr;
    int flags;
} NumpyArray;

static PyObject *name_num, *name_isnative;

/* Whether two constants select the same code: 1, True and 1.0 do not, nor do 0.0 and -0.0. */
static int same_constant(PyObject *value, PyObject *wanted)
{
    if (value == wanted)
        return 1;
    if (Py_TYPE(value) != Py_TYPE(wanted))
        return 0;
    if (PyLong_CheckExact(value) || PyUnicode_CheckExact(value))
        return PyObject_RichCompareBool(value, wanted, Py_EQ);
    if (PyFloat_CheckExact(value)) {
        double one = PyFloat_AS_DOUBLE(value), other = PyFloat_AS_DOUBLE(wanted);
        return memcmp(&one, &other, sizeof one) == 0;
    }
    if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != PyTuple_GET_SIZE(wanted))
        return 0;
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(value); n++) {
        int same = same_constant(PyTuple_GET_ITEM(value, n), PyTuple_GET_ITEM(wanted, n));
        if (same <= 0)
            return same;
    }
    return 1;
}

static int take_whole(const Matcher *matcher, PyObject *value, unsigned char *place)
{
    int overflow;
    if (!PyLong_CheckExact(value))
        return 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow || number < matcher->low || number > matcher->high ||
        (matcher->but_one && number == 1))
        return 0;
    int aligned = matcher->aligned;
    if (aligned && (number % (aligned < 0 ? -aligned : aligned) == 0) != (aligned > 0))
        return 0;
    int64_t scaled;
    if (__builtin_mul_overflow((int64_t)number, matcher->factor, &scaled))
        return 0;
    memcpy(place, &scaled, matcher->size); /* little endian: the low bytes */
    return 1;
}

/* An address, if it is a multiple of `aligned`; of -aligned, if it is none; any where that is 0. */
static int put_address(const Matcher *matcher, unsigned long long address, unsigned char *place)
{
    int aligned = matcher->aligned;
    if (aligned && (address % (unsigned)(aligned < 0 ? -aligned : aligned) == 0) != (aligned > 0))
        return 0;
    memcpy(place, &address, matcher->size);
    return 1;
}

static int take_own(const Matcher *matcher, PyObject *value, unsigned char *place)
{
    if (Py_TYPE(value) != matcher->type)
        return 0;
    PyObject *pair = PyObject_GetAttr(value, name_launch);
    if (pair == NULL)
        return -1;
    int fits = PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2 &&
               PyTuple_GET_ITEM(pair, 0) == matcher->key &&
               PyBytes_CheckExact(PyTuple_GET_ITEM(pair, 1)) &&
               PyBytes_GET_SIZE(PyTuple_GET_ITEM(pair, 1)) >= 8;
    unsigned long long address = 0;
    if (fits)
        memcpy(&address, PyBytes_AS_STRING(PyTuple_GET_ITEM(pair, 1)), sizeof address);
    Py_DECREF(pair);
    return fits ? put_address(matcher, address, place) : 0;
}

/* Whether another object describes the elements of a matcher's dtype: numpy's dtypes of one number
   are one type, and those that other packages define may be equal and differ. */
static int same_dtype(const Matcher *matcher, PyObject *dtype)
{
    PyObject *number = PyObject_GetAttr(dtype, name_num), *native;
    if (number == NULL)
        return -1;
    long have = PyLong_AsLong(number);
    Py_DECREF(number);
    if (have == -1 && PyErr_Occurred())
        return -1;
    if (have != matcher->number || (native = PyObject_GetAttr(dtype, name_isnative)) == NULL)
        return have == matcher->number ? -1 : 0;
    Py_DECREF(native);
    return native == Py_True;
}

static int take_host(const Matcher *matcher, PyObject *value, unsigned char *place)
{
    if (Py_TYPE(value) != matcher->type)
        return 0;
    const NumpyArray *array = (const NumpyArray *)value;
    if ((array->flags & NUMPY_IN_PLACE) != NUMPY_IN_PLACE || !(array->flags & NUMPY_CONTIGUOUS))
        return 0;
    int same = array->descr == matcher->key ? 1 : same_dtype(matcher, array->descr);
    return same > 0 ? put_address(matcher, (unsigned long long)(uintptr_t)array->data, place) : same;
}

static int take_tensor(const Matcher *matcher, PyObject *value, unsigned char *place)
{
    int fits;
    unsigned long long address = 0, mapped = 0;
    if (Py_TYPE(value) != matcher->type)
        return 0;
    if ((fits = is_object(PyObject_GetAttr(value, name_dtype), matcher->key)) <= 0 ||
        (fits = is_object(PyObject_GetAttr(value, matcher->where), Py_True)) <= 0 ||
        (fits = is_object(PyObject_CallMethodNoArgs(value, name_is_neg), Py_False)) <= 0)
        goto end;
    PyObject *number = PyObject_CallMethodNoArgs(value, name_data_ptr);
    fits = number == NULL ? -1 : address_in(number, &address) && put_address(matcher, address, place);
    Py_XDECREF(number);
    if (fits > 0 && matcher->attribute && address) {
        int code;
        Py_BEGIN_ALLOW_THREADS
        code = matcher->attribute(&mapped, DEVICE_POINTER, address);
        Py_END_ALLOW_THREADS
        fits = code == 0 && mapped == address;
    }
end:
    if (fits < 0 && PyErr_ExceptionMatches(PyExc_Exception)) { /* the slow path explains it */
        PyErr_Clear();
        return 0;
    }
    return fits;
}

static int take(const Matcher *matcher, PyObject *value, unsigned char *block);

static int take_parts(const Matcher *matcher, PyObject *value, unsigned char *block)
{
    if (Py_TYPE(value) != matcher->type)
        return 0;
    if (matcher->names == NULL) { /* a tuple, or a list */
        int is_tuple = PyTuple_Check(value);
        if (!is_tuple && !PyList_Check(value))
            return 0;
        for (Py_ssize_t n = 0; n < matcher->count; n++) {
            /* Reading an item may run Python code, which may change a list. */
            if ((is_tuple ? PyTuple_GET_SIZE(value) : PyList_GET_SIZE(value)) != matcher->count)
                return 0;
            PyObject *item = is_tuple ? PyTuple_GET_ITEM(value, n) : PyList_GET_ITEM(value, n);
            Py_INCREF(item);
            int taken = take(&matcher->parts[n], item, block);
            Py_DECREF(item);
            if (taken <= 0)
                return taken;
        }
        return (is_tuple ? PyTuple_GET_SIZE(value) : PyList_GET_SIZE(value)) == matcher->count;
    }
    for (Py_ssize_t n = 0; n < matcher->count; n++) {
        PyObject *item = PyObject_GetAttr(value, PyTuple_GET_ITEM(matcher->names, n));
        if (item == NULL)
            return -1;
        int taken = take(&matcher->parts[n], item, block);
        Py_DECREF(item);
        if (taken <= 0)
            return taken;
    }
    return 1;
}

static int64_t number_at(const unsigned char *place)
{
    int64_t number;
    memcpy(&number, place, sizeof number);
    return number;
}

/* Whether the descriptor in the block, whose address is at `place`, selects the same code. */
static int fits_block(const Matcher *matcher, const unsigned char *place)
{
    int64_t rank = matcher->low, address = number_at(place);
    const unsigned char *extents = place + 8, *strides = extents + 8 * rank;
    int aligned = address % 16 == 0 && number_at(strides - 8) % 16 == 0;
    int mapped = address % 16 == 0 && address != 0;
    for (int64_t n = 0; n < rank; n++) {
        int64_t extent = number_at(extents + 8 * n), stride = number_at(strides + 8 * n);
        mapped = mapped && extent >= 1 && extent <= INT32_MAX;
        if (n == rank - 1) /* neighbours */
            break;
        aligned = aligned && stride % 16 == 0;
        mapped = mapped && stride % 16 == 0 && stride > 0 && stride < (int64_t)1 << 40;
    }
    return aligned == matcher->aligned && mapped == matcher->but_one;
}

static int read_matcher(Matcher *matcher, PyObject *item, size_t size);

/* What a matcher of a tile program's argument wants; the pointers are borrowed of its tuple. */
static int read_tile_matcher(Matcher *matcher, size_t size)
{
    PyObject *wanted = matcher->wanted, *parts;
    long long factor;
    unsigned long long attribute;
    switch (matcher->kind) {
    case CONSTANT:
        return 0;
    case WHOLE:
        matcher->aligned = 0;
        if (!PyArg_ParseTuple(wanted, "LLLi|i", &matcher->low, &matcher->high, &factor,
                              &matcher->but_one, &matcher->aligned))
            return -1;
        matcher->factor = factor;
        return 0;
    case FIT:
        if (!PyArg_ParseTuple(wanted, "Lii", &matcher->low, &matcher->aligned, &matcher->but_one))
            return -1;
        if (matcher->low >= 1 && matcher->low <= MAP_AXES &&
            (size_t)matcher->offset + 8 + 16 * (size_t)matcher->low <= size)
            return 0;
        PyErr_SetString(PyExc_ValueError, "not a matcher");
        return -1;
    case OWN:
        return PyArg_ParseTuple(wanted, "Oi", &matcher->key, &matcher->aligned) ? 0 : -1;
    case HOST:
        return PyArg_ParseTuple(wanted, "Oli", &matcher->key, &matcher->number, &matcher->aligned)
                   ? 0
                   : -1;
    case TENSOR:
        if (!PyArg_ParseTuple(wanted, "OUiK", &matcher->key, &matcher->where, &matcher->aligned,
                              &attribute))
            return -1;
        matcher->attribute = (PointerAttribute)(uintptr_t)attribute;
        return 0;
    }
    if (!PyArg_ParseTuple(wanted, "OO!", &matcher->names, &PyTuple_Type, &parts))
        return -1;
    matcher->names = matcher->names == Py_None ? NULL : matcher->names;
    Py_ssize_t count = PyTuple_GET_SIZE(parts);
    if (matcher->names != NULL &&
        (!PyTuple_CheckExact(matcher->names) || PyTuple_GET_SIZE(matcher->names) != count)) {
        PyErr_SetString(PyExc_ValueError, "not a matcher");
        return -1;
    }
    matcher->parts = PyMem_Calloc(count + 1, sizeof(Matcher));
    if (matcher->parts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t n = 0; n < count; n++) {
        matcher->count = n + 1;
        if (read_matcher(&matcher->parts[n], PyTuple_GET_ITEM(parts, n), size) < 0)
            return -1;
    }
    return 0;
}

/* (address, dtype, flags) of a numpy array, as a matcher reads them. */
static PyObject *launcher_seen(PyObject *nothing, PyObject *array)
{
    (void)nothing;
    const NumpyArray *seen = (const NumpyArray *)array;
    if (Py_TYPE(array)->tp_basicsize < (Py_ssize_t)sizeof(NumpyArray)) {
        PyErr_SetString(PyExc_TypeError, "not an array");
        return NULL;
    }
    return Py_BuildValue("KOi", (unsigned long long)(uintptr_t)seen->data, seen->descr, seen->flags);
}
