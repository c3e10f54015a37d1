/* Forwards of operators on a few numbers, so that the call is one step: reductions, and what moves numbers to other places. What they do
 * not handle is left to the definitions in Python. */
#include "operation.h"

enum { FEW = 1024 }; /* elements up to which a plain loop is as quick as a vectorised one with its start */

/* The place of the largest, or least, of them: of the first NaN, where there is one. */
#define DEFINE_PLACE(name, TYPE)                                                       \
    static npy_intp name(const TYPE *x, npy_intp n, int least)                         \
    {                                                                                  \
        npy_intp found = 0;                                                            \
        for (npy_intp i = 0; i < n; i++) {                                             \
            if (x[i] != x[i]) return i;                                                \
            if (least ? x[i] < x[found] : x[i] > x[found]) found = i;                  \
        }                                                                              \
        return found;                                                                  \
    }
DEFINE_PLACE(place_single, float)
DEFINE_PLACE(place_double, double)
DEFINE_PLACE(place_whole, int64_t)

static npy_intp place_of(PyArrayObject *a, int least)
{
    const npy_intp n = PyArray_SIZE(a);
    if (n > FEW || !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISALIGNED(a)) return -1;
    switch (PyArray_TYPE(a)) {
    case NPY_FLOAT: return place_single(PyArray_DATA(a), n, least);
    case NPY_DOUBLE: return place_double(PyArray_DATA(a), n, least);
    case NPY_INT64: return place_whole(PyArray_DATA(a), n, least);
    }
    return -1;
}

static PyObject *extreme(PyArrayObject *a, int least)
{
    const npy_intp at = place_of(a, least);
    PyObject *found = at < 0 ? NULL : PyArray_SimpleNew(0, NULL, PyArray_TYPE(a));
    if (found) memcpy(PyArray_DATA((PyArrayObject *)found), PyArray_BYTES(a) + at * PyArray_ITEMSIZE(a), PyArray_ITEMSIZE(a));
    return found;
}

/* argmax(input, dim, keepdim): without a dimension */
static PyObject *place(PyArrayObject *a, PyObject *const *args, int least)
{
    const npy_intp at = args[1] == Py_None && args[2] == Py_False ? place_of(a, least) : -1;
    PyObject *found = at < 0 ? NULL : PyArray_SimpleNew(0, NULL, NPY_INT64);
    if (found) *(int64_t *)PyArray_DATA((PyArrayObject *)found) = at;
    return found;
}

static PyObject *largest(PyArrayObject *a, PyObject *const *args) { return (void)args, extreme(a, 0); }
static PyObject *least(PyArrayObject *a, PyObject *const *args) { return (void)args, extreme(a, 1); }
static PyObject *largest_place(PyArrayObject *a, PyObject *const *args) { return place(a, args, 0); }
static PyObject *least_place(PyArrayObject *a, PyObject *const *args) { return place(a, args, 1); }

/* ---- along a dimension ---- */

/* An array row by row as before × n × after numbers. */
struct lines {
    int axis, ndim;
    npy_intp before, n, after;
};

static int axis_of(PyObject *given, int ndim)
{
    if ((PyTuple_CheckExact(given) || PyList_CheckExact(given)) && PySequence_Fast_GET_SIZE(given) == 1) given = PySequence_Fast_GET_ITEM(given, 0);
    if (!PyLong_CheckExact(given)) return -1;
    const Py_ssize_t dim = PyLong_AsSsize_t(given);
    if (dim < -ndim || dim >= ndim || (dim == -1 && PyErr_Occurred())) return -1;
    return (int)(dim < 0 ? dim + ndim : dim);
}

static int lines_of(PyArrayObject *a, PyObject *dim, struct lines *l)
{
    if (!PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISALIGNED(a)) return 0;
    *l = (struct lines){.axis = axis_of(dim, PyArray_NDIM(a)), .ndim = PyArray_NDIM(a), .before = 1, .after = 1};
    if (l->axis < 0) return 0;
    for (int d = 0; d < l->axis; d++) l->before *= PyArray_DIM(a, d);
    for (int d = l->axis + 1; d < l->ndim; d++) l->after *= PyArray_DIM(a, d);
    l->n = PyArray_DIM(a, l->axis);
    return 1;
}

/* What the dimension is reduced to, of the array's own type. */
static PyArrayObject *reduced(PyArrayObject *a, const struct lines *l, int keep)
{
    npy_intp shape[NPY_MAXDIMS];
    int n = 0;
    for (int d = 0; d < l->ndim; d++)
        if (d != l->axis) shape[n++] = PyArray_DIM(a, d);
        else if (keep) shape[n++] = 1;
    return (PyArrayObject *)PyArray_SimpleNew(n, shape, PyArray_TYPE(a));
}

/* The squares of the distances from the mean, summed in double precision; and the largest or least, of which a NaN is both. */
#define DEFINE_ALONG(TYPE)                                                                                             \
    static void spread_##TYPE(const TYPE *x, TYPE *y, const struct lines *l, double free, int root)                    \
    {                                                                                                                  \
        for (npy_intp b = 0; b < l->before; b++, x += l->n * l->after)                                                 \
            for (npy_intp k = 0; k < l->after; k++) {                                                                  \
                double total = 0, squares = 0;                                                                         \
                for (npy_intp i = 0; i < l->n; i++) total += x[i * l->after + k];                                      \
                const double mean = total / (double)l->n;                                                              \
                for (npy_intp i = 0; i < l->n; i++) squares += (x[i * l->after + k] - mean) * (x[i * l->after + k] - mean); \
                *y++ = (TYPE)(root ? sqrt(squares / free) : squares / free);                                           \
            }                                                                                                          \
    }                                                                                                                  \
    static void extremes_##TYPE(const TYPE *x, TYPE *y, const struct lines *l, int least)                              \
    {                                                                                                                  \
        for (npy_intp b = 0; b < l->before; b++, x += l->n * l->after)                                                 \
            for (npy_intp k = 0; k < l->after; k++) {                                                                  \
                TYPE found = x[k];                                                                                     \
                for (npy_intp i = 1; i < l->n; i++) {                                                                  \
                    const TYPE one = x[i * l->after + k];                                                              \
                    if ((least ? one < found : one > found) || one != one) found = one;                                \
                }                                                                                                      \
                *y++ = found;                                                                                          \
            }                                                                                                          \
    }
DEFINE_ALONG(float)
DEFINE_ALONG(double)

/* var(input, dim, correction, keepdim) */
static PyObject *spread(PyArrayObject *a, PyObject *const *args, int root)
{
    struct lines l;
    const npy_intp size = PyArray_SIZE(a);
    if (size > FEW || (PyArray_TYPE(a) != NPY_FLOAT && PyArray_TYPE(a) != NPY_DOUBLE) || !PyLong_CheckExact(args[2]) || !PyBool_Check(args[3])) return NULL;
    const double correction = PyLong_AsDouble(args[2]);
    if (!lines_of(a, args[1], &l) || !(correction >= 0) || (double)l.n <= correction) return NULL;
    PyArrayObject *y = reduced(a, &l, args[3] == Py_True);
    if (y && PyArray_TYPE(a) == NPY_FLOAT) spread_float(PyArray_DATA(a), PyArray_DATA(y), &l, (double)l.n - correction, root);
    else if (y) spread_double(PyArray_DATA(a), PyArray_DATA(y), &l, (double)l.n - correction, root);
    return (PyObject *)y;
}

static PyObject *variance(PyArrayObject *a, PyObject *const *args) { return spread(a, args, 0); }
static PyObject *deviation(PyArrayObject *a, PyObject *const *args) { return spread(a, args, 1); }

/* amax(input, dim, keepdim) */
static PyObject *extremes(PyArrayObject *a, PyObject *const *args, int least)
{
    struct lines l;
    if (PyArray_SIZE(a) > FEW || (PyArray_TYPE(a) != NPY_FLOAT && PyArray_TYPE(a) != NPY_DOUBLE) || !PyBool_Check(args[2]) || !lines_of(a, args[1], &l)) return NULL;
    PyArrayObject *y = reduced(a, &l, args[2] == Py_True);
    if (y && PyArray_TYPE(a) == NPY_FLOAT) extremes_float(PyArray_DATA(a), PyArray_DATA(y), &l, least);
    else if (y) extremes_double(PyArray_DATA(a), PyArray_DATA(y), &l, least);
    return (PyObject *)y;
}

static PyObject *largest_along(PyArrayObject *a, PyObject *const *args) { return extremes(a, args, 0); }
static PyObject *least_along(PyArrayObject *a, PyObject *const *args) { return extremes(a, args, 1); }

/* ---- other places ---- */

static PyArrayObject *new_of(PyArrayObject *a, int ndim, const npy_intp *shape)
{
    Py_INCREF(PyArray_DESCR(a));
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(a), ndim, shape, NULL, NULL, 0, NULL);
}

static inline void move_one(char *to, const char *from, npy_intp width)
{
    switch (width) {
    case 1: *to = *from; break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memcpy(to, from, width);
    }
}

/* gather(input, dim, index, sparse_grad) */
static PyObject *gathered(PyArrayObject *a, PyObject *const *args)
{
    if (!PyArray_CheckExact(args[2])) return NULL;
    PyArrayObject *index = (PyArrayObject *)args[2];
    const int ndim = PyArray_NDIM(a), axis = axis_of(args[1], ndim);
    const npy_intp count = PyArray_SIZE(index), width = PyArray_ITEMSIZE(a);
    if (axis < 0 || PyArray_NDIM(index) != ndim || PyArray_TYPE(index) != NPY_INT64 || !PyArray_ISCARRAY_RO(index) || !count || count > FEW) return NULL;
    for (int d = 0; d < ndim; d++)
        if (d != axis && PyArray_DIM(index, d) > PyArray_DIM(a, d)) return NULL;
    PyArrayObject *y = new_of(a, ndim, PyArray_DIMS(index));
    const npy_intp n = PyArray_DIM(a, axis), step = PyArray_STRIDE(a, axis);
    const int64_t *at_ = PyArray_DATA(index);
    const char *from = PyArray_BYTES(a);
    npy_intp place[NPY_MAXDIMS] = {0};
    char *to = y ? PyArray_BYTES(y) : NULL;
    for (npy_intp i = 0; y && i < count; i++, to += width) {
        if (at_[i] < 0 || at_[i] >= n) {
            Py_CLEAR(y);
            break;
        }
        move_one(to, from + at_[i] * step, width);
        for (int d = ndim - 1; d >= 0; d--) {
            const npy_intp stride = d == axis ? 0 : PyArray_STRIDE(a, d);
            from += stride;
            if (++place[d] < PyArray_DIM(index, d)) break;
            from -= place[d] * stride, place[d] = 0;
        }
    }
    return (PyObject *)y;
}

/* flip(input, dims) */
static PyObject *flipped(PyArrayObject *a, PyObject *const *args)
{
    const int ndim = PyArray_NDIM(a);
    const npy_intp width = PyArray_ITEMSIZE(a), size = PyArray_SIZE(a);
    npy_intp steps[NPY_MAXDIMS], place[NPY_MAXDIMS] = {0};
    if (size > FEW || !PyArray_IS_C_CONTIGUOUS(a) || !PyTuple_CheckExact(args[1])) return NULL;
    memcpy(steps, PyArray_STRIDES(a), ndim * sizeof *steps);
    const char *from = PyArray_BYTES(a);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args[1]); i++) {
        PyObject *dim = PyTuple_GET_ITEM(args[1], i);
        const int axis = PyLong_CheckExact(dim) ? axis_of(dim, ndim) : -1;
        if (axis < 0 || steps[axis] < 0) return NULL;
        from += (PyArray_DIM(a, axis) - 1) * steps[axis], steps[axis] = -steps[axis];
    }
    PyArrayObject *y = new_of(a, ndim, PyArray_DIMS(a));
    char *to = y ? PyArray_BYTES(y) : NULL;
    for (npy_intp i = 0; y && i < size; i++, to += width) {
        move_one(to, from, width);
        for (int d = ndim - 1; d >= 0; d--) {
            from += steps[d];
            if (++place[d] < PyArray_DIM(a, d)) break;
            from -= place[d] * steps[d], place[d] = 0;
        }
    }
    return (PyObject *)y;
}

/* roll(input, shifts, dims): by one number along one dimension */
static PyObject *rolled(PyArrayObject *a, PyObject *const *args)
{
    enum { QUICKLY_COPIED = 1 << 14 };
    struct lines l;
    PyObject *shift = PyTuple_CheckExact(args[1]) && PyTuple_GET_SIZE(args[1]) == 1 ? PyTuple_GET_ITEM(args[1], 0) : args[1];
    if (!PyLong_CheckExact(shift) || PyArray_SIZE(a) > QUICKLY_COPIED || !lines_of(a, args[2], &l)) return NULL;
    const Py_ssize_t by = PyLong_AsSsize_t(shift);
    if (by == -1 && PyErr_Occurred()) return NULL;
    PyArrayObject *y = new_of(a, l.ndim, PyArray_DIMS(a));
    const npy_intp first = (by % l.n + l.n) % l.n, part = l.after * PyArray_ITEMSIZE(a), head = first * part, row = l.n * part;
    const char *from = PyArray_BYTES(a);
    char *to = y ? PyArray_BYTES(y) : NULL;
    for (npy_intp b = 0; y && b < l.before; b++, from += row, to += row) {
        memcpy(to + head, from, row - head);
        memcpy(to, from + row - head, head);
    }
    return (PyObject *)y;
}

/* clamp(input, min, max): whole numbers to whole numbers */
static PyObject *clamped(PyArrayObject *a, PyObject *const *args)
{
    const npy_intp n = PyArray_SIZE(a);
    if (PyArray_TYPE(a) != NPY_INT64 || n > FEW || !PyArray_ISCARRAY_RO(a) || (args[1] == Py_None && args[2] == Py_None)) return NULL;
    int64_t limit[2] = {INT64_MIN, INT64_MAX};
    for (int i = 0; i < 2; i++) {
        if (args[i + 1] == Py_None) continue;
        if (!PyLong_CheckExact(args[i + 1])) return NULL;
        limit[i] = PyLong_AsLongLong(args[i + 1]);
        if (limit[i] == -1 && PyErr_Occurred()) return NULL;
    }
    PyArrayObject *y = new_of(a, PyArray_NDIM(a), PyArray_DIMS(a));
    const int64_t *x = PyArray_DATA(a);
    int64_t *to = y ? PyArray_DATA(y) : NULL;
    for (npy_intp i = 0; y && i < n; i++) {
        const int64_t most = x[i] < limit[0] ? limit[0] : x[i];
        to[i] = most > limit[1] ? limit[1] : most;
    }
    return (PyObject *)y;
}

view_forward early_forward_of(PyObject *name)
{
    static const struct { const char *name; view_forward forward; } known[] = {
        {"max_all", largest}, {"min_all", least}, {"argmax", largest_place}, {"argmin", least_place},
        {"var", variance}, {"std", deviation}, {"amax", largest_along}, {"amin", least_along}, {"gather", gathered}, {"flip", flipped}, {"roll", rolled},
        {"clamp", clamped}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (PyUnicode_CompareWithASCIIString(name, known[i].name) == 0) return known[i].forward;
    return NULL;
}
