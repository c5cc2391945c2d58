/* Arrays of other libraries as arguments of a native launch: one read gives what a matcher compares
   and the bytes that the kernel gets. launcher_external_arrays.py has the same in Python, and says what a
   matcher wants. */

#define MOST_FOREIGN_AXES 8

enum { BY_INTERFACE, BY_TENSOR };
enum { LAYOUT_C, LAYOUT_F, LAYOUT_ANY };

typedef int (*PointerAttribute)(void *value, int attribute, unsigned long long pointer);

#define DEVICE_POINTER 3 /* CU_POINTER_ATTRIBUTE_DEVICE_POINTER */

typedef struct {
    int way, ndim, layout, readonly;
    int64_t itemsize;
    int64_t limit;      /* of lengths, strides and reach, in bytes; negative to be beyond it */
    PyObject *expected; /* the typestr, or the dtype's object; borrowed of the matcher's tuple */
    PointerAttribute attribute;
    unsigned long long stream;
    int data, shape, strides; /* where these begin in the bytes */
} Foreign;

typedef struct {
    unsigned long long address;
    int64_t shape[MOST_FOREIGN_AXES], strides[MOST_FOREIGN_AXES];
} Seen;

static PyObject *name_interface, *name_typestr, *name_shape, *name_strides, *name_data, *name_mask,
    *name_stream, *name_dtype, *name_is_cuda, *name_requires_grad, *name_data_ptr, *name_stride,
    *name_is_neg, *name_is_conj;

static int intern_foreign_names(void)
{
    struct {
        PyObject **name;
        const char *text;
    } names[] = {
        {&name_interface, "__cuda_array_interface__"},
        {&name_typestr, "typestr"},
        {&name_shape, "shape"},
        {&name_strides, "strides"},
        {&name_data, "data"},
        {&name_mask, "mask"},
        {&name_stream, "stream"},
        {&name_dtype, "dtype"},
        {&name_is_cuda, "is_cuda"},
        {&name_requires_grad, "requires_grad"},
        {&name_data_ptr, "data_ptr"},
        {&name_stride, "stride"},
        {&name_is_neg, "is_neg"},
        {&name_is_conj, "is_conj"},
    };
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        if (!(*names[n].name = PyUnicode_InternFromString(names[n].text)))
            return -1;
    return 0;
}

/* Whether so many bytes at an offset lie within `size`. */
static int lies_in(int offset, int bytes, int size)
{
    return offset >= 0 && offset <= size - bytes;
}

static int read_foreign(Foreign *foreign, PyObject *wanted, int size)
{
    long long itemsize, limit;
    unsigned long long attribute;
    if (!PyTuple_Check(wanted) ||
        !PyArg_ParseTuple(wanted, "iOiiLiLKK(iii)", &foreign->way, &foreign->expected,
                          &foreign->ndim, &foreign->layout, &itemsize, &foreign->readonly, &limit,
                          &attribute, &foreign->stream, &foreign->data, &foreign->shape,
                          &foreign->strides))
        return -1;
    foreign->itemsize = itemsize;
    foreign->limit = limit;
    foreign->attribute = (PointerAttribute)(uintptr_t)attribute;
    if (foreign->ndim < 0 || foreign->ndim > MOST_FOREIGN_AXES || !attribute || itemsize <= 0 ||
        !limit || limit == INT64_MIN || foreign->way < BY_INTERFACE || foreign->way > BY_TENSOR)
        return -1;
    int bytes = foreign->ndim * (int)sizeof(int64_t);
    return lies_in(foreign->data, 8, size) && lies_in(foreign->shape, bytes, size) &&
                   lies_in(foreign->strides, bytes, size)
               ? 0
               : -1;
}

/* Whether a tuple has as many integers as the array has axes, which go to `numbers`. */
static int numbers_in(PyObject *tuple, int count, int64_t factor, int64_t *numbers)
{
    if (tuple == NULL || !PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != count)
        return 0;
    for (int n = 0; n < count; n++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, n);
        int overflow = 1;
        long long number = PyLong_CheckExact(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : 0;
        if (overflow || __builtin_mul_overflow(number, factor, &numbers[n]))
            return 0;
    }
    return 1;
}

static int address_in(PyObject *item, unsigned long long *address)
{
    if (item == NULL || !PyLong_CheckExact(item))
        return 0;
    *address = PyLong_AsUnsignedLongLong(item);
    if (*address == (unsigned long long)-1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

static int dense(const Foreign *foreign, const Seen *seen, int reversed)
{
    int64_t step = foreign->itemsize;
    for (int n = 0; n < foreign->ndim; n++) {
        int axis = reversed ? foreign->ndim - 1 - n : n;
        if (seen->shape[axis] == 1)
            continue;
        if (seen->strides[axis] != step ||
            __builtin_mul_overflow(step, seen->shape[axis], &step))
            return 0;
    }
    return 1;
}

/* The strides of an array whose elements follow each other in C order. */
static int fill_strides(const Foreign *foreign, Seen *seen)
{
    int64_t step = foreign->itemsize;
    for (int axis = foreign->ndim - 1; axis >= 0; axis--) {
        seen->strides[axis] = step;
        if (__builtin_mul_overflow(step, seen->shape[axis], &step))
            return 0;
    }
    return 1;
}

/* Whether what was seen is of the layout and size that the code is for, in memory of the device. */
static int suits(const Foreign *foreign, const Seen *seen)
{
    int empty = 0, small = 1;
    int64_t low = 0, reach = 0; /* from the first to the last element; see compact.py */
    int64_t limit = foreign->limit < 0 ? -foreign->limit : foreign->limit;
    for (int axis = 0; axis < foreign->ndim; axis++) {
        int64_t length = seen->shape[axis], stride = seen->strides[axis], span;
        if (length < 0 || stride == INT64_MIN)
            return 0;
        small &= length <= limit && stride <= limit && stride >= -limit;
        empty |= length == 0;
        if (__builtin_mul_overflow(length ? length - 1 : 1, stride < 0 ? -stride : stride, &span) ||
            __builtin_add_overflow(reach, span, &reach))
            return 0;
        low += stride < 0 ? -span : 0;
    }
    if ((small && reach <= limit) != (foreign->limit > 0))
        return 0;
    int layout = empty || dense(foreign, seen, 1) ? LAYOUT_C
                 : dense(foreign, seen, 0)        ? LAYOUT_F
                                                  : LAYOUT_ANY;
    if (layout != foreign->layout)
        return 0;
    if (empty)
        return 1;
    unsigned long long first = seen->address + (unsigned long long)low, mapped = 0;
    int code;
    /* The driver may have to wait for a thread that waits for a host function and so for the GIL. */
    Py_BEGIN_ALLOW_THREADS
    code = foreign->attribute(&mapped, DEVICE_POINTER, first);
    Py_END_ALLOW_THREADS
    return code == 0 && mapped == first;
}

/* The stream of an interface: none, the default one, whose work comes before a launch on any stream
   that has profiles, or the launch's own. */
static int is_ordered(const Foreign *foreign, PyObject *stream)
{
    unsigned long long number;
    if (stream == NULL || stream == Py_None)
        return 1;
    return address_in(stream, &number) && (number == 1 || number == foreign->stream);
}

static int see_interface(const Foreign *foreign, PyObject *value, Seen *seen)
{
    PyObject *interface = PyObject_GetAttr(value, name_interface);
    if (interface == NULL)
        return -1;
    int fits = 0;
    if (PyDict_CheckExact(interface)) {
        PyObject *typestr = PyDict_GetItem(interface, name_typestr);
        PyObject *mask = PyDict_GetItem(interface, name_mask);
        PyObject *data = PyDict_GetItem(interface, name_data);
        PyObject *strides = PyDict_GetItem(interface, name_strides);
        fits = typestr != NULL && PyUnicode_CheckExact(typestr) &&
               PyUnicode_Compare(typestr, foreign->expected) == 0 &&
               (mask == NULL || mask == Py_None) && data != NULL && PyTuple_CheckExact(data) &&
               PyTuple_GET_SIZE(data) == 2 &&
               PyTuple_GET_ITEM(data, 1) == (foreign->readonly ? Py_True : Py_False) &&
               address_in(PyTuple_GET_ITEM(data, 0), &seen->address) &&
               is_ordered(foreign, PyDict_GetItem(interface, name_stream)) &&
               numbers_in(PyDict_GetItem(interface, name_shape), foreign->ndim, 1, seen->shape);
        if (fits)
            fits = strides == NULL || strides == Py_None
                       ? fill_strides(foreign, seen)
                       : numbers_in(strides, foreign->ndim, 1, seen->strides);
    }
    Py_DECREF(interface);
    return fits;
}

/* Whether an attribute, or the result of a method, is a certain object. -1 with an exception. */
static int is_object(PyObject *found, PyObject *wanted)
{
    if (found == NULL)
        return -1;
    Py_DECREF(found);
    return found == wanted;
}

static int see_tensor(const Foreign *foreign, PyObject *value, Seen *seen)
{
    int fits;
    if ((fits = is_object(PyObject_GetAttr(value, name_dtype), foreign->expected)) <= 0 ||
        (fits = is_object(PyObject_GetAttr(value, name_is_cuda), Py_True)) <= 0 ||
        (fits = is_object(PyObject_GetAttr(value, name_requires_grad), Py_False)) <= 0 ||
        (fits = is_object(PyObject_CallMethodNoArgs(value, name_is_neg), Py_False)) <= 0 ||
        (fits = is_object(PyObject_CallMethodNoArgs(value, name_is_conj), Py_False)) <= 0)
        return fits;
    PyObject *shape = PyObject_GetAttr(value, name_shape), *strides = NULL, *address = NULL;
    if (shape != NULL && (strides = PyObject_CallMethodNoArgs(value, name_stride)) != NULL)
        address = PyObject_CallMethodNoArgs(value, name_data_ptr);
    fits = address == NULL ? -1
                           : numbers_in(shape, foreign->ndim, 1, seen->shape) &&
                                 numbers_in(strides, foreign->ndim, foreign->itemsize,
                                            seen->strides) &&
                                 address_in(address, &seen->address);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(address);
    return fits;
}

/* Whether another library's array is what a matcher wants; its bytes go to `place`. What cannot be
   read is for the slow path to explain. -1 with an exception that is no error of the array's. */
static int take_foreign(const Foreign *foreign, PyObject *value, unsigned char *place)
{
    Seen seen;
    int fits = foreign->way == BY_TENSOR ? see_tensor(foreign, value, &seen)
                                         : see_interface(foreign, value, &seen);
    if (fits < 0) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return -1;
        PyErr_Clear();
        return 0;
    }
    if (!fits || !suits(foreign, &seen))
        return 0;
    size_t bytes = foreign->ndim * sizeof(int64_t);
    memcpy(place + foreign->data, &seen.address, 8);
    memcpy(place + foreign->shape, seen.shape, bytes);
    memcpy(place + foreign->strides, seen.strides, bytes);
    return 1;
}
