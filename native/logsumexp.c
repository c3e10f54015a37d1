/* log(sum(exp(x))) along an axis, and its gradient; losses of classes, cross-entropy among them. */
#include "wengert.h"

#include "pool.h"

/* Columns that are few, and rows that are short, are gathered into blocks whose columns are many. */
enum { ENOUGH = 16, DEEP = 256, BLOCK = ENOUGH * DEEP };

struct lse_job {
    int type;
    const char *x, *g, *lse; /* g, lse: of the gradient */
    char *out, *rest; /* rest: NULL, or what rounding took from the results */
    size n, inner;
};

#define REST(job, REAL, at) ((job)->rest ? (REAL *)(job)->rest + (at) : NULL)
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
            kernels->logsumexp_columns_##SUFFIX((REAL *)job->out + at * inner, REST(job, REAL, at * inner), block, n, columns, columns); \
        }                                                                                                               \
    }                                                                                                                   \
    /* Items are rows. Where the largest is infinite, so is the result, unless there is NaN. */                         \
    static void along_rows_##SUFFIX(void *context, size begin, size end, int chunk)                                     \
    {                                                                                                                   \
        const struct lse_job *job = context;                                                                            \
        REAL *out = (REAL *)job->out;                                                                                   \
        (void)chunk;                                                                                                    \
        if (job->g) {                                                                                                   \
            row_kernels(job->n, sizeof(REAL))->logsumexp_grad_##SUFFIX(out + begin * job->n, (const REAL *)job->g + begin, \
                                             (const REAL *)job->x + begin * job->n, (const REAL *)job->lse + begin,     \
                                             end - begin, job->n);                                                      \
            return;                                                                                                     \
        }                                                                                                               \
        row_kernels(job->n, sizeof(REAL))->logsumexp_##SUFFIX(out + begin, REST(job, REAL, begin), (const REAL *)job->x + begin * job->n, end - begin, job->n); \
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
            if (!job->g) kernels->logsumexp_columns_##SUFFIX(out + to, REST(job, REAL, to), x, n, inner, count);        \
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

/* ---- losses of classes ---- */

/* Numbers of classes where x has its numbers, the classes in axis 1; the index has an axis 1 of one element. */
static int are_classes(PyObject *x, PyObject *classes, int with_axis)
{
    PyArrayObject *scores = (PyArrayObject *)x, *t = (PyArrayObject *)classes;
    if (!is_real(x) || PyArray_NDIM(scores) < 2 || !PyArray_SIZE(scores) || !PyArray_Check(classes) || PyArray_TYPE(t) != NPY_INT64 ||
        !PyArray_ISBEHAVED_RO(t) || PyArray_NDIM(t) != PyArray_NDIM(scores) - !with_axis || (with_axis && PyArray_DIM(t, 1) != 1))
        return 0;
    for (int k = 0; k < PyArray_NDIM(scores); k++)
        if (k != 1 && PyArray_DIM(scores, k) != PyArray_DIM(t, k - (k > 1 && !with_axis))) return 0;
    return 1;
}

struct classes {
    const int64_t *target;
    int64_t *index, ignored, absent; /* absent: the index of what is ignored */
    size n, inner, places;
    int mean;
};

/* Every place: of block after block of `inner` columns, which begin at `start` among the numbers of all classes. */
#define EVERY_PLACE(c)                                                                                  \
    for (size at = 0, start = 0; at < (c)->places; start += (c)->n * (c)->inner)                        \
        for (size column = start; column < start + (c)->inner; column++, at++)

/* exp(x) - 1 of what rounding took from a logarithm, mostly an ulp of it; the third term is below 2e-11 of the first. */
static inline double small_expm1(double x) { return fabs(x) < 1e-5 ? x + 0.5 * x * x : expm1(x); }

#define DEFINE_CLASSES(SUFFIX, REAL)                                                                                    \
    /* Losses, and what each is multiplied by in the gradient; gives the sum of weights. Behind all lse: what rounding took of each. */ \
    static REAL lose_##SUFFIX(const struct classes *c, REAL *loss, REAL *scale, REAL *lse, const REAL *x, const REAL *weight) \
    {                                                                                                                   \
        double total = 0;                                                                                               \
        EVERY_PLACE(c)                                                                                                  \
        {                                                                                                               \
            const int64_t class = c->target[at];                                                                        \
            const int kept = class != c->ignored;                                                                       \
            const REAL w = kept ? weight ? weight[class] : 1 : 0;                                                       \
            if (lse) lse[at] += lse[at] - lse[at]; /* beside an infinite one nothing is a number */                     \
            const REAL score = kept ? x[column + class * c->inner] : 0;                                                 \
            loss[at] = kept ? (lse ? lse[at] - score + lse[c->places + at] : -score) * w : 0;                           \
            c->index[at] = kept ? class : c->absent;                                                                    \
            scale[at] = -w, total += w;                                                                                 \
        }                                                                                                               \
        for (size at = 0; c->mean && at < c->places; at++)                                                              \
            scale[at] = c->target[at] == c->ignored ? 0 : scale[at] / (REAL)total;                                      \
        return (REAL)total;                                                                                             \
    }                                                                                                                   \
    static REAL sum_of_##SUFFIX(const REAL *loss, size count, double divisor)                                           \
    {                                                                                                                   \
        double total;                                                                                                   \
        kernels->sum_rows_##SUFFIX(&total, loss, 1, count);                                                             \
        return (REAL)(total / divisor);                                                                                 \
    }                                                                                                                   \
    /* Less the factor where the class is, and not a number where what is left out would spoil it. */                   \
    static void without_classes_##SUFFIX(const struct classes *c, REAL *out, const REAL *scale, const REAL *lse)        \
    {                                                                                                                   \
        EVERY_PLACE(c)                                                                                                  \
        {                                                                                                               \
            const REAL spoilt = lse[at] - lse[at], rest = lse[c->places + at];                                          \
            for (size k = 0; spoilt != 0 && k < c->n; k++) out[column + k * c->inner] = spoilt;                         \
            if (c->target[at] >= 0 && (c->inner > 1 || rest != 0))                                                      \
                out[column + c->target[at] * c->inner] -= scale[at] * ((c->inner > 1) + (REAL)small_expm1(rest));          \
        }                                                                                                               \
    }
DEFINE_CLASSES(f32, float)
DEFINE_CLASSES(f64, double)

/* The first class that is none, or -1 where all are; `ignored` is one. */
static int64_t wrong_class(const struct classes *c, int *found)
{
    for (size at = 0; at < c->places; at++)
        if (c->target[at] != c->ignored && (c->target[at] < 0 || c->target[at] >= c->n)) {
            *found = 1;
            return c->target[at];
        }
    return *found = 0;
}

/* class_losses(x, target, weight | None, ignored, reduction, softmax) -> (loss, logsumexp of each and what rounding took from it | None, index,
 * scale, sum of weights) */
PyObject *class_losses(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 6) return PyErr_Format(PyExc_TypeError, "expected 6 arguments");
    if (!are_classes(args[0], args[1], 0) || !PyUnicode_Check(args[4])) NOT_HANDLED();
    PyArrayObject *w = args[2] == Py_None ? NULL : (PyArrayObject *)args[2];
    const npy_intp n = PyArray_DIM((PyArrayObject *)args[0], 1);
    if (w && (!is_like(args[2], args[0]) || PyArray_NDIM(w) != 1 || PyArray_DIM(w, 0) != n || !PyArray_ISCARRAY_RO(w))) NOT_HANDLED();
    const long long ignored = PyLong_AsLongLong(args[3]);
    if (ignored == -1 && PyErr_Occurred()) return NULL;
    PyArrayObject *t = contiguous(args[1]), *x = NULL, *lse = NULL, *index = NULL, *loss = NULL, *scale = NULL, *sum = NULL, *total = NULL;
    if (!t) return NULL;
    struct classes c = {.target = PyArray_DATA(t), .ignored = ignored, .n = n, .places = PyArray_SIZE(t),
                        .mean = PyUnicode_CompareWithASCIIString(args[4], "mean") == 0};
    int wrong;
    const int64_t which = wrong_class(&c, &wrong);
    if (wrong) PyErr_Format(PyExc_IndexError, "Target %lld is out of bounds.", (long long)which);
    const int softmax = args[5] == Py_True, whole = PyUnicode_CompareWithASCIIString(args[4], "none") != 0;
    if (wrong || !(x = contiguous(args[0]))) goto fail;
    npy_intp shape[NPY_MAXDIMS];
    for (int k = 0; k < PyArray_NDIM(x); k++) shape[k] = k == 1 ? 1 : PyArray_DIM(x, k);
    index = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), shape, NPY_INT64);
    loss = new_like(x, PyArray_NDIM(t), PyArray_DIMS(t)), scale = new_like(x, PyArray_NDIM(t), PyArray_DIMS(t));
    if (softmax) lse = new_like(x, 2, (npy_intp[]){2, c.places});
    total = new_like(x, 0, NULL), sum = whole ? new_like(x, 0, NULL) : NULL;
    if (!index || !loss || !scale || !total || (softmax && !lse) || (whole && !sum)) goto fail;
    c.index = PyArray_DATA(index), c.absent = softmax ? -1 : 0, c.inner = columns_behind(x, 1);
    if (softmax) {
        struct lse_job job = {.type = PyArray_TYPE(x), .x = PyArray_BYTES(x), .out = PyArray_BYTES(lse), .n = n, .inner = c.inner};
        job.rest = job.out + c.places * PyArray_ITEMSIZE(x);
        run(&job, c.places / c.inner);
    }
#define LOSE(REAL, SUFFIX)                                                                                              \
    {                                                                                                                   \
        const REAL all = lose_##SUFFIX(&c, PyArray_DATA(loss), PyArray_DATA(scale), lse ? PyArray_DATA(lse) : NULL, PyArray_DATA(x), \
                                       w ? PyArray_DATA(w) : NULL);                                                     \
        *(REAL *)PyArray_DATA(total) = all;                                                                             \
        if (whole) *(REAL *)PyArray_DATA(sum) = sum_of_##SUFFIX(PyArray_DATA(loss), c.places, c.mean ? all : 1);        \
    }
    if (PyArray_TYPE(x) == NPY_FLOAT) LOSE(float, f32) else LOSE(double, f64)
#undef LOSE
    if (whole) {
        Py_DECREF(loss);
        loss = sum;
    }
    Py_DECREF(x);
    Py_DECREF(t);
    return Py_BuildValue("NNNNN", loss, lse ? (PyObject *)lse : Py_NewRef(Py_None), index, scale, total);
fail:
    Py_DECREF(t);
    Py_XDECREF(x);
    Py_XDECREF(lse);
    Py_XDECREF(index);
    Py_XDECREF(loss);
    Py_XDECREF(scale);
    Py_XDECREF(sum);
    Py_XDECREF(total);
    return NULL;
}

struct slope_job {
    struct lse_job job;
    const int64_t *target;
};

static void slope_task(void *context, size begin, size end, int chunk)
{
    const struct slope_job *s = context;
    const struct lse_job *job = &s->job;
    const size n = job->n;
    (void)chunk;
    if (job->type == NPY_FLOAT)
        row_kernels(n, 4)->cross_entropy_grad_f32((float *)job->out + begin * n, (const float *)job->x + begin * n, (const float *)job->lse + begin,
                                        (const float *)job->g + begin, s->target + begin, end - begin, n);
    else
        row_kernels(n, 8)->cross_entropy_grad_f64((double *)job->out + begin * n, (const double *)job->x + begin * n, (const double *)job->lse + begin,
                                        (const double *)job->g + begin, s->target + begin, end - begin, n);
}

/* cross_entropy_grad(g: of all, or of each; scale, x, index, logsumexp: of class_losses) -> gradient of x */
static PyObject *cross_entropy_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    if (!are_classes(args[2], args[3], 1)) NOT_HANDLED();
    const size n = PyArray_DIM((PyArrayObject *)args[2], 1), places = PyArray_SIZE((PyArrayObject *)args[3]);
    for (int k = 0; k < 2; k++)
        if (!is_like(args[k], args[2]) || (PyArray_SIZE((PyArrayObject *)args[k]) != places && (k || PyArray_NDIM((PyArrayObject *)args[k])))) NOT_HANDLED();
    if (!is_like(args[4], args[2]) || PyArray_SIZE((PyArrayObject *)args[4]) != 2 * places) NOT_HANDLED();
    PyArrayObject *g = contiguous(args[0]), *scale = (PyArrayObject *)PyArray_NewCopy((PyArrayObject *)args[1], NPY_CORDER), *x = contiguous(args[2]);
    PyArrayObject *lse = contiguous(args[4]), *t = contiguous(args[3]), *out = x ? new_like(x, PyArray_NDIM(x), PyArray_DIMS(x)) : NULL;
    if (g && scale && lse && t && out) {
        struct slope_job s = {{.type = PyArray_TYPE(x), .x = PyArray_BYTES(x), .g = PyArray_BYTES(scale), .lse = PyArray_BYTES(lse),
                               .out = PyArray_BYTES(out), .n = n, .inner = columns_behind(x, 1)}, PyArray_DATA(t)};
        const struct classes c = {.target = s.target, .n = n, .inner = s.job.inner, .places = places};
        const size step = PyArray_NDIM(g) ? 1 : 0;
#define SCALE(REAL)                                                                                                    \
    for (size at = 0; at < places; at++) {                                                                             \
        const REAL factor = -((const REAL *)PyArray_DATA(g))[at * step] * ((const REAL *)s.job.g)[at];                 \
        const REAL rest = ((const REAL *)s.job.lse)[places + at];                                                      \
        ((REAL *)s.job.g)[at] = s.target[at] < 0 ? 0 : rest != 0 ? factor * (REAL)exp(-(double)rest) : factor;         \
    }
        if (s.job.type == NPY_FLOAT) { SCALE(float) } else { SCALE(double) }
#undef SCALE
        if (s.job.inner > 1) run(&s.job, places / s.job.inner);
        else {
            const int chunks = pool_chunks(places, 0.6 * n);
            Py_BEGIN_ALLOW_THREADS
            pool_run(slope_task, &s, places, chunks);
            Py_END_ALLOW_THREADS
        }
        if (s.job.type == NPY_FLOAT) without_classes_f32(&c, PyArray_DATA(out), PyArray_DATA(scale), PyArray_DATA(lse));
        else without_classes_f64(&c, PyArray_DATA(out), PyArray_DATA(scale), PyArray_DATA(lse));
    } else Py_CLEAR(out);
    Py_XDECREF(g);
    Py_XDECREF(scale);
    Py_XDECREF(x);
    Py_XDECREF(lse);
    Py_XDECREF(t);
    return (PyObject *)out;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef logsumexp_methods[] = {METHOD(logsumexp), METHOD(logsumexp_grad), METHOD(class_losses), METHOD(cross_entropy_grad), {NULL, NULL, 0, NULL}};
