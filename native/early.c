/* Forwards of operators on a few numbers, so that the call is one step: reductions, and what moves numbers to other places. What they do
 * not handle is left to the definitions in Python. */
#include "operation.h"

#include "integers.h"

enum {
    FEW = 1024,     /* elements up to which a plain loop is as quick as a vectorised one with its start */
    QUICKLY_WRITTEN = 1 << 14, /* elements for which the GIL is kept */
    SHORT_ROW = 16, /* truth values for which a search takes longer to begin than to look */
};

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
    char gone[NPY_MAXDIMS];
    const npy_intp at = place_of(a, least);
    if (at < 0 && PyArray_TYPE(a) != NPY_FLOAT && PyArray_TYPE(a) != NPY_DOUBLE) return NULL;
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(0, NULL, PyArray_TYPE(a));
    memset(gone, 1, sizeof gone);
    if (found && at >= 0) memcpy(PyArray_DATA(found), PyArray_BYTES(a) + at * PyArray_ITEMSIZE(a), PyArray_ITEMSIZE(a));
    else if (found && !extremes_between(a, found, gone, least)) Py_CLEAR(found);
    return (PyObject *)found;
}

/* argmax(input, dim, keepdim): without a dimension */
static PyObject *place(PyArrayObject *a, PyObject *const *args, int least)
{
    const npy_intp at = args[1] == Py_None && args[2] == Py_False ? place_of(a, least) : -1;
    PyObject *found = at < 0 ? NULL : PyArray_SimpleNew(0, NULL, NPY_INT64);
    if (found) *(int64_t *)PyArray_DATA((PyArrayObject *)found) = at;
    return found;
}

static PyObject *largest_place(PyArrayObject *a, PyObject *const *args) { return place(a, args, 0); }
static PyObject *least_place(PyArrayObject *a, PyObject *const *args) { return place(a, args, 1); }

/* ---- along a dimension ---- */

/* An array row by row as before × n × after numbers, where n are those of the axes from the first to the last. */
struct lines {
    int axis, last, ndim;
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

/* The axes that are given: one, several side by side, or (None, or none of them) all; 0 where they are not so. */
static int axes_of(PyObject *given, struct lines *l)
{
    const int several = PyTuple_CheckExact(given) || PyList_CheckExact(given);
    const Py_ssize_t count = several ? PySequence_Fast_GET_SIZE(given) : 1;
    char taken[NPY_MAXDIMS] = {0};
    l->axis = l->ndim, l->last = -1;
    if (given == Py_None || !count) return l->axis = 0, l->last = l->ndim - 1, 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *one = several ? PySequence_Fast_GET_ITEM(given, i) : given;
        const int axis = PyLong_CheckExact(one) ? axis_of(one, l->ndim) : -1;
        if (axis < 0 || taken[axis]++) return 0;
        if (axis < l->axis) l->axis = axis;
        if (axis > l->last) l->last = axis;
    }
    return l->last - l->axis + 1 == count;
}

static int lines_of(PyArrayObject *a, PyObject *dims, struct lines *l)
{
    if (!PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISALIGNED(a)) return 0;
    *l = (struct lines){.ndim = PyArray_NDIM(a), .before = 1, .n = 1, .after = 1};
    if (!axes_of(dims, l)) return 0;
    for (int d = 0; d < l->ndim; d++) *(d < l->axis ? &l->before : d > l->last ? &l->after : &l->n) *= PyArray_DIM(a, d);
    return 1;
}

/* What the dimension is reduced to, of the array's own type. */
static PyArrayObject *reduced(PyArrayObject *a, const struct lines *l, int keep)
{
    npy_intp shape[NPY_MAXDIMS];
    int n = 0;
    for (int d = 0; d < l->ndim; d++)
        if (d < l->axis || d > l->last) shape[n++] = PyArray_DIM(a, d);
        else if (keep) shape[n++] = 1;
    return (PyArrayObject *)PyArray_SimpleNew(n, shape, PyArray_TYPE(a));
}

/* The squares of the distances from the mean, summed in double precision; and the largest or least, of which a NaN is both. */
#define DEFINE_ALONG(TYPE)                                                                                             \
    static void spread_##TYPE(const TYPE *x, TYPE *y, TYPE *means, const struct lines *l, double free, int root)       \
    {                                                                                                                  \
        for (npy_intp b = 0; b < l->before; b++, x += l->n * l->after)                                                 \
            for (npy_intp k = 0; k < l->after; k++) {                                                                  \
                double total = 0, squares = 0;                                                                         \
                for (npy_intp i = 0; i < l->n; i++) total += x[i * l->after + k];                                      \
                const double mean = total / (double)l->n;                                                              \
                for (npy_intp i = 0; i < l->n; i++) squares += (x[i * l->after + k] - mean) * (x[i * l->after + k] - mean); \
                *y++ = (TYPE)(root ? sqrt(squares / free) : squares / free);                                           \
                if (means) *means++ = (TYPE)mean;                                                                      \
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

/* var(input, dim, correction, keepdim), or var_mean: a pair */
static PyObject *spread(PyArrayObject *a, PyObject *const *args, int root, int pair)
{
    struct lines l;
    const npy_intp size = PyArray_SIZE(a);
    if (size <= FEW && !PyArray_IS_C_CONTIGUOUS(a)) {
        PyObject *rows = layout_rows((PyObject *)a), *found = rows ? spread((PyArrayObject *)rows, args, root, pair) : NULL;
        Py_XDECREF(rows);
        return found;
    }
    if (size > FEW || (PyArray_TYPE(a) != NPY_FLOAT && PyArray_TYPE(a) != NPY_DOUBLE) || !PyLong_CheckExact(args[2]) || !PyBool_Check(args[3])) return NULL;
    const double correction = PyLong_AsDouble(args[2]);
    if (!lines_of(a, args[1], &l) || !(correction >= 0) || (double)l.n <= correction) return NULL;
    PyArrayObject *y = reduced(a, &l, args[3] == Py_True), *mean = y && pair ? reduced(a, &l, args[3] == Py_True) : NULL;
    if (!y || (pair && !mean)) return Py_XDECREF(y), NULL;
    void *means = pair ? PyArray_DATA(mean) : NULL;
    if (PyArray_TYPE(a) == NPY_FLOAT) spread_float(PyArray_DATA(a), PyArray_DATA(y), means, &l, (double)l.n - correction, root);
    else spread_double(PyArray_DATA(a), PyArray_DATA(y), means, &l, (double)l.n - correction, root);
    return pair ? Py_BuildValue("NN", y, mean) : (PyObject *)y;
}

static PyObject *variance(PyArrayObject *a, PyObject *const *args) { return spread(a, args, 0, 0); }
static PyObject *deviation(PyArrayObject *a, PyObject *const *args) { return spread(a, args, 1, 0); }
static PyObject *variance_and_mean(PyArrayObject *a, PyObject *const *args) { return spread(a, args, 0, 1); }
static PyObject *deviation_and_mean(PyArrayObject *a, PyObject *const *args) { return spread(a, args, 1, 1); }

static PyObject *extremes_of(PyArrayObject *a, PyObject *dims, PyObject *keep, int least)
{
    struct lines l = {.ndim = PyArray_NDIM(a)};
    char gone[NPY_MAXDIMS] = {0};
    const int few = PyArray_SIZE(a) <= FEW && PyArray_IS_C_CONTIGUOUS(a);
    const int integers = are_integers(a);
    if (few || integers ? !lines_of(a, dims, &l) : !axes_of(dims, &l)) return NULL;
    PyArrayObject *y = reduced(a, &l, keep == Py_True);
    NPY_BEGIN_THREADS_DEF
    if (integers && y) {
        NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(a));
        extreme_integers(PyArray_TYPE(a), PyArray_DATA(a), PyArray_DATA(y), NULL, l.before, l.n, l.after, least);
        NPY_END_THREADS
        return (PyObject *)y;
    }
    for (int d = l.axis; d <= l.last; d++) gone[d] = 1;
    if (y && !few && !extremes_between(a, y, gone, least)) Py_CLEAR(y);
    if (!y || !few) return (PyObject *)y;
    if (PyArray_TYPE(a) == NPY_FLOAT) extremes_float(PyArray_DATA(a), PyArray_DATA(y), &l, least);
    else extremes_double(PyArray_DATA(a), PyArray_DATA(y), &l, least);
    return (PyObject *)y;
}

/* amax(input, dim, keepdim) */
static PyObject *extremes(PyArrayObject *a, PyObject *const *args, int least)
{
    if ((PyArray_TYPE(a) != NPY_FLOAT && PyArray_TYPE(a) != NPY_DOUBLE && !are_integers(a)) || !PyArray_SIZE(a) || !PyBool_Check(args[2])) return NULL;
    return reduced_in_memory_order(extremes_of, a, args[1], args[2], least);
}

static PyObject *largest_along(PyArrayObject *a, PyObject *const *args) { return extremes(a, args, 0); }
static PyObject *least_along(PyArrayObject *a, PyObject *const *args) { return extremes(a, args, 1); }

/* max_all(input) */
static PyObject *extreme_of_all(PyArrayObject *a, int least)
{
    PyObject *found = extreme(a, least), *const every[] = {(PyObject *)a, Py_None, Py_False};
    return found || PyErr_Occurred() ? found : extremes(a, every, least);
}
static PyObject *largest(PyArrayObject *a, PyObject *const *args) { return (void)args, extreme_of_all(a, 0); }
static PyObject *least(PyArrayObject *a, PyObject *const *args) { return (void)args, extreme_of_all(a, 1); }

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
    if (axis < 0 || PyArray_NDIM(index) != ndim || PyArray_TYPE(index) != NPY_INT64 || !PyArray_ISBEHAVED_RO(index) || !count || count > FEW) return NULL;
    if (!PyArray_IS_C_CONTIGUOUS(index)) { /* a part of others, or expanded */
        PyObject *row[] = {args[0], args[1], layout_rows(args[2])}, *found = row[2] ? gathered(a, row) : NULL;
        Py_XDECREF(row[2]);
        return found;
    }
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

/* roll(input, shifts, dims): by one number along one dimension */
static PyObject *rolled(PyArrayObject *a, PyObject *const *args)
{
    enum { QUICKLY_COPIED = 1 << 14 };
    struct lines l;
    PyObject *shift = PyTuple_CheckExact(args[1]) && PyTuple_GET_SIZE(args[1]) == 1 ? PyTuple_GET_ITEM(args[1], 0) : args[1];
    const int flat = PyTuple_CheckExact(args[2]) && !PyTuple_GET_SIZE(args[2]); /* which is as if there were one dimension */
    if (!PyLong_CheckExact(shift) || PyArray_SIZE(a) > QUICKLY_COPIED || (!flat && axis_of(args[2], PyArray_NDIM(a)) < 0) || !lines_of(a, args[2], &l)) return NULL;
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

/* What an in-place form is about to write, or a new array like it. */
static PyArrayObject *to_fill(PyArrayObject *a)
{
    return may_write_to(a) ? (PyArrayObject *)Py_NewRef((PyObject *)a) : new_of(a, PyArray_NDIM(a), PyArray_DIMS(a));
}

/* A limit of real numbers, which both of their types have: whether it is one. */
static int is_limit(PyObject *given, double *limit)
{
    if (given == Py_None) return 1;
    if (PyFloat_CheckExact(given)) *limit = PyFloat_AS_DOUBLE(given);
    else if (PyLong_CheckExact(given)) *limit = PyLong_AsDouble(given);
    else return 0;
    if (PyErr_Occurred()) PyErr_Clear(), *limit = NPY_NAN;
    return *limit == *limit && (PyFloat_CheckExact(given) || fabs(*limit) <= 1 << 24);
}

#define CLAMP_REALS(REAL)                                              \
    {                                                                  \
        const REAL *x = PyArray_DATA(a), low = (REAL)least, high = (REAL)most; \
        REAL *to = PyArray_DATA(y);                                    \
        _Pragma("GCC ivdep")                                           \
        for (npy_intp i = 0; i < n; i++) {                             \
            const REAL raised = x[i] < low ? low : x[i];               \
            to[i] = raised > high ? high : raised;                     \
        }                                                              \
    }
static PyObject *clamped_reals(PyArrayObject *a, PyObject *const *args)
{
    enum { QUICKLY = 1 << 15 };
    const npy_intp n = PyArray_SIZE(a);
    double least = -NPY_INFINITY, most = NPY_INFINITY;
    if (n > QUICKLY || !PyArray_ISNOTSWAPPED(a) || (args[1] == Py_None && args[2] == Py_None) || !is_limit(args[1], &least) || !is_limit(args[2], &most)) return NULL;
    const int rows = PyArray_ISCARRAY_RO(a);
    PyArrayObject *y = rows ? to_fill(a) : (PyArrayObject *)laid_copy(a);
    if (y && !rows) a = y; /* whose numbers are in the order in which they lie */
    if (y && PyArray_TYPE(a) == NPY_FLOAT) CLAMP_REALS(float)
    else if (y) CLAMP_REALS(double)
    return (PyObject *)y;
}

/* clamp(input, min, max): whole numbers to whole numbers, real ones to both */
static PyObject *clamped(PyArrayObject *a, PyObject *const *args)
{
    const npy_intp n = PyArray_SIZE(a);
    if (PyArray_TYPE(a) == NPY_FLOAT || PyArray_TYPE(a) == NPY_DOUBLE) return clamped_reals(a, args);
    if (PyArray_TYPE(a) != NPY_INT64 || n > FEW || !PyArray_ISCARRAY_RO(a) || (args[1] == Py_None && args[2] == Py_None)) return NULL;
    int64_t limit[2] = {INT64_MIN, INT64_MAX};
    for (int i = 0; i < 2; i++) {
        if (args[i + 1] == Py_None) continue;
        if (!PyLong_CheckExact(args[i + 1])) return NULL;
        limit[i] = PyLong_AsLongLong(args[i + 1]);
        if (limit[i] == -1 && PyErr_Occurred()) return NULL;
    }
    PyArrayObject *y = to_fill(a);
    const int64_t *x = PyArray_DATA(a);
    int64_t *to = y ? PyArray_DATA(y) : NULL;
    for (npy_intp i = 0; y && i < n; i++) {
        const int64_t most = x[i] < limit[0] ? limit[0] : x[i];
        to[i] = most > limit[1] ? limit[1] : most;
    }
    return (PyObject *)y;
}

/* clamp_min(input, min), clamp_max(input, max) */
static PyObject *clamped_below(PyArrayObject *a, PyObject *const *args) { return clamped(a, (PyObject *const[]){args[0], args[1], Py_None}); }
static PyObject *clamped_above(PyArrayObject *a, PyObject *const *args) { return clamped(a, (PyObject *const[]){args[0], Py_None, args[1]}); }

/* Whether a limit is an array as `a` is; its numbers. */
static int is_limit_of_each(PyArrayObject *a, PyObject *given, const void **limit)
{
    PyArrayObject *b = (PyArrayObject *)given;
    if (given == Py_None) return *limit = NULL, 1;
    if (!PyArray_CheckExact(given) || PyArray_DESCR(b) != PyArray_DESCR(a) || !PyArray_SAMESHAPE(a, b) || !PyArray_ISCARRAY_RO(b)) return 0;
    *limit = PyArray_DATA(b);
    return 1;
}
#define CLAMP_EACH(REAL)                                                                                  \
    {                                                                                                     \
        const REAL *x = PyArray_DATA(a), *least = low, *most = high;                                      \
        REAL *to = PyArray_DATA(y);                                                                       \
        for (npy_intp i = 0; low && i < n; i++) to[i] = (x[i] < least[i]) | (least[i] != least[i]) ? least[i] : x[i]; \
        if (low) x = to;                                                                                  \
        for (npy_intp i = 0; high && i < n; i++) to[i] = (x[i] > most[i]) | (most[i] != most[i]) ? most[i] : x[i]; \
    }

/* clamp_tensor(input, min, max): limits for each of a few numbers */
static PyObject *clamped_each(PyArrayObject *a, PyObject *const *args)
{
    enum { QUICKLY = 1 << 15 };
    const npy_intp n = PyArray_SIZE(a);
    const int type = PyArray_TYPE(a);
    const void *low, *high;
    if (n > QUICKLY || !PyArray_ISCARRAY_RO(a) || (type != NPY_FLOAT && type != NPY_DOUBLE && type != NPY_INT64) || !is_limit_of_each(a, args[1], &low) ||
        !is_limit_of_each(a, args[2], &high) || (!low && !high))
        return NULL;
    PyArrayObject *y = new_of(a, PyArray_NDIM(a), PyArray_DIMS(a));
    if (y && type == NPY_FLOAT) CLAMP_EACH(float)
    else if (y && type == NPY_DOUBLE) CLAMP_EACH(double)
    else if (y) CLAMP_EACH(int64_t)
    return (PyObject *)y;
}

/* Numbers of one row of an index go to where it says along an axis; those of `from` are `step` apart, as is what they go to but for that
 * (0: the axis is that of the row). */
#define EACH_PLACE(TYPE, joins)                                                                                                \
    for (npy_intp i = 0; i < n; i++, from += step, to += across) *(TYPE *)(to + places[i] * along) joins *(const TYPE *)from
static void scatter_row(char *to, npy_intp along, npy_intp across, const int64_t *places, npy_intp n, const char *from, npy_intp step, int type, npy_intp width, int adds)
{
    if (adds && type == NPY_FLOAT) EACH_PLACE(float, +=);
    else if (adds && type == NPY_DOUBLE) EACH_PLACE(double, +=);
    else if (adds) EACH_PLACE(int64_t, +=);
    else if (width == 4) EACH_PLACE(uint32_t, =);
    else if (width == 8) EACH_PLACE(uint64_t, =);
    else
        for (npy_intp i = 0; i < n; i++, from += step, to += across) move_one(to + places[i] * along, from, width);
}

/* scatter(input, dim, index, src), scatter_value(input, dim, index, value), scatter_add(input, dim, index, src) */
static PyObject *scattered_or_added(PyArrayObject *a, PyObject *const *args, int adds)
{
    const int ndim = PyArray_NDIM(a), axis = axis_of(args[1], ndim), type = PyArray_TYPE(a);
    if (!PyArray_CheckExact(args[2]) || axis < 0 || !PyArray_ISCARRAY_RO(a)) return NULL;
    PyArrayObject *index = (PyArrayObject *)args[2];
    const npy_intp count = PyArray_SIZE(index), n = PyArray_DIM(a, axis), width = PyArray_ITEMSIZE(a), most = may_write_to(a) ? QUICKLY_WRITTEN : FEW;
    if (PyArray_NDIM(index) != ndim || PyArray_TYPE(index) != NPY_INT64 || !PyArray_ISCARRAY_RO(index) || !count || count > most || PyArray_SIZE(a) > most) return NULL;
    for (int d = 0; d < ndim; d++)
        if (d != axis && PyArray_DIM(index, d) > PyArray_DIM(a, d)) return NULL;
    const int64_t *at_ = PyArray_DATA(index);
    for (npy_intp i = 0; i < count; i++)
        if (at_[i] < 0 || at_[i] >= n) return NULL;
    union { float f; double d; int64_t i; } one;
    const char *from = (const char *)&one;
    npy_intp step = 0;
    if (PyArray_CheckExact(args[3])) {
        PyArrayObject *src = (PyArrayObject *)args[3];
        if (PyArray_DESCR(src) != PyArray_DESCR(a) || !PyArray_ISCARRAY_RO(src) || !PyArray_SAMESHAPE(src, index)) return NULL;
        from = PyArray_BYTES(src), step = width;
    } else {
        const double value = PyFloat_CheckExact(args[3]) ? PyFloat_AS_DOUBLE(args[3]) : PyLong_CheckExact(args[3]) ? PyLong_AsDouble(args[3]) : INFINITY;
        if (!(fabs(value) < 1e15) || PyErr_Occurred() || (type == NPY_INT64 && !PyLong_CheckExact(args[3]))) return NULL;
        if (type == NPY_FLOAT) one.f = (float)value;
        else if (type == NPY_DOUBLE) one.d = value;
        else if (type == NPY_INT64) one.i = (int64_t)value;
        else return NULL;
    }
    PyArrayObject *y = may_write_to(a) ? (PyArrayObject *)Py_NewRef((PyObject *)a) : new_of(a, ndim, PyArray_DIMS(a));
    if (!y) return NULL;
    if (y != a) memcpy(PyArray_DATA(y), PyArray_DATA(a), PyArray_NBYTES(a));
    npy_intp place[NPY_MAXDIMS] = {0};
    const npy_intp row = PyArray_DIM(index, ndim - 1), along = PyArray_STRIDE(y, axis), across = axis == ndim - 1 ? 0 : width;
    char *to = PyArray_BYTES(y);
    for (npy_intp i = 0; i < count; i += row, from += step * row) {
        scatter_row(to, along, across, at_ + i, row, from, step, type, width, adds);
        for (int d = ndim - 2; d >= 0; d--) {
            const npy_intp stride = d == axis ? 0 : PyArray_STRIDE(y, d);
            to += stride;
            if (++place[d] < PyArray_DIM(index, d)) break;
            to -= place[d] * stride, place[d] = 0;
        }
    }
    return (PyObject *)y;
}

static PyObject *scattered(PyArrayObject *a, PyObject *const *args) { return scattered_or_added(a, args, 0); }
static PyObject *scatter_added(PyArrayObject *a, PyObject *const *args)
{
    const int type = PyArray_TYPE(a);
    return type == NPY_FLOAT || type == NPY_DOUBLE || type == NPY_INT64 ? scattered_or_added(a, args, 1) : NULL;
}

/* one_hot(tensor, num_classes) */
static PyObject *one_hot(PyArrayObject *a, PyObject *const *args)
{
    enum { MOST = 1 << 14 };
    const npy_intp n = PyArray_SIZE(a);
    if (PyArray_TYPE(a) != NPY_INT64 || !PyArray_ISCARRAY_RO(a) || PyArray_NDIM(a) == NPY_MAXDIMS || !PyLong_CheckExact(args[1]) || n > FEW) return NULL;
    npy_intp shape[NPY_MAXDIMS], classes = PyLong_AsSsize_t(args[1]);
    const int64_t *x = PyArray_DATA(a);
    int64_t most = 0;
    for (npy_intp i = 0; i < n; i++) {
        if (x[i] < 0) return NULL;
        if (x[i] > most) most = x[i];
    }
    if (classes == -1 && !PyErr_Occurred() && most < MOST) classes = most + 1;
    if (classes <= most || classes * n > MOST || classes > MOST) return NULL;
    memcpy(shape, PyArray_DIMS(a), PyArray_NDIM(a) * sizeof *shape);
    shape[PyArray_NDIM(a)] = classes;
    PyArrayObject *y = (PyArrayObject *)PyArray_ZEROS(PyArray_NDIM(a) + 1, shape, NPY_INT64, 0);
    for (npy_intp i = 0; y && i < n; i++) ((int64_t *)PyArray_DATA(y))[i * classes + x[i]] = 1;
    return (PyObject *)y;
}

/* pad_reflect2(input, pad), pad_replicate2(input, pad): images, of several channels */
static PyObject *padded(PyArrayObject *a, PyObject *const *args, int reflects)
{
    enum { MOST = 1 << 13 };
    const int ndim = PyArray_NDIM(a);
    npy_intp by[4], shape[4];
    if ((ndim != 3 && ndim != 4) || !PyArray_ISCARRAY_RO(a) || !PyTuple_CheckExact(args[1]) || PyTuple_GET_SIZE(args[1]) != 4) return NULL;
    for (int d = ndim - 3; d < ndim; d++)
        if (PyArray_DIM(a, d) < 2) return NULL;
    const npy_intp rows = PyArray_DIM(a, ndim - 2), columns = PyArray_DIM(a, ndim - 1), images = PyArray_SIZE(a) / (rows * columns), width = PyArray_ITEMSIZE(a);
    for (int i = 0; i < 4; i++) {
        PyObject *given = PyTuple_GET_ITEM(args[1], i);
        by[i] = PyLong_CheckExact(given) ? PyLong_AsSsize_t(given) : -1;
        if (by[i] < 0 || by[i] >= (i < 2 ? columns : rows)) return NULL;
    }
    memcpy(shape, PyArray_DIMS(a), ndim * sizeof *shape);
    const npy_intp high = shape[ndim - 2] += by[2] + by[3], wide = shape[ndim - 1] += by[0] + by[1];
    if (images > MOST || high * wide > MOST || images * high * wide > MOST) return NULL;
    PyArrayObject *y = new_of(a, ndim, shape);
    char *to = y ? PyArray_BYTES(y) : NULL;
    for (npy_intp i = 0; y && i < images * high; i++, to += wide * width) {
        npy_intp r = i % high - by[2];
        r = r < 0 ? (reflects ? -r : 0) : r >= rows ? (reflects ? 2 * rows - 2 - r : rows - 1) : r;
        const char *row = PyArray_BYTES(a) + ((i / high) * rows + r) * columns * width;
        for (npy_intp k = 0; k < by[0]; k++) move_one(to + k * width, row + (reflects ? by[0] - k : 0) * width, width);
        memcpy(to + by[0] * width, row, columns * width);
        for (npy_intp k = 0; k < by[1]; k++) move_one(to + (by[0] + columns + k) * width, row + (columns - 1 - (reflects ? k + 1 : 0)) * width, width);
    }
    return (PyObject *)y;
}

static PyObject *reflected(PyArrayObject *a, PyObject *const *args) { return padded(a, args, 1); }
static PyObject *replicated(PyArrayObject *a, PyObject *const *args) { return padded(a, args, 0); }

/* ---- truth values ---- */

static PyObject *truth_of(PyArrayObject *a, PyObject *dims, PyObject *keep, int every)
{
    struct lines l;
    if (!lines_of(a, dims, &l)) return NULL;
    PyArrayObject *y = reduced(a, &l, keep == Py_True);
    const npy_bool *x = PyArray_DATA(a);
    npy_bool *to = y ? PyArray_DATA(y) : NULL;
    const npy_intp row = l.n * l.after;
    NPY_BEGIN_THREADS_DEF
    if (y) NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(a));
    for (npy_intp b = 0; y && b < l.before; b++, x += row, to += l.after) {
        if (l.after == 1 && l.n > SHORT_ROW) *to = every == !memchr(x, !every, l.n);
        else if (l.after == 1) {
            npy_bool found = 0;
            for (npy_intp i = 0; i < l.n; i++) found |= x[i] ^ every;
            *to = found ^ every;
        } else {
            memcpy(to, x, l.after);
            for (npy_intp i = 1; i < l.n && every; i++) for (npy_intp k = 0; k < l.after; k++) to[k] &= x[i * l.after + k];
            for (npy_intp i = 1; i < l.n && !every; i++) for (npy_intp k = 0; k < l.after; k++) to[k] |= x[i * l.after + k];
        }
    }
    NPY_END_THREADS
    return (PyObject *)y;
}

/* all(input, dim, keepdim): not over no dimensions */
static PyObject *truth(PyArrayObject *a, PyObject *const *args, int every)
{
    if (PyArray_TYPE(a) != NPY_BOOL || !PyBool_Check(args[2]) || !PyArray_SIZE(a) || (PyTuple_CheckExact(args[1]) && !PyTuple_GET_SIZE(args[1]))) return NULL;
    return reduced_in_memory_order(truth_of, a, args[1], args[2], every);
}

static PyObject *all_of(PyArrayObject *a, PyObject *const *args) { return truth(a, args, 1); }
static PyObject *any_of(PyArrayObject *a, PyObject *const *args) { return truth(a, args, 0); }

/* ---- types and products ---- */

#define CAST(FROM, TO)                                                                                  \
    {                                                                                                   \
        for (npy_intp i = 0; i < n; i++) ((TO *)to)[i] = (TO)((const FROM *)x)[i];                       \
        break;                                                                                          \
    }
#define CAST_FROM(FROM)                                                                                 \
    switch (d->type_num) {                                                                              \
    case NPY_FLOAT: CAST(FROM, float)                                                                   \
    case NPY_DOUBLE: CAST(FROM, double)                                                                 \
    case NPY_INT64: CAST(FROM, int64_t)                                                                 \
    }                                                                                                   \
    break

/* cast(input, dtype) */
static PyObject *cast(PyArrayObject *a, PyObject *const *args)
{
    if (!PyArray_DescrCheck(args[1])) return NULL;
    PyArray_Descr *d = (PyArray_Descr *)args[1];
    const int from = PyArray_TYPE(a);
    if (PyArray_SIZE(a) > FEW || !PyArray_ISBEHAVED_RO(a) || !PyArray_ISNBO(d->byteorder) || (d->type_num != NPY_FLOAT && d->type_num != NPY_DOUBLE && d->type_num != NPY_INT64) ||
        (from != NPY_FLOAT && from != NPY_DOUBLE && from != NPY_INT64 && from != NPY_INT32 && from != NPY_BOOL))
        return laid_cast(a, d);
    npy_intp step = PyArray_ITEMSIZE(a);
    int rows = 1;
    for (int k = PyArray_NDIM(a) - 1; k >= 0; k--) { /* of dimensions of one, too: the result has the same steps */
        rows &= PyArray_STRIDE(a, k) == step;
        step *= PyArray_DIM(a, k);
    }
    Py_INCREF(d);
    PyArrayObject *y = rows ? (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, d, PyArray_NDIM(a), PyArray_DIMS(a), NULL, NULL, 0, NULL) : laid_like(a, d);
    if (!rows) Py_DECREF(d);
    PyArrayObject *source = !y ? NULL : rows || is_gapless(a) ? (PyArrayObject *)Py_NewRef((PyObject *)a) : (PyArrayObject *)laid_copy(a);
    if (!source) {
        Py_XDECREF(y);
        return NULL;
    }
    const npy_intp n = PyArray_SIZE(a);
    const void *x = PyArray_DATA(source);
    void *to = PyArray_DATA(y);
    switch (from) {
    case NPY_FLOAT: CAST_FROM(float);
    case NPY_DOUBLE: CAST_FROM(double);
    case NPY_INT64: CAST_FROM(int64_t);
    case NPY_INT32: CAST_FROM(int32_t);
    case NPY_BOOL: CAST_FROM(npy_bool);
    }
    Py_DECREF(source);
    return (PyObject *)y;
}

/* Whether products take rows of the second factor, many numbers at a time. */
static int goes_by_rows(PyArrayObject *b) { return PyArray_STRIDE(b, 2) == PyArray_ITEMSIZE(b) && PyArray_DIM(b, 2) >= 8; }

#define DEFINE_PRODUCTS(TYPE)                                                                                            \
    static void products_##TYPE(PyArrayObject *a, PyArrayObject *b, PyArrayObject *y)                                    \
    {                                                                                                                    \
        const npy_intp rows = PyArray_DIM(a, 1), n = PyArray_DIM(a, 2), columns = PyArray_DIM(b, 2), step = PyArray_STRIDE(a, 2), down = PyArray_STRIDE(b, 1); \
        TYPE *to = PyArray_DATA(y);                                                                                      \
        const int by_rows = goes_by_rows(b);                                                                             \
        for (npy_intp i = 0; i < PyArray_DIM(a, 0); i++)                                                                 \
            for (npy_intp r = 0; r < rows; r++) {                                                                        \
                if (by_rows) memset(to, 0, columns * sizeof *to);                                                        \
                for (npy_intp k = 0; by_rows && k < n; k++) {                                                            \
                    const TYPE *restrict row = (const TYPE *)PyArray_GETPTR3(b, i, k, 0), factor = *(const TYPE *)PyArray_GETPTR3(a, i, r, k); \
                    TYPE *restrict sums = to;                                                                            \
                    for (npy_intp c = 0; c < columns; c++) sums[c] += factor * row[c];                                   \
                }                                                                                                        \
                if (by_rows) to += columns;                                                                              \
                for (npy_intp c = 0; !by_rows && c < columns; c++) {                                                                 \
                    const char *p = PyArray_GETPTR3(a, i, r, 0), *q = PyArray_GETPTR3(b, i, 0, c);                       \
                    TYPE total = 0;                                                                                      \
                    for (npy_intp k = 0; k < n; k++) total += *(const TYPE *)(p + k * step) * *(const TYPE *)(q + k * down); \
                    *to++ = total;                                                                                       \
                }                                                                                                        \
            }                                                                                                            \
    }
DEFINE_PRODUCTS(float)
DEFINE_PRODUCTS(double)

/* bmm(input, mat2): where BLAS takes longer to begin */
static PyObject *products(PyArrayObject *a, PyObject *const *args)
{
    enum { SMALL = 400, SMALL_BY_ROWS = 4096 };
    PyArrayObject *b = (PyArrayObject *)args[1];
    const int type = PyArray_TYPE(a);
    if (!PyArray_CheckExact(args[1]) || PyArray_NDIM(a) != 3 || PyArray_NDIM(b) != 3 || PyArray_DESCR(a) != PyArray_DESCR(b) || (type != NPY_FLOAT && type != NPY_DOUBLE)) return NULL;
    const npy_intp shape[3] = {PyArray_DIM(a, 0), PyArray_DIM(a, 1), PyArray_DIM(b, 2)}, n = PyArray_DIM(a, 2);
    const int by_rows = goes_by_rows(b), most = by_rows ? SMALL_BY_ROWS : FEW;
    if (PyArray_DIM(b, 0) != shape[0] || PyArray_DIM(b, 1) != n || PyArray_SIZE(a) > most || PyArray_SIZE(b) > most ||
        (by_rows ? shape[0] * shape[1] * n * shape[2] > SMALL_BY_ROWS : shape[1] * n * shape[2] > SMALL) || !PyArray_ISALIGNED(a) || !PyArray_ISALIGNED(b))
        return fitting_product(stacked, a, args, 3);
    PyArrayObject *y = new_of(a, 3, shape);
    if (y && type == NPY_FLOAT) products_float(a, b, y);
    else if (y) products_double(a, b, y);
    return (PyObject *)y;
}

/* aminmax(input, dim, keepdim) */
static PyObject *least_and_largest(PyArrayObject *a, PyObject *const *args)
{
    const int all = args[1] == Py_None && args[2] == Py_False;
    if (!all && !PyLong_CheckExact(args[1])) return NULL;
    PyObject *low = all ? extreme(a, 1) : extremes(a, args, 1), *high = !low ? NULL : all ? extreme(a, 0) : extremes(a, args, 0);
    PyObject *pair = high ? PyTuple_Pack(2, low, high) : NULL;
    Py_XDECREF(low);
    Py_XDECREF(high);
    return pair;
}

/* heaviside(input, values) */
static PyObject *step(PyArrayObject *a, PyObject *const *args)
{
    PyArrayObject *values = (PyArrayObject *)args[1];
    const int type = PyArray_TYPE(a);
    if (!PyArray_CheckExact(args[1]) || PyArray_DESCR(values) != PyArray_DESCR(a) || (type != NPY_FLOAT && type != NPY_DOUBLE) || !PyArray_SAMESHAPE(a, values) ||
        !PyArray_ISCARRAY_RO(a) || !PyArray_ISCARRAY_RO(values) || PyArray_SIZE(a) > FEW)
        return NULL;
    PyArrayObject *y = new_of(a, PyArray_NDIM(a), PyArray_DIMS(a));
    const void *const in[] = {PyArray_DATA(a), PyArray_DATA(values)};
    if (y && type == NPY_FLOAT) kernels->heaviside_f32(PyArray_DATA(y), (const float *const *)in, PyArray_SIZE(a));
    else if (y) kernels->heaviside_f64(PyArray_DATA(y), (const double *const *)in, PyArray_SIZE(a));
    return (PyObject *)y;
}

/* diag_embed(input, offset, dim1, dim2): the last two dimensions */
static PyObject *embedded(PyArrayObject *a, PyObject *const *args)
{
    npy_intp shape[NPY_MAXDIMS];
    const int ndim = PyArray_NDIM(a), width = PyArray_ITEMSIZE(a);
    if (!ndim || ndim == NPY_MAXDIMS || !PyArray_IS_C_CONTIGUOUS(a) || PyArray_SIZE(a) > FEW || !PyLong_CheckExact(args[1]) || !PyLong_CheckExact(args[2]) ||
        !PyLong_CheckExact(args[3]) || PyLong_AsLong(args[2]) != -2 || PyLong_AsLong(args[3]) != -1)
        return PyErr_Clear(), NULL;
    const Py_ssize_t offset = PyLong_AsSsize_t(args[1]), n = PyArray_DIM(a, ndim - 1);
    if (llabs(offset) > FEW || (offset == -1 && PyErr_Occurred())) return NULL;
    memcpy(shape, PyArray_DIMS(a), ndim * sizeof *shape);
    const npy_intp side = shape[ndim - 1] = shape[ndim] = n + llabs(offset), rows = PyArray_SIZE(a) / n;
    PyArrayObject *y = new_of(a, ndim + 1, shape);
    if (!y) return NULL;
    memset(PyArray_BYTES(y), 0, PyArray_NBYTES(y));
    const char *from = PyArray_BYTES(a);
    for (npy_intp r = 0; r < rows; r++) {
        char *to = PyArray_BYTES(y) + (r * side * side + (offset > 0 ? offset : -offset * side)) * width;
        for (npy_intp i = 0; i < n; i++, from += width, to += (side + 1) * width) memcpy(to, from, width);
    }
    return (PyObject *)y;
}

view_forward writing_forward_of(PyObject *name)
{
    static const struct { const char *name; view_forward forward; } known[] = {
        {"scatter", scattered}, {"scatter_value", scattered}, {"scatter_add", scatter_added}, {"clamp", clamped}, {"clamp_min", clamped_below}, {"clamp_max", clamped_above}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (PyUnicode_CompareWithASCIIString(name, known[i].name) == 0) return known[i].forward;
    return masking_forward_of(name);
}

view_forward early_forward_of(PyObject *name)
{
    static const struct { const char *name; view_forward forward; } known[] = {
        {"max_all", largest}, {"min_all", least}, {"argmax", largest_place}, {"argmin", least_place},
        {"var", variance}, {"std", deviation}, {"var_mean", variance_and_mean}, {"std_mean", deviation_and_mean}, {"amax", largest_along}, {"amin", least_along}, {"gather", gathered}, {"roll", rolled},
        {"clamp", clamped}, {"clamp_min", clamped_below}, {"clamp_max", clamped_above}, {"clamp_tensor", clamped_each}, {"scatter", scattered}, {"scatter_value", scattered}, {"scatter_add", scatter_added}, {"one_hot", one_hot}, {"pad_reflect2", reflected},
        {"pad_replicate2", replicated}, {"aminmax", least_and_largest}, {"heaviside", step}, {"diag_embed", embedded}, {"all", all_of}, {"any", any_of}, {"cast", cast}, {"bmm", products},
        {"trace", trace_forward}, {"bincount", bincount_forward}, {"histc", histc_forward}, {"repeat_places", repeat_places_forward}, {"unique_consecutive", runs_forward}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (PyUnicode_CompareWithASCIIString(name, known[i].name) == 0) return known[i].forward;
    return NULL;
}
