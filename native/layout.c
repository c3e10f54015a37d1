/* Copies into C order of arrays that lie in memory the other way round. */
#include "wengert.h"

#include "fast.h"
#include "pool.h"

/* A tile: elements that lie together along one axis, of as many neighbours along the last one. */
enum { TILE = 16 };

struct copy_job {
    const char *from;
    char *to;
    int outer; /* axes besides the two */
    npy_intp shape[NPY_MAXDIMS], from_stride[NPY_MAXDIMS], to_stride[NPY_MAXDIMS];
    npy_intp rows, columns, from_row, to_column; /* rows: the last axis; columns: the axis that is contiguous in `from` */
    npy_intp tiles, width;
};

#define DEFINE_TILE(TYPE, bits)                                                                                       \
    static void tile_##bits(const struct copy_job *job, const char *from, char *to, npy_intp first, npy_intp count)    \
    {                                                                                                                 \
        TYPE part[TILE][TILE];                                                                                        \
        from += first * sizeof(TYPE), to += first * job->to_column;                                                   \
        for (npy_intp r = 0; r < job->rows; r += TILE) {                                                              \
            const npy_intp n = job->rows - r < TILE ? job->rows - r : TILE;                                           \
            for (npy_intp i = 0; i < n; i++) memcpy(part[i], from + (r + i) * job->from_row, count * sizeof(TYPE));    \
            for (npy_intp j = 0; j < count; j++) {                                                                    \
                TYPE *line = (TYPE *)(to + j * job->to_column) + r;                                                   \
                if (n == TILE) for (int i = 0; i < TILE; i++) line[i] = part[i][j];                                   \
                else for (npy_intp i = 0; i < n; i++) line[i] = part[i][j];                                           \
            }                                                                                                         \
        }                                                                                                             \
    }
DEFINE_TILE(uint16_t, 16)
DEFINE_TILE(uint32_t, 32)
DEFINE_TILE(uint64_t, 64)

static void copy_task(void *context, size begin, size end, int chunk)
{
    const struct copy_job *job = context;
    (void)chunk;
    for (size item = begin; item < end; item++) {
        const npy_intp first = item % job->tiles * TILE;
        const npy_intp count = job->columns - first < TILE ? job->columns - first : TILE;
        const char *from = job->from;
        char *to = job->to;
        npy_intp rest = item / job->tiles;
        for (int axis = job->outer - 1; axis >= 0; axis--) {
            from += rest % job->shape[axis] * job->from_stride[axis], to += rest % job->shape[axis] * job->to_stride[axis];
            rest /= job->shape[axis];
        }
        (job->width == 2 ? tile_16 : job->width == 4 ? tile_32 : tile_64)(job, from, to, first, count);
    }
}

static int is_movable(PyArrayObject *x)
{
    const int width = PyArray_ITEMSIZE(x), ndim = PyArray_NDIM(x);
    return ndim >= 1 && ndim <= MAX_AXES && PyArray_SIZE(x) && !PyDataType_REFCHK(PyArray_DESCR(x)) && PyArray_ISALIGNED(x) && !(width & (width - 1)) && width <= 16 && width;
}

int layout_into(PyArrayObject *x, char *to)
{
    struct copy_job job = {.width = PyArray_ITEMSIZE(x), .from = PyArray_BYTES(x), .to = to};
    const int last = PyArray_NDIM(x) - 1;
    npy_intp steps[MAX_AXES], step = job.width;
    if (!is_movable(x)) return 0;
    for (int k = last; k >= 0; k--) steps[k] = step, step *= PyArray_DIM(x, k);
    int axis = job.width == 1 || job.width == 16 || PyArray_DIM(x, last) < TILE || PyArray_STRIDE(x, last) == job.width || !PyArray_STRIDE(x, last) ? -1 : last - 1;
    while (axis >= 0 && (PyArray_STRIDE(x, axis) != job.width || PyArray_DIM(x, axis) < TILE)) axis--;
    const int turned = turn_in_order(x, to);
    if (turned) return turned;
    if (axis < 0) {
        fast_copy(x, to, steps);
        return 1;
    }
    job.rows = PyArray_DIM(x, last), job.from_row = PyArray_STRIDE(x, last);
    job.columns = PyArray_DIM(x, axis), job.to_column = steps[axis];
    job.tiles = (job.columns + TILE - 1) / TILE;
    size items = job.tiles;
    for (int k = 0; k < last; k++) {
        if (k == axis) continue;
        job.shape[job.outer] = PyArray_DIM(x, k), items *= PyArray_DIM(x, k);
        job.from_stride[job.outer] = PyArray_STRIDE(x, k), job.to_stride[job.outer++] = steps[k];
    }
    Py_BEGIN_ALLOW_THREADS
    pool_run(copy_task, &job, items, pool_chunks(items, 0.5 * TILE * job.rows));
    Py_END_ALLOW_THREADS
    return 1;
}

/* in_order(x): a new array in C order with the values of x, which is in another one */
static PyObject *in_order(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 1) return PyErr_Format(PyExc_TypeError, "expected 1 argument");
    PyArrayObject *x = (PyArrayObject *)args[0];
    if (!PyArray_CheckExact(args[0]) || !is_movable(x)) NOT_HANDLED();
    Py_INCREF(PyArray_DESCR(x));
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), PyArray_NDIM(x), PyArray_DIMS(x), NULL, NULL, 0, NULL);
    if (out && layout_into(x, PyArray_BYTES(out)) < 0) Py_CLEAR(out);
    return (PyObject *)out;
}

PyObject *layout_rows(PyObject *array)
{
    PyObject *found = in_order(NULL, &array, 1);
    if (found != Py_NotImplemented) return found;
    Py_DECREF(found);
    return PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER);
}

int lies_innermost(PyArrayObject *x)
{
    const int ndim = PyArray_NDIM(x);
    npy_intp step = PyArray_ITEMSIZE(x);
    if (ndim < 3 || PyArray_IS_C_CONTIGUOUS(x) || !PyArray_ISALIGNED(x)) return 0;
    for (int k = ndim; k > 0; k--) { /* the channels, the others from the last one on, the images */
        const int axis = k == ndim ? 1 : k == 1 ? 0 : k;
        if (PyArray_DIM(x, axis) != 1 && PyArray_STRIDE(x, axis) != step) return 0;
        step *= PyArray_DIM(x, axis);
    }
    return 1;
}

PyArrayObject *new_innermost(int type, int ndim, const npy_intp *shape)
{
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(ndim, shape, type);
    if (!found) return NULL;
    npy_intp step = PyArray_ITEMSIZE(found), *strides = PyArray_STRIDES(found);
    for (int k = ndim; k > 0; k--) {
        const int axis = k == ndim ? 1 : k == 1 ? 0 : k;
        strides[axis] = step, step *= shape[axis];
    }
    PyArray_UpdateFlags(found, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS);
    return found;
}

PyArrayObject *innermost_of(PyObject *array)
{
    PyArrayObject *x = (PyArrayObject *)array;
    if (lies_innermost(x)) return (PyArrayObject *)Py_NewRef(array);
    PyArrayObject *copy = new_innermost(PyArray_TYPE(x), PyArray_NDIM(x), PyArray_DIMS(x));
    if (copy) fast_copy(x, PyArray_BYTES(copy), PyArray_STRIDES(copy));
    return copy;
}

/* restrided(x, shape, strides): the memory from where x begins in this shape, with these steps in elements; the caller knows that it is there */
static PyObject *restrided(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (!PyArray_CheckExact(args[0])) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0];
    PyObject *shape = PySequence_Tuple(args[1]), *strides = shape ? PySequence_Tuple(args[2]) : NULL;
    npy_intp sizes[NPY_MAXDIMS], steps[NPY_MAXDIMS];
    PyObject *out = NULL;
    if (!strides) goto done;
    const Py_ssize_t n = PyTuple_GET_SIZE(shape);
    if (n != PyTuple_GET_SIZE(strides) || n > NPY_MAXDIMS) {
        PyErr_SetString(PyExc_ValueError, "as many steps as sizes, please");
        goto done;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        sizes[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
        const Py_ssize_t step = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, i)), most = PY_SSIZE_T_MAX / 16;
        if (PyErr_Occurred()) goto done;
        if (step > most || step < -most) {
            PyErr_SetString(PyExc_ValueError, "a stride is too large");
            goto done;
        }
        steps[i] = step * PyArray_ITEMSIZE(x);
    }
    if (PyErr_Occurred()) goto done;
    Py_INCREF(PyArray_DESCR(x));
    out = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), (int)n, sizes, steps, PyArray_DATA(x), PyArray_FLAGS(x) & NPY_ARRAY_WRITEABLE, NULL);
    if (!out) goto done;
    Py_INCREF(x);
    if (PyArray_SetBaseObject((PyArrayObject *)out, (PyObject *)x) < 0) Py_CLEAR(out);
done:
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return out;
}

/* pieces(x, axis, sizes): views of these sizes along the axis, one after the other; the caller knows that they are there. One size is that
 * of all but the last; without one (None), each place of the axis, which the views have no more. */
static PyObject *pieces(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    const int singly = args[2] == Py_None, evenly = PyLong_CheckExact(args[2]);
    if (!PyArray_CheckExact(args[0]) || (!singly && !evenly && !PyList_CheckExact(args[2]))) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0];
    const long axis = PyLong_AsLong(args[1]);
    if (axis == -1 && PyErr_Occurred()) return NULL;
    if (axis < 0 || axis >= PyArray_NDIM(x)) NOT_HANDLED();
    const int ndim = PyArray_NDIM(x);
    const npy_intp whole = PyArray_DIM(x, axis), each = evenly ? PyLong_AsSsize_t(args[2]) : 1;
    if (each < 1 && !PyErr_Occurred()) NOT_HANDLED();
    if (each < 1) return NULL;
    const Py_ssize_t n = singly ? whole : evenly ? (whole ? 1 + (whole - 1) / each : 1) : PyList_GET_SIZE(args[2]);
    PyObject *row = PyList_New(n);
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS], at = 0;
    for (int k = 0, to = 0; k < ndim; k++)
        if (!singly || k != axis) shape[to] = PyArray_DIM(x, k), strides[to++] = PyArray_STRIDE(x, k);
    for (Py_ssize_t i = 0; row && i < n; i++) {
        const npy_intp length = singly ? 1 : !evenly ? PyLong_AsSsize_t(PyList_GET_ITEM(args[2], i)) : whole - at < each ? whole - at : each;
        if (!singly) shape[axis] = length;
        if (length < 0 || length > whole - at) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "the pieces are longer than the dimension");
            Py_CLEAR(row);
            break;
        }
        Py_INCREF(PyArray_DESCR(x));
        PyObject *piece = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), ndim - singly, shape, strides,
                                               PyArray_BYTES(x) + at * PyArray_STRIDE(x, axis), PyArray_FLAGS(x) & NPY_ARRAY_WRITEABLE, NULL);
        if (!piece || PyArray_SetBaseObject((PyArrayObject *)piece, Py_NewRef((PyObject *)x)) < 0) {
            Py_XDECREF(piece);
            Py_CLEAR(row);
            break;
        }
        PyList_SET_ITEM(row, i, piece);
        at += length;
    }
    return row;
}

struct triangle_job {
    const char *from;
    char *to;
    size rows, columns, width, diagonal;
    int upper;
};

static void triangle_task(void *context, size begin, size end, int chunk)
{
    const struct triangle_job *job = context;
    (void)chunk;
    for (size item = begin; item < end; item++) {
        size at = item % job->rows + job->diagonal + !job->upper; /* where what is kept ends, or begins */
        at = (at < 0 ? 0 : at > job->columns ? job->columns : at) * job->width;
        const size whole = job->columns * job->width, first = job->upper ? at : 0, kept = job->upper ? whole - at : at;
        char *to = job->to + item * whole;
        if (job->to != job->from) memcpy(to + first, job->from + item * whole + first, kept);
        memset(to + (job->upper ? 0 : at), 0, whole - kept);
    }
}

/* triangle(x, diagonal, upper): a copy of the matrices with zeros above the diagonal, or below it; x itself, where the in-place form asks */
static PyObject *triangle(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (!PyArray_CheckExact(args[0])) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0];
    const int ndim = PyArray_NDIM(x);
    const Py_ssize_t diagonal = PyLong_AsSsize_t(args[1]);
    if (diagonal == -1 && PyErr_Occurred()) PyErr_Clear();
    else if (ndim >= 2 && !PyArray_IS_C_CONTIGUOUS(x) && PyArray_SIZE(x)) {
        PyObject *const row[] = {layout_rows(args[0]), args[1], args[2]};
        PyObject *found = row[0] ? triangle(NULL, row, 3) : NULL;
        Py_XDECREF(row[0]);
        return found;
    } else if (ndim >= 2 && PyArray_IS_C_CONTIGUOUS(x) && !PyDataType_REFCHK(PyArray_DESCR(x)) && llabs(diagonal) <= MOST) {
        if (!may_write_to(x)) Py_INCREF(PyArray_DESCR(x));
        PyArrayObject *out = may_write_to(x) ? (PyArrayObject *)Py_NewRef(args[0])
                                             : (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), ndim, PyArray_DIMS(x), NULL, NULL, 0, NULL);
        struct triangle_job job = {.from = PyArray_BYTES(x), .rows = PyArray_DIM(x, ndim - 2), .columns = PyArray_DIM(x, ndim - 1),
                                   .width = PyArray_ITEMSIZE(x), .diagonal = diagonal, .upper = PyObject_IsTrue(args[2])};
        if (!out || !PyArray_SIZE(x)) return (PyObject *)out;
        job.to = PyArray_BYTES(out);
        const size rows = PyArray_SIZE(x) / job.columns;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(x));
        pool_run(triangle_task, &job, rows, pool_chunks(rows, 0.1 * job.columns));
        NPY_END_THREADS
        return (PyObject *)out;
    }
    NOT_HANDLED();
}

/* wengert.arrays.layouts.seems: whether images, or volumes, seem to have their channels innermost. */
static int seems_innermost(PyArrayObject *a)
{
    const int ndim = PyArray_NDIM(a);
    const npy_intp *shape = PyArray_DIMS(a), *strides = PyArray_STRIDES(a);
    if ((ndim != 4 && ndim != 5) || !strides[1] || strides[ndim - 1] < strides[1] * shape[1]) return 0;
    npy_intp least = 0;
    for (int k = ndim; k > 0; k--) { /* the channels, the others from the last one on, the images */
        const int axis = k == ndim ? 1 : k == 1 ? 0 : k;
        if (!shape[axis] || strides[axis] < least || (!axis && least == strides[1])) return 0;
        least = strides[axis] * shape[axis];
    }
    return 1;
}

/* Arrays one after another along a new axis or one that they have, row by row or with the channels innermost; `misfits` says that their
 * types, or the other axes, differ. NULL without an error where NumPy has to. */
static PyArrayObject *one_after_another(PyObject *arrays, long axis, int stack, int inside, int *misfits)
{
    const Py_ssize_t n = PyList_GET_SIZE(arrays);
    PyArrayObject *first = (PyArrayObject *)PyList_GET_ITEM(arrays, 0);
    const int ndim = PyArray_NDIM(first), type = PyArray_TYPE(first), width = PyArray_ITEMSIZE(first);
    *misfits = 0;
    if (axis < 0) axis += ndim + stack;
    if (ndim > MAX_AXES - 1 || ndim + stack < 1 || (type > NPY_CLONGDOUBLE && !narrow_kind((PyObject *)first)) || (width & (width - 1)) || width > 16) return NULL;
    if (axis < 0 || axis >= ndim + stack) return *misfits = 1, NULL;
    npy_intp shape[MAX_AXES], steps[MAX_AXES], total = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *a = (PyArrayObject *)PyList_GET_ITEM(arrays, i);
        if (!PyArray_CheckExact((PyObject *)a) || !PyArray_ISALIGNED(a) || !PyArray_ISNBO(PyArray_DESCR(a)->byteorder)) return NULL;
        if (PyArray_TYPE(a) != type || PyArray_NDIM(a) != ndim) return *misfits = 1, NULL;
        for (int d = 0; d < ndim; d++)
            if ((stack || d != axis) && PyArray_DIM(a, d) != PyArray_DIM(first, d)) return *misfits = 1, NULL;
        total += stack ? 1 : PyArray_DIM(a, axis);
    }
    for (int d = 0; d < ndim; d++) shape[d + (stack && d >= axis)] = PyArray_DIM(first, d);
    shape[axis] = total;
    PyArrayObject *out = inside ? new_innermost(type, ndim, shape) : new_like(first, ndim + stack, shape);
    if (!out) return NULL;
    char *to = PyArray_BYTES(out);
    for (int d = 0; d < ndim; d++) steps[d] = PyArray_STRIDE(out, d + (stack && d >= axis));
    for (Py_ssize_t i = 0; i < n; i++) {
        PyArrayObject *a = (PyArrayObject *)PyList_GET_ITEM(arrays, i);
        fast_copy(a, to, steps);
        to += (stack ? 1 : PyArray_DIM(a, axis)) * PyArray_STRIDE(out, axis);
    }
    return out;
}

/* joined(arrays, axis, stack): arrays one after another, in C order, along a new axis or one that they have; None where their types, or
 * the other axes, differ */
static PyObject *joined(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (!PyList_CheckExact(args[0]) || !PyList_GET_SIZE(args[0]) || !PyArray_CheckExact(PyList_GET_ITEM(args[0], 0))) NOT_HANDLED();
    const int stack = PyObject_IsTrue(args[2]);
    const long axis = PyLong_AsLong(args[1]);
    int misfits;
    if (axis == -1 && PyErr_Occurred()) return NULL;
    PyObject *found = (PyObject *)one_after_another(args[0], axis, stack, 0, &misfits);
    if (found || PyErr_Occurred()) return found;
    if (misfits) Py_RETURN_NONE;
    NOT_HANDLED();
}

/* How many of the arrays seem to have their channels innermost: all, or (0) none, or -1. */
static int seem_innermost(PyObject *arrays)
{
    Py_ssize_t found = 0, n = PyList_GET_SIZE(arrays);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *a = PyList_GET_ITEM(arrays, i);
        found += PyArray_CheckExact(a) && seems_innermost((PyArrayObject *)a);
    }
    return found == n ? 1 : found ? -1 : 0;
}

PyObject *cat_forward(PyObject *const *raw)
{
    PyObject *first = PyList_GET_SIZE(raw[0]) ? PyList_GET_ITEM(raw[0], 0) : NULL;
    int misfits;
    if (!first || !PyArray_CheckExact(first) || !PyArray_NDIM((PyArrayObject *)first) || !PyLong_CheckExact(raw[1])) return NULL;
    const long axis = PyLong_AsLong(raw[1]);
    if (axis == -1 && PyErr_Occurred()) return NULL;
    return (PyObject *)one_after_another(raw[0], axis, 0, seem_innermost(raw[0]) > 0, &misfits);
}

/* Images whose channels are innermost are joined, and stay so. */
PyObject *stack_forward(PyObject *const *raw)
{
    PyObject *first = PyList_GET_SIZE(raw[0]) ? PyList_GET_ITEM(raw[0], 0) : NULL;
    int misfits;
    if (!first || !PyArray_CheckExact(first) || !PyLong_CheckExact(raw[1])) return NULL;
    const int ndim = PyArray_NDIM((PyArrayObject *)first), inside = seem_innermost(raw[0]) > 0;
    long axis = PyLong_AsLong(raw[1]);
    if ((axis == -1 && PyErr_Occurred()) || axis < -ndim - 1 || axis > ndim) return NULL;
    if (axis < 0) axis += ndim + 1;
    if (!inside || axis == ndim) return (PyObject *)one_after_another(raw[0], axis, 1, 0, &misfits);
    for (Py_ssize_t i = 1; i < PyList_GET_SIZE(raw[0]); i++)
        if (PyArray_DIM((PyArrayObject *)PyList_GET_ITEM(raw[0], i), axis) != PyArray_DIM((PyArrayObject *)first, axis)) return NULL;
    PyArrayObject *row = one_after_another(raw[0], axis, 0, 1, &misfits);
    if (!row) return NULL;
    npy_intp shape[MAX_AXES], strides[MAX_AXES];
    for (int d = 0; d < ndim; d++) shape[d + (d >= axis)] = PyArray_DIM(row, d), strides[d + (d >= axis)] = PyArray_STRIDE(row, d);
    shape[axis + 1] = PyArray_DIM((PyArrayObject *)first, axis), shape[axis] = PyList_GET_SIZE(raw[0]);
    strides[axis] = strides[axis + 1] * shape[axis + 1];
    Py_INCREF(PyArray_DESCR(row));
    PyObject *found = PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(row), ndim + 1, shape, strides, PyArray_BYTES(row), NPY_ARRAY_WRITEABLE, NULL);
    if (found && PyArray_SetBaseObject((PyArrayObject *)found, (PyObject *)row) < 0) Py_CLEAR(found);
    else if (!found) Py_DECREF(row);
    return found;
}

/* How many numbers lie before the diagonal `offset`, in all rows: the sum of r + offset, held to [0, columns]. */
static size before_diagonal(size rows, size offset, size columns)
{
    const size first = -offset < 0 ? 0 : -offset < rows ? -offset : rows;
    const size full = columns - offset < first ? first : columns - offset < rows ? columns - offset : rows;
    return (full - first) * (first + offset) + (full - first) * (full - first - 1) / 2 + (rows - full) * columns;
}

/* triangle_places(rows, offset, columns, lower): the places (2, n) of a triangle of a matrix, row by row */
static PyObject *triangle_places(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    size rows, columns;
    const Py_ssize_t offset = PyLong_AsSsize_t(args[1]);
    const int lower = PyObject_IsTrue(args[3]);
    if (PyErr_Occurred()) PyErr_Clear();
    else if (read_number(args[0], 0, &rows) == 0 && read_number(args[2], 0, &columns) == 0 && llabs(offset) <= MOST) {
#define DIAGONAL(r, more) ((r) + offset + (more) < 0 ? 0 : (r) + offset + (more) > columns ? columns : (r) + offset + (more))
        const size first = lower && offset < 0 ? (-offset < rows ? -offset : rows) : 0; /* rows before it, or from end, have none */
        const size end = lower || columns - offset > rows ? rows : columns - offset;
        const size total = lower ? before_diagonal(rows, offset + 1, columns) : rows * columns - before_diagonal(rows, offset, columns);
        const npy_intp shape[] = {2, total};
        PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_INT64);
        if (!out) return NULL;
        int64_t *row = PyArray_DATA(out), *column = row + total;
        for (size r = first; r < end; r++) {
            const size from = lower ? 0 : DIAGONAL(r, 0), n = (lower ? DIAGONAL(r, 1) : columns) - from;
            for (size k = 0; k < n; k++) row[k] = r, column[k] = from + k;
            row += n, column += n;
        }
#undef DIAGONAL
        return (PyObject *)out;
    }
    NOT_HANDLED();
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef layout_methods[] = {METHOD(in_order), METHOD(restrided), METHOD(pieces), METHOD(triangle), METHOD(joined), METHOD(triangle_places), {NULL, NULL, 0, NULL}};
