/* log(sum(exp(x))) along an axis, and its gradient. */
#include "wengert.h"

#include "pool.h"

/* Columns that are few, and rows that are short, are gathered into blocks whose columns are many. */
enum { ENOUGH = 16, DEEP = 256, BLOCK = ENOUGH * DEEP };

struct lse_job {
    int type;
    const char *x, *g, *lse; /* g, lse: of the gradient */
    char *out;
    size n, inner;
};

#define DEFINE_TASKS(SUFFIX, REAL)                                                                                      \
    /* Items are blocks of n rows and `inner` columns. */                                                               \
    static void gathered_##SUFFIX(void *context, size begin, size end, int chunk)                                       \
    {                                                                                                                   \
        const struct lse_job *job = context;                                                                            \
        const size n = job->n, inner = job->inner, room = BLOCK / n < COLUMNS ? BLOCK / n : COLUMNS, most = room / inner; \
        REAL block[BLOCK];                                                                                              \
        (void)chunk;                                                                                                    \
        for (size at = begin; at < end; at += most) {                                                                   \
            const size columns = (end - at < most ? end - at : most) * inner;                                           \
            const REAL *x = (const REAL *)job->x + at * n * inner;                                                      \
            for (size first = 0; first < columns; first += inner)                                                       \
                for (size r = 0; r < n; r++)                                                                            \
                    for (size i = 0; i < inner; i++) block[r * columns + first + i] = *x++;                             \
            kernels->logsumexp_columns_##SUFFIX((REAL *)job->out + at * inner, block, n, columns, columns);             \
        }                                                                                                               \
    }                                                                                                                   \
    /* Items are rows. Where the largest is infinite, so is the result, unless there is NaN. */                         \
    static void along_rows_##SUFFIX(void *context, size begin, size end, int chunk)                                     \
    {                                                                                                                   \
        const struct lse_job *job = context;                                                                            \
        REAL *out = (REAL *)job->out;                                                                                   \
        (void)chunk;                                                                                                    \
        if (job->g) {                                                                                                   \
            kernels->logsumexp_grad_##SUFFIX(out + begin * job->n, (const REAL *)job->g + begin,                        \
                                             (const REAL *)job->x + begin * job->n, (const REAL *)job->lse + begin,     \
                                             end - begin, job->n);                                                      \
            return;                                                                                                     \
        }                                                                                                               \
        kernels->logsumexp_##SUFFIX(out + begin, (const REAL *)job->x + begin * job->n, end - begin, job->n);           \
        for (size r = begin; r < end; r++) {                                                                            \
            if (out[r] == out[r]) continue;                                                                             \
            const REAL *x = (const REAL *)job->x + r * job->n;                                                          \
            out[r] = *x;                                                                                                \
            for (size i = 1; i < job->n && out[r] == out[r]; i++) out[r] = x[i] <= out[r] ? out[r] : x[i];              \
        }                                                                                                               \
    }                                                                                                                   \
    /* Items are tiles of up to COLUMNS columns of a block. */                                                          \
    static void tiles_##SUFFIX(void *context, size begin, size end, int chunk)                                          \
    {                                                                                                                   \
        const struct lse_job *job = context;                                                                            \
        const size n = job->n, inner = job->inner, tiles = (inner + COLUMNS - 1) / COLUMNS;                             \
        (void)chunk;                                                                                                    \
        for (size item = begin; item < end; item++) {                                                                   \
            const size first = item % tiles * COLUMNS, count = inner - first < COLUMNS ? inner - first : COLUMNS;       \
            const size block = item / tiles, at = block * n * inner + first, to = block * inner + first;                \
            const REAL *x = (const REAL *)job->x + at;                                                                  \
            REAL *out = (REAL *)job->out;                                                                               \
            if (!job->g) kernels->logsumexp_columns_##SUFFIX(out + to, x, n, inner, count);                             \
            else kernels->logsumexp_grad_columns_##SUFFIX(out + at, (const REAL *)job->g + to, x,                       \
                                                          (const REAL *)job->lse + to, n, inner, count);                \
        }                                                                                                               \
    }                                                                                                                   \
    /* The gradient of blocks of n rows and few columns: what a column shares is repeated. */                           \
    static void repeated_##SUFFIX(void *context, size begin, size end, int chunk)                                       \
    {                                                                                                                   \
        const struct lse_job *job = context;                                                                            \
        const size n = job->n, inner = job->inner, whole = n * inner;                                                   \
        const size blocks = whole < COLUMNS ? COLUMNS / whole : 1, rows = whole < COLUMNS ? n : COLUMNS / inner;        \
        REAL g[COLUMNS], lse[COLUMNS];                                                                                  \
        (void)chunk;                                                                                                    \
        for (size at = begin; at < end; at += blocks) {                                                                 \
            const size some = end - at < blocks ? end - at : blocks;                                                    \
            const size k = some * rows * inner;                                                                         \
            for (size b = 0; b < some; b++)                                                                             \
                for (size i = 0; i < inner; i++) {                                                                      \
                    const size from = (at + b) * inner + i, first = b * rows * inner + i;                               \
                    const REAL each = ((const REAL *)job->g)[from], level = ((const REAL *)job->lse)[from];             \
                    for (size r = 0; r < rows; r++) g[first + r * inner] = each, lse[first + r * inner] = level;        \
                }                                                                                                       \
            for (size done = 0; done < some * whole; done += k) {                                                       \
                const size count = some * whole - done < k ? some * whole - done : k, place = at * whole + done;        \
                kernels->logsumexp_grad_columns_##SUFFIX((REAL *)job->out + place, g, (const REAL *)job->x + place,     \
                                                         lse, 1, 0, count);                                             \
            }                                                                                                           \
        }                                                                                                               \
    }
DEFINE_TASKS(f32, float)
DEFINE_TASKS(f64, double)

static void run(struct lse_job *job, size blocks)
{
    const int single = job->type == NPY_FLOAT, many = job->inner >= ENOUGH;
    const size tiles = (job->inner + COLUMNS - 1) / COLUMNS, items = many ? blocks * tiles : blocks;
    const int lengthy = job->inner == 1 ? job->n >= (single && !job->g ? 32 : 16) : !job->g && job->n > DEEP;
    pool_task task = single ? tiles_f32 : tiles_f64;
    if (lengthy && job->inner == 1) task = single ? along_rows_f32 : along_rows_f64;
    else if (!lengthy && !many && job->g) task = single ? repeated_f32 : repeated_f64;
    else if (!lengthy && !many) task = single ? gathered_f32 : gathered_f64;
    const double cost = (single ? 0.6 : 1.2) * job->n * (job->inner < COLUMNS ? job->inner : COLUMNS);
    const int chunks = pool_chunks(items, cost);
    Py_BEGIN_ALLOW_THREADS
    pool_run(task, job, items, chunks);
    Py_END_ALLOW_THREADS
}

/* The number of an axis that has elements, as everything else has; -1 where the plain definition is to answer. */
static int axis_of(PyObject *x, PyObject *number)
{
    if (!is_real(x)) return -1;
    const int ndim = PyArray_NDIM((PyArrayObject *)x);
    long axis = PyLong_AsLong(number);
    if (axis == -1 && PyErr_Occurred()) PyErr_Clear(), axis = ndim;
    if (axis < 0) axis += ndim;
    return axis < 0 || axis >= ndim || !PyArray_SIZE((PyArrayObject *)x) ? -1 : (int)axis;
}

static size columns_behind(PyArrayObject *x, int axis)
{
    size inner = 1;
    for (int k = axis + 1; k < PyArray_NDIM(x); k++) inner *= PyArray_DIM(x, k);
    return inner;
}

/* logsumexp(x, axis); the axis is kept, with one element */
static PyObject *logsumexp(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    const int axis = axis_of(args[0], args[1]);
    if (axis < 0) NOT_HANDLED();
    PyArrayObject *x = contiguous(args[0]), *out = NULL;
    if (!x) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    for (int k = 0; k < PyArray_NDIM(x); k++) shape[k] = k == axis ? 1 : PyArray_DIM(x, k);
    if ((out = new_like(x, PyArray_NDIM(x), shape))) {
        struct lse_job job = {.type = PyArray_TYPE(x), .x = PyArray_BYTES(x), .out = PyArray_BYTES(out),
                              .n = PyArray_DIM(x, axis), .inner = columns_behind(x, axis)};
        run(&job, PyArray_SIZE(out) / job.inner);
    }
    Py_DECREF(x);
    return (PyObject *)out;
}

/* logsumexp_grad(g, x, result, axis); g and the result with the axis or without it */
static PyObject *logsumexp_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    const int axis = axis_of(args[1], args[3]);
    if (axis < 0) NOT_HANDLED();
    const size n = PyArray_DIM((PyArrayObject *)args[1], axis), columns = PyArray_SIZE((PyArrayObject *)args[1]) / n;
    for (int k = 0; k <= 2; k += 2)
        if (!is_like(args[k], args[1]) || PyArray_SIZE((PyArrayObject *)args[k]) != columns) NOT_HANDLED();
    PyArrayObject *g = contiguous(args[0]), *x = contiguous(args[1]), *lse = contiguous(args[2]), *out = NULL;
    if (g && x && lse && (out = new_like(x, PyArray_NDIM(x), PyArray_DIMS(x)))) {
        struct lse_job job = {.type = PyArray_TYPE(x), .x = PyArray_BYTES(x), .g = PyArray_BYTES(g), .lse = PyArray_BYTES(lse),
                              .out = PyArray_BYTES(out), .n = n, .inner = columns_behind(x, axis)};
        run(&job, columns / job.inner);
    }
    Py_XDECREF(g);
    Py_XDECREF(x);
    Py_XDECREF(lse);
    return (PyObject *)out;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef logsumexp_methods[] = {METHOD(logsumexp), METHOD(logsumexp_grad), {NULL, NULL, 0, NULL}};
