/* Places of numbers as arrays: where a mask is true, and the numbers at such places. */
#include "operation.h"

#include <float.h>

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

/* How many numbers of an array without gaps are not zero; -1 where this is not for its type. */
static npy_intp count_places(PyArrayObject *a)
{
    enum { BYTES = 255 };
    const npy_intp size = PyArray_SIZE(a);
    npy_intp count = 0;
    if (!PyArray_NDIM(a) || !PyArray_ISBEHAVED_RO(a)) return -1;
    switch (PyArray_TYPE(a)) {
    case NPY_BOOL: COUNT_OF(npy_bool)
    case NPY_INT64: COUNT_OF(int64_t)
    case NPY_FLOAT: COUNT_OF(float)
    case NPY_DOUBLE: COUNT_OF(double)
    default: return -1;
    }
    return count;
}

/* count_nonzero(input, dim): of everything */
static PyObject *counted(PyArrayObject *a, PyObject *const *args)
{
    const npy_intp n = args[1] == Py_None && is_gapless(a) ? count_places(a) : -1;
    PyObject *found = n < 0 ? NULL : PyArray_SimpleNew(0, NULL, NPY_INT64);
    if (found) *(int64_t *)PyArray_DATA((PyArrayObject *)found) = n;
    return found;
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
    if (!PyArray_IS_C_CONTIGUOUS(a)) {
        PyObject *rows = layout_rows((PyObject *)a), *found = rows ? rows_of_places((PyArrayObject *)rows, args) : NULL;
        Py_XDECREF(rows);
        return found;
    }
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
    npy_intp n = PyArray_CheckExact(args[0]) && PyArray_IS_C_CONTIGUOUS(a) ? count_places(a) : -1;
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

/* Whether what is there from the place `lead` on is rows of as many places. */
static int are_places(PyObject *list, int lead, npy_intp count)
{
    for (int d = lead; d < PyList_GET_SIZE(list); d++) {
        PyArrayObject *index = (PyArrayObject *)PyList_GET_ITEM(list, d);
        if (!PyArray_CheckExact(index) || PyArray_TYPE(index) != NPY_INT64 || PyArray_NDIM(index) != 1 || PyArray_DIM(index, 0) != count ||
            !PyArray_ISALIGNED(index) || PyArray_ISBYTESWAPPED(index) || (PyArray_STRIDE(index, 0) < 0 && count > 1))
            return 0;
    }
    return 1;
}

/* Where `count` rows of the result, from `begin` on, begin in `a`, in bytes: from arrays of places for its dimensions from `lead` on; 0
 * where one is out of range. */
static int starts_of(PyArrayObject *a, PyObject *list, int lead, npy_intp begin, npy_intp count, int64_t *starts)
{
    memset(starts, 0, count * sizeof *starts);
    for (int d = lead; d < PyList_GET_SIZE(list); d++) {
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

/* Whether the dimensions from `first` on lie row by row, without gaps. */
static int rows_are_whole(PyArrayObject *a, int first)
{
    npy_intp step = PyArray_ITEMSIZE(a);
    for (int d = PyArray_NDIM(a) - 1; d >= first; step *= PyArray_DIM(a, d--))
        if (PyArray_STRIDE(a, d) != step && PyArray_DIM(a, d) != 1) return 0;
    return 1;
}

/* Whether the dimensions but those from `lead` up to `end` lie in order, perhaps with gaps, so that no other order of them is possible. */
static int others_descend(PyArrayObject *a, int lead, int end)
{
    npy_intp step = 0;
    for (int d = PyArray_NDIM(a) - 1; d >= 0; d--) {
        if (d >= lead && d < end) continue;
        if (PyArray_STRIDE(a, d) <= step) return 0;
        step = PyArray_STRIDE(a, d);
    }
    return 1;
}

/* Where the numbers of the dimensions from `first` up to `end` lie, in bytes. */
static void offsets_of(PyArrayObject *a, int first, int end, npy_intp *offsets)
{
    npy_intp done = 1;
    offsets[0] = 0;
    for (int d = end - 1; d >= first; done *= PyArray_DIM(a, d--))
        for (npy_intp i = done; i < done * PyArray_DIM(a, d); i++) offsets[i] = offsets[i - done] + PyArray_STRIDE(a, d);
}

/* Rows from where they begin to one behind the other; `offsets`: NULL, or where their numbers lie. */
#define EACH_ROW(TYPE)                                                                                            \
    for (npy_intp i = 0; i < n; i++)                                                                              \
        for (npy_intp k = 0; k < inner; k++) ((TYPE *)to)[i * inner + k] = *(const TYPE *)(from + starts[i] + offsets[k])
static void copy_rows(char *to, const char *from, const int64_t *starts, npy_intp n, npy_intp width, npy_intp each, const npy_intp *offsets)
{
    const npy_intp inner = width / each;
    if (offsets && each == 4) EACH_ROW(uint32_t);
    else if (offsets && each == 8) EACH_ROW(uint64_t);
    else if (offsets)
        for (npy_intp i = 0; i < n; i++)
            for (npy_intp k = 0; k < inner; k++) memcpy(to + (i * inner + k) * each, from + starts[i] + offsets[k], each);
    else if (width == 4)
        for (npy_intp i = 0; i < n; i++) memcpy(to + i * 4, from + starts[i], 4);
    else if (width == 8)
        for (npy_intp i = 0; i < n; i++) memcpy(to + i * 8, from + starts[i], 8);
    else
        for (npy_intp i = 0; i < n; i++) memcpy(to + i * width, from + starts[i], width);
}

/* index(input, indices, exact): at rows of places for the first dimensions, or for one behind whole ones (None) of few numbers */
static PyObject *at_places(PyArrayObject *a, PyObject *const *args)
{
    int64_t starts[FEW];
    npy_intp offsets[FEW], outer[FEW];
    const int end = PyList_CheckExact(args[1]) ? (int)PyList_GET_SIZE(args[1]) : 0, ndim = PyArray_NDIM(a), rows = PyArray_IS_C_CONTIGUOUS(a);
    int lead = 0, ones = 0;
    while (lead < end && PyList_GET_ITEM(args[1], lead) == Py_None) lead++;
    if (lead == end || end > ndim || (lead && end > lead + 1) || !PyArray_CheckExact(PyList_GET_ITEM(args[1], lead)) || !PyArray_ISALIGNED(a) || PyArray_ISBYTESWAPPED(a)) return NULL;
    const npy_intp count = PyArray_SIZE((PyArrayObject *)PyList_GET_ITEM(args[1], lead));
    npy_intp shape[NPY_MAXDIMS], before = 1, inner = 1;
    for (int d = 0, k = 0; d < ndim; d++) {
        if (d == lead) shape[k++] = count;
        if (d >= lead && d < end) continue;
        if (PyArray_DIM(a, d) < 1) return NULL;
        ones |= PyArray_DIM(a, d) == 1; /* whose place in memory is not told by its step */
        shape[k++] = PyArray_DIM(a, d), *(d < lead ? &before : &inner) *= PyArray_DIM(a, d);
    }
    const npy_intp each = PyArray_ITEMSIZE(a), width = inner * each;
    const int whole = rows_are_whole(a, end);
    if ((lead || !whole) && (before * count * inner > FEW || !others_descend(a, lead, end))) return NULL;
    /* Wide rows of what has no gaps are NumPy's to copy. */
    if (!count || (width > WIDEST && count * width > FEW * WIDEST && PyArray_ISCARRAY_RO(a)) || !are_places(args[1], lead, count)) return NULL;
    for (int d = lead; ones && d < end; d++)
        if (!rows || !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)PyList_GET_ITEM(args[1], d))) return NULL;
    PyArrayObject *y = new_like(a, ndim - (end - lead) + 1, shape);
    if (!y) return NULL;
    if (!whole) offsets_of(a, end, ndim, offsets);
    if (lead) offsets_of(a, 0, lead, outer);
    for (npy_intp begin = 0, n; begin < count; begin += n) {
        n = count - begin < FEW ? count - begin : FEW;
        if (!starts_of(a, args[1], lead, begin, n, starts)) {
            Py_DECREF(y);
            return NULL;
        }
        for (npy_intp o = 0; o < before; o++)
            copy_rows(PyArray_BYTES(y) + (o * count + begin) * width, PyArray_BYTES(a) + (lead ? outer[o] : 0), starts, n, width, each, whole ? NULL : offsets);
    }
    return (PyObject *)y;
}

/* ---- where a mask is true ---- */

/* What is written to: the array itself, where that is meant, or a copy; a mask of its shape, row by row like it, is given. */
static PyArrayObject *masked_target(PyArrayObject *a, PyObject *mask)
{
    if (!PyArray_CheckExact(mask) || PyArray_TYPE((PyArrayObject *)mask) != NPY_BOOL || !PyArray_SAMESHAPE(a, (PyArrayObject *)mask) ||
        !PyArray_ISCARRAY_RO((PyArrayObject *)mask) || !PyArray_ISCARRAY_RO(a))
        return NULL;
    if (may_write_to(a)) return (PyArrayObject *)Py_NewRef((PyObject *)a);
    PyArrayObject *y = new_like(a, PyArray_NDIM(a), PyArray_DIMS(a));
    if (y) memcpy(PyArray_DATA(y), PyArray_DATA(a), PyArray_NBYTES(a));
    return y;
}

#define TAKE_IN_TURN(TYPE) for (npy_intp i = 0; i < n; i++) ((TYPE *)to)[flat[i]] = ((const TYPE *)from)[i]

/* masked_scatter(input, mask, source) */
static PyObject *scattered_by_mask(PyArrayObject *a, PyObject *const *args)
{
    PyArrayObject *mask = (PyArrayObject *)args[1], *source = (PyArrayObject *)args[2];
    const npy_intp size = PyArray_SIZE(a), width = PyArray_ITEMSIZE(a);
    if (!PyArray_CheckExact(args[1]) || !PyArray_CheckExact(args[2]) || PyArray_DESCR(source) != PyArray_DESCR(a) || !PyArray_ISCARRAY_RO(source) ||
        PyArray_TYPE(mask) != NPY_BOOL || !PyArray_ISCARRAY_RO(mask) || (width != 1 && width != 2 && width != 4 && width != 8) || count_places(mask) > PyArray_SIZE(source))
        return NULL;
    PyArrayObject *y = masked_target(a, args[1]);
    char *to = y ? PyArray_BYTES(y) : NULL;
    const char *from = PyArray_BYTES(source);
    int16_t flat[FEW + 1];
    for (npy_intp begin = 0, n; y && begin < size; begin += FEW, to += FEW * width, from += n * width) {
        n = flat_places(mask, begin, size - begin < FEW ? size - begin : FEW, flat);
        if (width == 4) TAKE_IN_TURN(uint32_t);
        else if (width == 8) TAKE_IN_TURN(uint64_t);
        else if (width == 2) TAKE_IN_TURN(uint16_t);
        else TAKE_IN_TURN(uint8_t);
    }
    return (PyObject *)y;
}

#define FILL_BY_MASK(TYPE) for (npy_intp i = 0; i < n; i++) ((TYPE *)to)[i] = mask[i] ? (TYPE)value : ((TYPE *)to)[i]

/* masked_fill(input, mask, value): a number, and a few elements */
static PyObject *filled_by_mask(PyArrayObject *a, PyObject *const *args)
{
    const int type = PyArray_TYPE(a);
    const npy_intp n = PyArray_SIZE(a);
    if (n > FEW || (type != NPY_FLOAT && type != NPY_DOUBLE) || !(PyFloat_CheckExact(args[2]) || PyLong_CheckExact(args[2]))) return NULL;
    const double value = PyFloat_AsDouble(args[2]);
    if (PyErr_Occurred()) return PyErr_Clear(), NULL;
    if (type == NPY_FLOAT && isfinite(value) && fabs(value) > FLT_MAX) return NULL;
    PyArrayObject *y = masked_target(a, args[1]);
    const npy_bool *mask = y ? PyArray_DATA((PyArrayObject *)args[1]) : NULL;
    void *to = y ? PyArray_DATA(y) : NULL;
    if (y && type == NPY_FLOAT) FILL_BY_MASK(float);
    else if (y) FILL_BY_MASK(double);
    return (PyObject *)y;
}

view_forward masking_forward_of(PyObject *name)
{
    if (!PyUnicode_CompareWithASCIIString(name, "masked_scatter")) return scattered_by_mask;
    return !PyUnicode_CompareWithASCIIString(name, "masked_fill") ? filled_by_mask : NULL;
}

view_forward places_forward_of(PyObject *name)
{
    static const struct { const char *name; view_forward forward; } known[] = {{"nonzero", rows_of_places}, {"index", at_places}, {"count_nonzero", counted}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (PyUnicode_CompareWithASCIIString(name, known[i].name) == 0) return known[i].forward;
    return masking_forward_of(name);
}
