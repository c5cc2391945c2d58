/* The tensor maps in the parameter block of a tile program: cuTensorMapEncodeTiled makes them of
   numbers in the block. launcher_tensor_maps.py has the same in Python, and says what a profile has.
   Included by _native.c, in front of its Profile. */

#define MAP_BYTES 128
#define MAP_AXES 5
#define MAP_NUMBERS (2 * MAP_AXES) /* the address, the extents and the strides */
#define MAP_WAYS 4
#define MOST_OFFSETS 512
#define MAP_PROMOTION 2 /* of lines to 128 bytes in L2 */

typedef int (*Encode)(void *map, int element, unsigned rank, void *address, const uint64_t *extents,
                      const uint64_t *strides, const unsigned *box, const unsigned *steps,
                      int interleave, int swizzle, int promotion, int fill);

typedef struct {
    int known;
    uint64_t numbers[MAP_NUMBERS];
    unsigned char bytes[MAP_BYTES];
} EncodedMap;

typedef struct {
    int place; /* in the parameter block */
    int element, swizzle, nan;
    int rank;
    int offsets[MAP_NUMBERS]; /* there, of the numbers */
    unsigned box[MAP_AXES];
    EncodedMap encoded[MAP_WAYS];
    int oldest; /* of these */
} TensorMap;

static const EncodedMap *encoded_map(TensorMap *map, Encode encode, const unsigned char *block)
{
    static const unsigned steps[MAP_AXES] = {1, 1, 1, 1, 1};
    _Alignas(64) unsigned char bytes[MAP_BYTES];
    uint64_t numbers[MAP_NUMBERS] = {0};
    for (int n = 0; n < 2 * map->rank; n++)
        memcpy(&numbers[n], block + map->offsets[n], 8);
    for (int n = 0; n < MAP_WAYS; n++)
        if (map->encoded[n].known &&
            memcmp(map->encoded[n].numbers, numbers, sizeof numbers) == 0)
            return &map->encoded[n];
    if (encode(bytes, map->element, (unsigned)map->rank, (void *)(uintptr_t)numbers[0],
               numbers + 1, numbers + 1 + map->rank, map->box, steps, 0, map->swizzle,
               MAP_PROMOTION, map->nan) != 0)
        return NULL;
    EncodedMap *made = &map->encoded[map->oldest];
    map->oldest = (map->oldest + 1) % MAP_WAYS;
    memcpy(made->numbers, numbers, sizeof numbers);
    memcpy(made->bytes, bytes, MAP_BYTES);
    made->known = 1;
    return made;
}

/* Whether all maps are in the block; if not, the slow path explains it. */
static int fill_maps(TensorMap *maps, Py_ssize_t count, Encode encode, unsigned char *block)
{
    for (Py_ssize_t n = 0; n < count; n++) {
        const EncodedMap *made = encoded_map(&maps[n], encode, block);
        if (made == NULL)
            return 0;
        memcpy(block + maps[n].place, made->bytes, MAP_BYTES);
    }
    return 1;
}

static int read_map(TensorMap *map, PyObject *item, Py_ssize_t size)
{
    PyObject *offsets, *box;
    if (!PyArg_ParseTuple(item, "iO!iO!ii", &map->place, &PyTuple_Type, &offsets, &map->element,
                          &PyTuple_Type, &box, &map->swizzle, &map->nan))
        return -1;
    Py_ssize_t rank = PyTuple_GET_SIZE(box), most = size - 8;
    int good = rank >= 1 && rank <= MAP_AXES && PyTuple_GET_SIZE(offsets) == 2 * rank &&
               map->place >= 0 && map->place <= size - MAP_BYTES;
    map->rank = (int)rank;
    for (Py_ssize_t n = 0; good && n < 2 * rank; n++) {
        long offset = PyLong_AsLong(PyTuple_GET_ITEM(offsets, n));
        good = offset >= 0 && offset <= most;
        map->offsets[n] = (int)offset;
    }
    for (Py_ssize_t n = 0; good && n < rank; n++)
        map->box[n] = (unsigned)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(box, n));
    if (good && !PyErr_Occurred())
        return 0;
    PyErr_Clear();
    PyErr_SetString(PyExc_ValueError, "not a tensor map");
    return -1;
}

/* The maps of (address of cuTensorMapEncodeTiled, maps, offsets of all parameters) or of None. */
static int read_maps(PyObject *given, Py_ssize_t size, TensorMap **maps, Py_ssize_t *count,
                     Encode *encode, int **offsets, Py_ssize_t *offset_count)
{
    PyObject *items, *places;
    unsigned long long address;
    *maps = NULL;
    *count = *offset_count = 0;
    if (given == Py_None)
        return 0;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "KO!O!", &address, &PyTuple_Type, &items,
                                                   &PyTuple_Type, &places))
        return PyErr_Occurred() ? -1 : (PyErr_SetString(PyExc_ValueError, "not tensor maps"), -1);
    *encode = (Encode)(uintptr_t)address;
    *maps = PyMem_Calloc(PyTuple_GET_SIZE(items) + 1, sizeof(TensorMap));
    *offsets = PyMem_Calloc(PyTuple_GET_SIZE(places) + 1, sizeof(int));
    if (*maps == NULL || *offsets == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(places); n++) {
        long offset = PyLong_AsLong(PyTuple_GET_ITEM(places, n));
        if (offset < 0 || offset >= size || PyTuple_GET_SIZE(places) > MOST_OFFSETS) {
            PyErr_Clear();
            PyErr_SetString(PyExc_ValueError, "not the offsets of parameters");
            return -1;
        }
        (*offsets)[n] = (int)offset;
        *offset_count = n + 1;
    }
    for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(items); n++) {
        if (read_map(&(*maps)[n], PyTuple_GET_ITEM(items, n), size) < 0)
            return -1;
        *count = n + 1;
    }
    return 0;
}
