/* Places of numbers as arrays: where a mask is true, and the numbers at such places. */
#include "operation.h"

enum { FEW = 4096, WIDEST = 8 }; /* elements of a block; bytes of a row */

#define PLACES_OF(TYPE)                                                                              \
    {                                                                                                \
        const TYPE *x = (const TYPE *)PyArray_DATA(a) + begin;                                       \
        for (npy_intp i = 0; i < n; i++) flat[count] = (int16_t)i, count += x[i] != 0;               \
        break;                                                                                       \
    }

/* The flat places of what is not zero among n numbers from `begin` on, counted from there, and how many there are. */
static npy_intp flat_places(PyArrayObject *a, npy_intp begin, npy_intp n, int16_t *flat)
{
    npy_intp count = 0;
    switch (PyArray_TYPE(a)) {
    case NPY_BOOL: PLACES_OF(npy_bool)
    case NPY_INT64: PLACES_OF(int64_t)
    case NPY_FLOAT: PLACES_OF(float)
    case NPY_DOUBLE: PLACES_OF(double)
    }
    return count;
}

#define COUNT_OF(TYPE)                                                                               \
    {                                                                                                \
        const TYPE *x = PyArray_DATA(a);                                                             \
        for (npy_intp at = 0; at < size; at += BYTES) {                                              \
            const npy_intp n = size - at < BYTES ? size - at : BYTES;                                \
            uint8_t some = 0;                                                                        \
            for (npy_intp i = 0; i < n; i++) some = (uint8_t)(some + (x[at + i] != 0));              \
            count += some;                                                                           \
        }                                                                                            \
        break;                                                                                       \
    }

/* How many numbers are not zero; -1 where this is not for the array. */
static npy_intp count_places(PyArrayObject *a)
{
    enum { BYTES = 255 };
    const npy_intp size = PyArray_SIZE(a);
    npy_intp count = 0;
    if (!PyArray_NDIM(a) || !PyArray_ISCARRAY_RO(a)) return -1;
    switch (PyArray_TYPE(a)) {
    case NPY_BOOL: COUNT_OF(npy_bool)
    case NPY_INT64: COUNT_OF(int64_t)
    case NPY_FLOAT: COUNT_OF(float)
    case NPY_DOUBLE: COUNT_OF(double)
    default: return -1;
    }
    return count;
}

/* The places along each axis: number i of axis d to to[d][i]. */
static void spread_places(PyArrayObject *a, int64_t *const *to)
{
    const int last = PyArray_NDIM(a) - 1;
    const npy_intp size = PyArray_SIZE(a);
    int16_t flat[FEW + 1];
    npy_intp before = 0, found = 0, place[NPY_MAXDIMS] = {0};
    for (npy_intp begin = 0; begin < size; begin += FEW) {
        const npy_intp count = flat_places(a, begin, size - begin < FEW ? size - begin : FEW, flat);
        for (npy_intp i = 0; i < count; i++, found++) {
            place[last] += begin + flat[i] - before, before = begin + flat[i];
            for (int d = last; d > 0 && place[d] >= PyArray_DIM(a, d); d--) {
                place[d - 1] += place[d] / PyArray_DIM(a, d);
                place[d] %= PyArray_DIM(a, d);
            }
            for (int d = 0; d <= last; d++) to[d][found] = place[d];
        }
    }
}

/* nonzero(input): a row for each place, axes one after the other in memory, as in PyTorch */
static PyObject *rows_of_places(PyArrayObject *a, PyObject *const *args)
{
    int64_t *to[NPY_MAXDIMS];
    (void)args;
    const npy_intp shape[2] = {count_places(a), PyArray_NDIM(a)};
    PyArrayObject *y = shape[0] < 0 ? NULL : (PyArrayObject *)PyArray_EMPTY(2, (npy_intp *)shape, NPY_INT64, 1);
    for (int d = 0; y && d < shape[1]; d++) to[d] = (int64_t *)PyArray_DATA(y) + d * shape[0];
    if (y) spread_places(a, to);
    return (PyObject *)y;
}

PyObject *places(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int64_t *to[NPY_MAXDIMS];
    (void)module;
    if (count != 1) return PyErr_Format(PyExc_TypeError, "expected 1 argument");
    PyArrayObject *a = (PyArrayObject *)args[0];
    npy_intp n = PyArray_CheckExact(args[0]) ? count_places(a) : -1;
    if (n < 0) NOT_HANDLED();
    PyObject *found = PyList_New(PyArray_NDIM(a));
    for (int d = 0; found && d < PyArray_NDIM(a); d++) {
        PyObject *row = PyArray_SimpleNew(1, &n, NPY_INT64);
        if (!row) Py_CLEAR(found);
        else to[d] = PyArray_DATA((PyArrayObject *)row), PyList_SET_ITEM(found, d, row);
    }
    if (found) spread_places(a, to);
    return found;
}

/* Whether `many` objects are rows of as many places. */
static int are_places(PyObject *list, int many, npy_intp count)
{
    for (int d = 0; d < many; d++) {
        PyArrayObject *index = (PyArrayObject *)PyList_GET_ITEM(list, d);
        if (!PyArray_CheckExact(index) || PyArray_TYPE(index) != NPY_INT64 || PyArray_NDIM(index) != 1 || PyArray_DIM(index, 0) != count ||
            !PyArray_ISALIGNED(index) || PyArray_ISBYTESWAPPED(index) || (PyArray_STRIDE(index, 0) < 0 && count > 1))
            return 0;
    }
    return 1;
}

/* Where `count` rows of the result, from `begin` on, begin in `a`, in bytes: from `many` arrays of places for the first dimensions; 0 where
 * one is out of range. */
static int starts_of(PyArrayObject *a, PyObject *list, int many, npy_intp begin, npy_intp count, int64_t *starts)
{
    memset(starts, 0, count * sizeof *starts);
    for (int d = 0; d < many; d++) {
        PyArrayObject *index = (PyArrayObject *)PyList_GET_ITEM(list, d);
        const npy_intp n = PyArray_DIM(a, d), step = PyArray_STRIDE(a, d), apart = PyArray_STRIDE(index, 0);
        const char *from = PyArray_BYTES(index) + begin * apart;
        for (npy_intp i = 0; i < count; i++, from += apart) {
            const int64_t place = *(const int64_t *)from;
            if (place < -n || place >= n) return 0;
            starts[i] += (place + (place < 0 ? n : 0)) * step;
        }
    }
    return 1;
}

/* Whether what follows the first `many` dimensions lies row by row, without gaps; the first may lie anyhow. */
static int rows_are_whole(PyArrayObject *a, int many)
{
    npy_intp step = PyArray_ITEMSIZE(a);
    for (int d = PyArray_NDIM(a) - 1; d >= many; step *= PyArray_DIM(a, d--))
        if (PyArray_STRIDE(a, d) != step) return 0;
    return PyArray_ISALIGNED(a) && !PyArray_ISBYTESWAPPED(a);
}

/* index(input, indices, exact): at rows of places for the first dimensions */
static PyObject *at_places(PyArrayObject *a, PyObject *const *args)
{
    int64_t starts[FEW];
    const int many = PyList_CheckExact(args[1]) ? (int)PyList_GET_SIZE(args[1]) : 0, ndim = PyArray_NDIM(a);
    if (!many || many > ndim || !PyArray_CheckExact(PyList_GET_ITEM(args[1], 0))) return NULL;
    if (!rows_are_whole(a, many)) return NULL;
    const npy_intp count = PyArray_SIZE((PyArrayObject *)PyList_GET_ITEM(args[1], 0));
    npy_intp shape[NPY_MAXDIMS] = {count}, width = PyArray_ITEMSIZE(a);
    for (int d = many; d < ndim; d++) {
        if (PyArray_DIM(a, d) < 2) return NULL; /* whose place in memory is not told by its step */
        shape[d - many + 1] = PyArray_DIM(a, d), width *= PyArray_DIM(a, d);
    }
    /* Wide rows of what has no gaps are NumPy's to copy. */
    if (!count || (width > WIDEST && count * width > FEW * WIDEST && PyArray_ISCARRAY_RO(a)) || !are_places(args[1], many, count)) return NULL;
    Py_INCREF(PyArray_DESCR(a));
    PyArrayObject *y = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), ndim - many + 1, shape, NULL, NULL, 0, NULL);
    if (!y) return NULL;
    const char *from = PyArray_BYTES(a);
    for (npy_intp begin = 0, n; begin < count; begin += n) {
        char *to = PyArray_BYTES(y) + begin * width;
        n = count - begin < FEW ? count - begin : FEW;
        if (!starts_of(a, args[1], many, begin, n, starts)) {
            Py_DECREF(y);
            return NULL;
        }
        if (width == 4)
            for (npy_intp i = 0; i < n; i++) memcpy(to + i * 4, from + starts[i], 4);
        else if (width == 8)
            for (npy_intp i = 0; i < n; i++) memcpy(to + i * 8, from + starts[i], 8);
        else
            for (npy_intp i = 0; i < n; i++) memcpy(to + i * width, from + starts[i], width);
    }
    return (PyObject *)y;
}

view_forward places_forward_of(PyObject *name)
{
    return !PyUnicode_CompareWithASCIIString(name, "nonzero") ? rows_of_places : !PyUnicode_CompareWithASCIIString(name, "index") ? at_places : NULL;
}
