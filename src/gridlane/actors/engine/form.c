/* Bytes of messages whose fields are all scalars, and the values of such bytes: the work of struct
   and of a dataclass in one step. */
#include <math.h>
#include <string.h>

#include "objects.h"

typedef struct {
    PyObject *name, *type; /* the attribute; its type's name in errors */
    char code;             /* of Python's struct */
    Py_ssize_t offset;
} Field;

struct FormObject {
    PyObject_VAR_HEAD
    PyTypeObject *made; /* the class of the values */
    Py_ssize_t size;
    int is_plain; /* whether a value is made by setting its attributes */
    Field field[];
};

static Py_ssize_t width_of(char code)
{
    return strchr("?bB", code) ? 1 : strchr("hHe", code) ? 2 : strchr("iIf", code) ? 4 : 8;
}

Py_ssize_t form_size(const FormObject *form)
{
    return form->size;
}

/* ---- values to bytes */

static int pack_integer(char code, PyObject *value, uint8_t *to)
{
    PyObject *number = PyLong_CheckExact(value) ? Py_NewRef(value) : PyNumber_Index(value);
    if (!number)
        return -1;
    Py_ssize_t width = width_of(code);
    uint64_t bits;
    if (code == 'Q') {
        bits = PyLong_AsUnsignedLongLong(number);
    } else {
        long long found = PyLong_AsLongLong(number);
        int shift = (int)(64 - 8 * width), is_signed = code >= 'a';
        bits = (uint64_t)found;
        if (shift && (is_signed ? (int64_t)(bits << shift) >> shift != found
                                : bits << shift >> shift != bits))
            PyErr_SetNone(PyExc_OverflowError);
    }
    Py_DECREF(number);
    if (PyErr_Occurred())
        return -1;
    memcpy(to, &bits, (size_t)width); /* the machine is little-endian, as the wire is */
    return 0;
}

static int pack_float(char code, PyObject *value, uint8_t *to)
{
    double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred())
        return -1;
    if (code == 'e')
        return PyFloat_Pack2(number, (char *)to, 1);
    if (code == 'd') {
        memcpy(to, &number, 8);
        return 0;
    }
    float narrow = (float)number;
    if (isinf(narrow) && !isinf(number)) {
        PyErr_SetNone(PyExc_OverflowError);
        return -1;
    }
    memcpy(to, &narrow, 4);
    return 0;
}

static int pack_field(const Field *field, PyObject *value, uint8_t *to)
{
    if (field->code == '?') {
        int truth = PyObject_IsTrue(value);
        *to = truth == 1;
        return truth < 0 ? -1 : 0;
    }
    int failed = strchr("efd", field->code) ? pack_float(field->code, value, to)
                                            : pack_integer(field->code, value, to);
    if (failed && (PyErr_ExceptionMatches(PyExc_TypeError)
                   || PyErr_ExceptionMatches(PyExc_OverflowError)))
        return 1;
    return failed;
}

/* Raise that a field does not fit a value, in place of this thread's exception. That exception is
   the cause if the value's own code raised it, as its traceback shows. */
static void does_not_fit(const Field *field, const PyTypeObject *type, PyObject *held)
{
    PyObject *kind, *cause, *trace;
    PyErr_Fetch(&kind, &cause, &trace);
    PyErr_NormalizeException(&kind, &cause, &trace);
    PyObject *words = PyObject_Repr(held), *name = PyType_GetQualName((PyTypeObject *)type);
    if (!words && PyErr_ExceptionMatches(PyExc_Exception)) { /* an integer has too many digits */
        PyErr_Clear();
        words = PyUnicode_FromFormat("this %s", Py_TYPE(held)->tp_name);
    }
    if (words && name) {
        PyErr_Format(PyExc_TypeError, "%U.%U is a %U, which %.200U does not fit", name, field->name,
                     field->type, words);
        if (trace) {
            PyObject *raised, *value, *nothing;
            PyErr_Fetch(&raised, &value, &nothing);
            PyErr_NormalizeException(&raised, &value, &nothing);
            PyException_SetTraceback(cause, trace);
            PyException_SetCause(value, Py_NewRef(cause));
            PyErr_Restore(raised, value, nothing);
        }
    }
    Py_XDECREF(words);
    Py_XDECREF(name);
    Py_XDECREF(kind);
    Py_XDECREF(cause);
    Py_XDECREF(trace);
}

/* Write the bytes of a value, `size` of them; 0, or -1 with an exception. */
int form_pack(const FormObject *form, PyObject *value, uint8_t *to)
{
    memset(to, 0, (size_t)form->size);
    for (Py_ssize_t n = 0; n < Py_SIZE(form); n++) {
        const Field *field = &form->field[n];
        PyObject *held = PyObject_GetAttr(value, field->name);
        if (!held)
            return -1;
        int failed = pack_field(field, held, to + field->offset);
        if (failed > 0)
            does_not_fit(field, Py_TYPE(value), held);
        Py_DECREF(held);
        if (failed)
            return -1;
    }
    return 0;
}

static PyObject *Form_pack(FormObject *self, PyObject *value)
{
    PyObject *made = PyBytes_FromStringAndSize(NULL, self->size);
    if (made && form_pack(self, value, (uint8_t *)PyBytes_AS_STRING(made)))
        Py_CLEAR(made);
    return made;
}

/* ---- bytes to values */

static PyObject *unpack_field(const Field *field, const uint8_t *from)
{
    Py_ssize_t width = width_of(field->code);
    uint64_t bits = 0;
    float narrow;
    double number;
    memcpy(&bits, from, (size_t)width);
    switch (field->code) {
    case '?':
        return PyBool_FromLong(bits != 0);
    case 'e':
        number = PyFloat_Unpack2((const char *)from, 1);
        return number == -1 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(number);
    case 'f':
        memcpy(&narrow, from, 4);
        return PyFloat_FromDouble(narrow);
    case 'd':
        memcpy(&number, from, 8);
        return PyFloat_FromDouble(number);
    case 'B':
    case 'H':
    case 'I':
    case 'Q':
        return PyLong_FromUnsignedLongLong(bits);
    default: {
        int shift = (int)(64 - 8 * width);
        return PyLong_FromLongLong((int64_t)(bits << shift) >> shift);
    }
    }
}

static PyObject *by_attributes(const FormObject *form, const uint8_t *from)
{
    static PyObject *nothing;
    if (!nothing && !(nothing = PyTuple_New(0)))
        return NULL;
    PyObject *made = PyBaseObject_Type.tp_new(form->made, nothing, NULL);
    for (Py_ssize_t n = 0; made && n < Py_SIZE(form); n++) {
        PyObject *value = unpack_field(&form->field[n], from + form->field[n].offset);
        if (!value || PyObject_SetAttr(made, form->field[n].name, value))
            Py_CLEAR(made);
        Py_XDECREF(value);
    }
    return made;
}

static PyObject *by_call(const FormObject *form, const uint8_t *from)
{
    PyObject *made = NULL, *values = PyTuple_New(Py_SIZE(form));
    Py_ssize_t n = 0;
    for (; values && n < Py_SIZE(form); n++) {
        PyObject *value = unpack_field(&form->field[n], from + form->field[n].offset);
        if (!value)
            break;
        PyTuple_SET_ITEM(values, n, value);
    }
    if (values && n == Py_SIZE(form))
        made = PyObject_CallObject((PyObject *)form->made, values);
    Py_XDECREF(values);
    return made;
}

/* The value of bytes, or NULL with an exception. */
PyObject *form_unpack(const FormObject *form, const void *from, size_t bytes)
{
    if (bytes != (size_t)form->size)
        return PyErr_Format(PyExc_ValueError, "%s has %zd bytes, not %zu", form->made->tp_name,
                            form->size, bytes);
    return form->is_plain ? by_attributes(form, from) : by_call(form, from);
}

static PyObject *Form_unpack(FormObject *self, PyObject *data)
{
    Py_buffer view;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE))
        return NULL;
    PyObject *made = form_unpack(self, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return made;
}

/* ---- the type */

/* Form(cls, fields, size, is_plain): fields of (name, code, offset, type) */
static PyObject *Form_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyTypeObject *made;
    PyObject *fields;
    Py_ssize_t size;
    int is_plain;
    if (keywords && PyDict_GET_SIZE(keywords)) {
        PyErr_SetString(PyExc_TypeError, "Form(cls, fields, size, is_plain)");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!O!np", &PyType_Type, &made, &PyTuple_Type, &fields, &size,
                          &is_plain))
        return NULL;
    FormObject *self = (FormObject *)type->tp_alloc(type, PyTuple_GET_SIZE(fields));
    if (!self)
        return NULL;
    self->made = (PyTypeObject *)Py_NewRef(made);
    self->size = size;
    self->is_plain = is_plain;
    for (Py_ssize_t n = 0; n < Py_SIZE(self); n++) {
        Field *field = &self->field[n];
        PyObject *name, *words;
        int code;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(fields, n), "UCnU", &name, &code, &field->offset,
                              &words)) {
            Py_DECREF(self);
            return NULL;
        }
        field->name = Py_NewRef(name);
        PyUnicode_InternInPlace(&field->name);
        field->type = Py_NewRef(words);
        field->code = (char)code;
        if (code <= 0 || code > 127 || !strchr("?bBhHiIqQefd", code) || field->offset < 0
            || field->offset > size - width_of((char)code)) {
            PyErr_Format(PyExc_ValueError, "no field of a message: %R", fields);
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

static int Form_traverse(FormObject *self, visitproc visit, void *arg)
{
    Py_VISIT(self->made);
    return 0;
}

static int Form_clear(FormObject *self)
{
    Py_CLEAR(self->made);
    return 0;
}

static void Form_dealloc(FormObject *self)
{
    PyObject_GC_UnTrack(self);
    Form_clear(self);
    for (Py_ssize_t n = 0; n < Py_SIZE(self); n++) {
        Py_XDECREF(self->field[n].name);
        Py_XDECREF(self->field[n].type);
    }
    Py_TYPE(self)->tp_free((PyObject *)self);
}

METHODS_OF(Form, FORM_METHODS)

PyTypeObject FormType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "gridlane.actors._engine.Form",
    .tp_basicsize = sizeof(FormObject),
    .tp_itemsize = sizeof(Field),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = Form_new,
    .tp_traverse = (traverseproc)Form_traverse,
    .tp_clear = (inquiry)Form_clear,
    .tp_dealloc = (destructor)Form_dealloc,
    .tp_methods = Form_methods,
};
