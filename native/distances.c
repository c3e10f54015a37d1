/* Distances of the rows of one matrix to those of another, and their gradients: some rows at a time, whose numbers lie side by side,
 * against one number after another. */
#include "wengert.h"

#include <math.h>
#include <string.h>

#include "pool.h"
#include "sixteen.h"

enum { PART = 32 }; /* sums are added up by parts: they err less */
/* How many differ; the sum of amounts; the root of the sum of squares; the largest; the root of the sum of other powers. */
enum { UNEQUAL, ABSOLUTE, SQUARE, LARGEST, POWER };

struct distance_job {
    const char *x, *panels, *g, *far; /* g, far: panels of the incoming gradient and of the distances */
    char *out;
    size n, m, width; /* rows of x, rows of the panels, numbers of a row */
    int type, kind, triangle; /* triangle: of each row to those after it, one row of the result behind the other */
    double p;
};

#define EACH(S) for (int v = 0; v < VECTORS_##S; v++)

#define DEFINE_DISTANCES(WITH, REAL, S, ROOT, POW)                                                               \
    enum { VECTORS_##S = sizeof(vector_##S) > sizeof(REAL) ? 64 / sizeof(vector_##S) : 4,                        \
           WIDTH_##S = sizeof(vector_##S) / sizeof(REAL), LANES_##S = VECTORS_##S * WIDTH_##S };                                        \
    static WITH vector_##S powers_##S(vector_##S x, double p)                                                    \
    {                                                                                                            \
        REAL lane[sizeof(vector_##S) / sizeof(REAL)];                                                            \
        memcpy(lane, &x, sizeof x);                                                                              \
        for (size_t l = 0; l < sizeof lane / sizeof *lane; l++) lane[l] = POW(lane[l], (REAL)p);                 \
        memcpy(&x, lane, sizeof x);                                                                              \
        return x;                                                                                                \
    }                                                                                                            \
    static WITH inline void distance_##S(vector_##S *total, const REAL *x, const vector_##S *other, size width, int kind, double p) \
    {                                                                                                            \
        EACH(S) total[v] = SPREAD(S, (REAL)0);                                                                   \
        for (size first = 0; first < width; first += PART) {                                                     \
            const size end = width - first < PART ? width : first + PART;                                        \
            vector_##S sum[VECTORS_##S];                                                                         \
            EACH(S) sum[v] = SPREAD(S, (REAL)0);                                                                 \
            for (size k = first; k < end; k++)                                                                   \
                EACH(S)                                                                                          \
                {                                                                                                \
                    const vector_##S gap = x[k] - other[k * VECTORS_##S + v];                                    \
                    if (kind == UNEQUAL) sum[v] += PICK(S, gap != 0, SPREAD(S, (REAL)1), SPREAD(S, (REAL)0));    \
                    else if (kind == ABSOLUTE) sum[v] += AMOUNT(S, gap);                                         \
                    else if (kind == SQUARE) sum[v] += gap * gap;                                                \
                    else if (kind == POWER) sum[v] += powers_##S(AMOUNT(S, gap), p);                             \
                    else sum[v] = LARGER(S, AMOUNT(S, gap), sum[v]);                                             \
                }                                                                                                \
            if (kind == LARGEST) EACH(S) total[v] = LARGER(S, sum[v], total[v]);                                 \
            else EACH(S) total[v] += sum[v];                                                                     \
        }                                                                                                        \
    }                                                                                                            \
    static WITH inline void distances_##S(const struct distance_job *job, size begin, size end, int kind)        \
    {                                                                                                            \
        const REAL *panels = (const REAL *)job->panels;                                                          \
        for (size i = begin; i < end; i++) {                                                                     \
            const size least = job->triangle ? i + 1 : 0, row = job->triangle ? i * (2 * job->m - i - 3) / 2 - 1 : i * job->m; \
            for (size first = least / LANES_##S * LANES_##S; first < job->m; first += LANES_##S) {               \
                vector_##S total[VECTORS_##S];                                                                   \
                REAL found[LANES_##S], *to = (REAL *)job->out;                                                   \
                distance_##S(total, (const REAL *)job->x + i * job->width,                                       \
                             (const vector_##S *)(panels + first * job->width), job->width, kind, job->p);       \
                memcpy(found, total, sizeof found);                                                              \
                for (size l = first < least ? least - first : 0; l < LANES_##S && first + l < job->m; l++)       \
                    to[row + first + l] = kind == SQUARE ? ROOT(found[l])                                        \
                                          : kind == POWER ? POW(found[l], (REAL)(1 / job->p)) : found[l];        \
            }                                                                                                    \
        }                                                                                                        \
    }                                                                                                            \
    /* What an incoming gradient is multiplied by, for a gap of so much. */                                      \
    static WITH inline vector_##S slope_##S(vector_##S gap, vector_##S far, int kind, double p)                  \
    {                                                                                                            \
        const vector_##S one = SPREAD(S, (REAL)1), zero = SPREAD(S, (REAL)0);                                    \
        if (kind == SQUARE) return gap;                                                                          \
        const vector_##S sign = PICK(S, gap > 0, one, PICK(S, gap < 0, -one, gap));                              \
        if (kind == LARGEST) return sign * PICK(S, AMOUNT(S, gap) == far, one, zero);                            \
        return kind == POWER ? PICK(S, gap == 0, zero, sign * powers_##S(AMOUNT(S, gap), p - 1)) : sign;         \
    }                                                                                                            \
    /* out: panels too; x: the transposed other matrix */                                                        \
    static WITH inline void gradients_##S(const struct distance_job *job, size begin, size end, int kind)        \
    {                                                                                                            \
        for (size item = begin; item < end; item++) {                                                            \
            const size panel = item / job->width, k = item % job->width;                                         \
            const vector_##S *own = (const vector_##S *)job->panels + item * VECTORS_##S;                        \
            const vector_##S *g = (const vector_##S *)job->g + panel * job->n * VECTORS_##S;                     \
            const vector_##S *far = (const vector_##S *)job->far + panel * job->n * VECTORS_##S;                 \
            const REAL *other = (const REAL *)job->x + k * job->n;                                               \
            vector_##S total[VECTORS_##S];                                                                       \
            EACH(S) total[v] = SPREAD(S, (REAL)0);                                                               \
            for (size first = 0; first < job->n; first += PART) {                                                \
                const size last = job->n - first < PART ? job->n : first + PART;                                 \
                vector_##S sum[VECTORS_##S];                                                                     \
                EACH(S) sum[v] = SPREAD(S, (REAL)0);                                                             \
                for (size j = first; j < last; j++)                                                              \
                    EACH(S) sum[v] += g[j * VECTORS_##S + v] * slope_##S(own[v] - other[j],                      \
                        kind == LARGEST ? far[j * VECTORS_##S + v] : own[v], kind, job->p);                      \
                EACH(S) total[v] += sum[v];                                                                      \
            }                                                                                                    \
            memcpy((REAL *)job->out + item * LANES_##S, total, sizeof total);                                    \
        }                                                                                                        \
    }                                                                                                            \
    static WITH void distances_task_##S(void *context, size begin, size end, int chunk)                          \
    {                                                                                                            \
        const struct distance_job *job = context;                                                                \
        (void)chunk;                                                                                             \
        if (job->kind == UNEQUAL) distances_##S(job, begin, end, UNEQUAL);                                       \
        else if (job->kind == ABSOLUTE) distances_##S(job, begin, end, ABSOLUTE);                                \
        else if (job->kind == SQUARE) distances_##S(job, begin, end, SQUARE);                                    \
        else if (job->kind == POWER) distances_##S(job, begin, end, POWER);                                      \
        else distances_##S(job, begin, end, LARGEST);                                                            \
    }                                                                                                            \
    static WITH void gradients_task_##S(void *context, size begin, size end, int chunk)                          \
    {                                                                                                            \
        const struct distance_job *job = context;                                                                \
        (void)chunk;                                                                                             \
        if (job->kind == ABSOLUTE) gradients_##S(job, begin, end, ABSOLUTE);                                     \
        else if (job->kind == SQUARE) gradients_##S(job, begin, end, SQUARE);                                    \
        else if (job->kind == POWER) gradients_##S(job, begin, end, POWER);                                      \
        else gradients_##S(job, begin, end, LARGEST);                                                            \
    }                                                                                                            \
    /* Of the distances of a triangle: x and out are transposed, their rows whole blocks of LANES, of which each is stored where it is \
     * loaded from; before and behind g and far there are LANES numbers more. */                                 \
    static WITH inline void pairs_##S(const struct distance_job *job, size column, int kind)                     \
    {                                                                                                            \
        const size n = job->n, whole = (n + LANES_##S - 1) / LANES_##S * LANES_##S;                              \
        const REAL *x = (const REAL *)job->x + column * whole;                                                   \
        REAL *to = (REAL *)job->out + 2 * column * whole, *own = to + whole, lane[LANES_##S];                    \
        vector_##S place[VECTORS_##S];                                                                           \
        memset(to, 0, whole * sizeof *to);                                                                       \
        for (int l = 0; l < LANES_##S; l++) lane[l] = (REAL)l;                                                   \
        memcpy(place, lane, sizeof lane);                                                                        \
        for (size i = 0; i + 1 < n; i++) {                                                                       \
            const size row = i * (2 * n - i - 3) / 2 - 1;                                                        \
            const REAL *g = (const REAL *)job->g + row, *far = (const REAL *)job->far + row;                     \
            vector_##S sum[VECTORS_##S], above[VECTORS_##S], share[VECTORS_##S];                                 \
            EACH(S) sum[v] = SPREAD(S, (REAL)0);                                                                 \
            for (size first = (i + 1) / LANES_##S * LANES_##S; first < n; first += LANES_##S) {                  \
                const REAL least = (REAL)(i + 1 - first), most = (REAL)(n - first);                              \
                EACH(S) memcpy(above + v, to + first + v * WIDTH_##S, sizeof *above); /* each stays in a register */ \
                EACH(S)                                                                                          \
                {                                                                                                \
                    vector_##S other, incoming, away = SPREAD(S, (REAL)0);                                       \
                    memcpy(&other, x + first + v * WIDTH_##S, sizeof other);                                     \
                    memcpy(&incoming, g + first + v * WIDTH_##S, sizeof incoming);                               \
                    if (kind == LARGEST) memcpy(&away, far + first + v * WIDTH_##S, sizeof away);                \
                    share[v] = incoming * slope_##S(x[i] - other, away, kind, job->p);                           \
                }                                                                                                \
                if (least > 0 || most < LANES_##S)                                                               \
                    EACH(S) share[v] = PICK(S, (place[v] >= least) & (place[v] < most), share[v], SPREAD(S, (REAL)0)); \
                EACH(S) sum[v] += share[v], above[v] -= share[v];                                                \
                EACH(S) memcpy(to + first + v * WIDTH_##S, above + v, sizeof *above);                            \
            }                                                                                                    \
            for (int half = VECTORS_##S / 2; half; half /= 2)                                                    \
                for (int v = 0; v < half; v++) sum[v] += sum[v + half];                                          \
            memcpy(lane, sum, sizeof *sum);                                                                      \
            REAL total = lane[0];                                                                                \
            for (int l = 1; l < WIDTH_##S; l++) total += lane[l];                                                \
            own[i] = total;                                                                                      \
        }                                                                                                        \
        for (size i = 0; i + 1 < n; i++) to[i] += own[i];                                                        \
    }                                                                                                            \
    static WITH void pairs_task_##S(void *context, size begin, size end, int chunk)                              \
    {                                                                                                            \
        const struct distance_job *job = context;                                                                \
        (void)chunk;                                                                                             \
        for (size k = begin; k < end; k++)                                                                       \
            if (job->kind == ABSOLUTE) pairs_##S(job, k, ABSOLUTE);                                              \
            else if (job->kind == SQUARE) pairs_##S(job, k, SQUARE);                                             \
            else if (job->kind == POWER) pairs_##S(job, k, POWER);                                               \
            else pairs_##S(job, k, LARGEST);                                                                     \
    }
/* (rows, width), by strides in numbers, as panels (rows / LANES, width, LANES) with zeros behind the last row */
#define DEFINE_PANELS(REAL, S)                                                                                   \
    static void panels_##S(REAL *to, const REAL *x, size rows, size width, size row, size column)           \
    {                                                                                                            \
        for (size first = 0; first < rows; first += LANES_##S)                                                   \
            for (size k = 0; k < width; k++, to += LANES_##S)                                                    \
                for (int l = 0; l < LANES_##S; l++) to[l] = first + l < rows ? x[(first + l) * row + k * column] : 0; \
    }
DEFINE_DISTANCES(, float, f32, sqrtf, powf)
DEFINE_DISTANCES(, double, f64, sqrt, pow)
DEFINE_PANELS(float, f32)
DEFINE_PANELS(double, f64)
#ifdef WITH_AVX2
DEFINE_DISTANCES(WITH_AVX2, float, wide32, sqrtf, powf)
DEFINE_DISTANCES(WITH_AVX2, double, wide64, sqrt, pow)
#endif
#define TASK(task, type) WIDER((type) == NPY_FLOAT ? task##_wide32 : task##_wide64, (type) == NPY_FLOAT ? task##_f32 : task##_f64)

static size rounded(size rows) { return (rows + LANES_f32 - 1) / LANES_f32 * LANES_f32; }

/* Two stacks of matrices with as many columns, in C order; 0 if they are not. */
static int are_rows(PyArrayObject *x, PyArrayObject *y)
{
    const int ndim = PyArray_CheckExact((PyObject *)x) ? PyArray_NDIM(x) : 0;
    if (ndim < 2 || !is_real((PyObject *)x) || !is_like((PyObject *)y, (PyObject *)x) || PyArray_NDIM(y) != ndim ||
        !PyArray_ISCARRAY_RO(x) || !PyArray_ISCARRAY_RO(y) || PyArray_DIM(x, ndim - 1) != PyArray_DIM(y, ndim - 1))
        return 0;
    for (int k = 0; k < ndim - 2; k++)
        if (PyArray_DIM(x, k) != PyArray_DIM(y, k)) return 0;
    return 1;
}

static double costs(const struct distance_job *job) { return (job->kind == POWER ? 8 : 1) * 0.1 * (double)job->width; }

/* distances(x, y, kind, p = 1): of each row of x to each row of y, in stacks of matrices; see `kind` above; p: of POWER */
static PyObject *distances(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3 && count != 4) return PyErr_Format(PyExc_TypeError, "expected 3 or 4 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0], *y = (PyArrayObject *)args[1];
    if (!are_rows(x, y)) NOT_HANDLED();
    const int ndim = PyArray_NDIM(x);
    struct distance_job job = {.n = PyArray_DIM(x, ndim - 2), .m = PyArray_DIM(y, ndim - 2), .width = PyArray_DIM(x, ndim - 1),
                               .type = PyArray_TYPE(x), .kind = (int)PyLong_AsLong(args[2]),
                               .p = count == 4 ? PyFloat_AsDouble(args[3]) : 1};
    if (PyErr_Occurred()) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    size stack = 1;
    for (int k = 0; k < ndim - 2; k++) stack *= shape[k] = PyArray_DIM(x, k);
    shape[ndim - 2] = job.n, shape[ndim - 1] = job.m;
    const size bytes = PyArray_ITEMSIZE(x);
    PyArrayObject *out = new_like(x, ndim, shape), *room = out ? scratch(rounded(job.m) * job.width, bytes) : NULL;
    if (!room) {
        Py_XDECREF(out);
        return NULL;
    }
    job.panels = aligned(room);
    const double cost = costs(&job) * (double)job.m;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)(cost * job.n * stack));
    for (size s = 0; s < stack && PyArray_SIZE(out); s++) {
        const char *rows = PyArray_BYTES(y) + s * job.m * job.width * bytes;
        job.x = PyArray_BYTES(x) + s * job.n * job.width * bytes, job.out = PyArray_BYTES(out) + s * job.n * job.m * bytes;
        if (job.type == NPY_FLOAT) panels_f32((float *)job.panels, (const float *)rows, job.m, job.width, job.width, 1);
        else panels_f64((double *)job.panels, (const double *)rows, job.m, job.width, job.width, 1);
        pool_run(TASK(distances_task, job.type), &job, job.n, pool_chunks(job.n, cost));
    }
    NPY_END_THREADS
    Py_DECREF(room);
    return (PyObject *)out;
}

/* distances_grad(x, y, g, far, kind, turned, p = 1): the gradient in x, of the distances `far` of x to y (turned: of y to x) and their
 * incoming gradient, which for roots is divided by their derivative's power of them already */
static PyObject *distances_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 6 && count != 7) return PyErr_Format(PyExc_TypeError, "expected 6 or 7 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0], *y = (PyArrayObject *)args[1], *g = (PyArrayObject *)args[2],
                  *far = (PyArrayObject *)args[3];
    if (!are_rows(x, y) || !is_like(args[2], args[0]) || !is_like(args[3], args[0]) || !PyArray_ISCARRAY_RO(g) || !PyArray_ISCARRAY_RO(far))
        NOT_HANDLED();
    const int ndim = PyArray_NDIM(x), turned = PyObject_IsTrue(args[5]);
    const size rows = PyArray_DIM(x, ndim - 2), n = PyArray_DIM(y, ndim - 2), width = PyArray_DIM(x, ndim - 1), whole = rounded(rows);
    struct distance_job job = {.n = n, .m = rows, .width = width, .type = PyArray_TYPE(x), .kind = (int)PyLong_AsLong(args[4]),
                               .p = count == 7 ? PyFloat_AsDouble(args[6]) : 1};
    if (PyErr_Occurred()) return NULL;
    size stack = 1;
    for (int k = 0; k < ndim - 2; k++) stack *= PyArray_DIM(x, k);
    if (PyArray_SIZE(g) != stack * rows * n || PyArray_SIZE(far) != PyArray_SIZE(g)) NOT_HANDLED();
    PyArrayObject *out = new_like(x, ndim, PyArray_DIMS(x));
    const size bytes = PyArray_ITEMSIZE(x);
    PyArrayObject *room = out ? scratch(3 * whole * width + n * width + 2 * whole * n, bytes) : NULL;
    if (!room) {
        Py_XDECREF(out);
        return NULL;
    }
    const size lanes = job.type == NPY_FLOAT ? LANES_f32 : LANES_f64;
    const double cost = (job.kind == POWER ? 8 : 1) * 0.15 * lanes * (double)n;
    const size items = whole / lanes * width;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)(cost * items * stack));
    for (size s = 0; s < stack && PyArray_SIZE(out); s++) {
#define RUN(REAL, S)                                                                                            \
    {                                                                                                           \
        REAL *own = (REAL *)aligned(room), *result = own + whole * width, *incoming = result + whole * width,   \
             *away = incoming + whole * n, *other = away + whole * n;                                           \
        const REAL *from = (const REAL *)PyArray_DATA(y) + s * n * width;                                       \
        const size row = turned ? 1 : n, column = turned ? rows : 1;                                            \
        panels_##S(own, (const REAL *)PyArray_DATA(x) + s * rows * width, rows, width, width, 1);               \
        panels_##S(incoming, (const REAL *)PyArray_DATA(g) + s * rows * n, rows, n, row, column);               \
        if (job.kind == LARGEST) panels_##S(away, (const REAL *)PyArray_DATA(far) + s * rows * n, rows, n, row, column); \
        for (size j = 0; j < n; j++)                                                                            \
            for (size k = 0; k < width; k++) other[k * n + j] = from[j * width + k];                            \
        job.x = (char *)other, job.panels = (char *)own, job.out = (char *)result, job.g = (char *)incoming, job.far = (char *)away; \
        pool_run(TASK(gradients_task, job.type), &job, items, pool_chunks(items, cost));                                    \
        REAL *to = (REAL *)PyArray_DATA(out) + s * rows * width;                                                \
        for (size i = 0; i < rows; i++)                                                                         \
            for (size k = 0; k < width; k++) to[i * width + k] = result[(i / LANES_##S * width + k) * LANES_##S + i % LANES_##S]; \
    }
        if (job.type == NPY_FLOAT) RUN(float, f32) else RUN(double, f64)
#undef RUN
    }
    NPY_END_THREADS
    Py_DECREF(room);
    return (PyObject *)out;
}

static size pairs_of(size n) { return n * (n - 1) / 2; }

/* pair_distances(x, kind, p): of each row of x to those after it, in stacks of matrices */
static PyObject *pair_distances(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0];
    if (!are_rows(x, x)) NOT_HANDLED();
    const int ndim = PyArray_NDIM(x);
    const size n = PyArray_DIM(x, ndim - 2), pairs = pairs_of(n), bytes = PyArray_ITEMSIZE(x);
    struct distance_job job = {.n = n, .m = n, .width = PyArray_DIM(x, ndim - 1), .type = PyArray_TYPE(x), .triangle = 1,
                               .kind = (int)PyLong_AsLong(args[1]), .p = PyFloat_AsDouble(args[2])};
    if (PyErr_Occurred()) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    size stack = 1;
    for (int k = 0; k < ndim - 2; k++) stack *= shape[k] = PyArray_DIM(x, k);
    shape[ndim - 2] = pairs;
    PyArrayObject *out = new_like(x, ndim - 1, shape), *room = out ? scratch(rounded(n) * job.width, bytes) : NULL;
    if (!room) {
        Py_XDECREF(out);
        return NULL;
    }
    job.panels = aligned(room);
    const double cost = costs(&job) * 0.5 * (double)n;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)(cost * n * stack));
    for (size s = 0; s < stack && PyArray_SIZE(out); s++) {
        job.x = PyArray_BYTES(x) + s * n * job.width * bytes, job.out = PyArray_BYTES(out) + s * pairs * bytes;
        if (job.type == NPY_FLOAT) panels_f32((float *)job.panels, (const float *)job.x, n, job.width, job.width, 1);
        else panels_f64((double *)job.panels, (const double *)job.x, n, job.width, job.width, 1);
        pool_run(TASK(distances_task, job.type), &job, n, pool_chunks(n, cost));
    }
    NPY_END_THREADS
    Py_DECREF(room);
    return (PyObject *)out;
}

/* pair_distances_grad(x, g, far, kind, p): the gradient in x of the distances `far`; g as for distances_grad */
static PyObject *pair_distances_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0], *g = (PyArrayObject *)args[1], *far = (PyArrayObject *)args[2];
    if (!are_rows(x, x) || !is_like(args[1], args[0]) || !is_like(args[2], args[0]) || !PyArray_ISCARRAY_RO(g) || !PyArray_ISCARRAY_RO(far))
        NOT_HANDLED();
    const int ndim = PyArray_NDIM(x);
    const size n = PyArray_DIM(x, ndim - 2), width = PyArray_DIM(x, ndim - 1), pairs = pairs_of(n), bytes = PyArray_ITEMSIZE(x);
    struct distance_job job = {.n = n, .width = width, .type = PyArray_TYPE(x), .kind = (int)PyLong_AsLong(args[3]),
                               .p = PyFloat_AsDouble(args[4])};
    if (PyErr_Occurred()) return NULL;
    size stack = 1;
    for (int k = 0; k < ndim - 2; k++) stack *= PyArray_DIM(x, k);
    if (PyArray_SIZE(g) != stack * pairs || PyArray_SIZE(far) != PyArray_SIZE(g)) NOT_HANDLED();
    PyArrayObject *out = new_like(x, ndim, PyArray_DIMS(x)), *room = NULL;
    const size whole = rounded(n), side = LANES_f32;
    if (out) room = scratch(3 * whole * width + 2 * (pairs + 2 * side), bytes);
    if (!room) {
        Py_XDECREF(out);
        return NULL;
    }
    const double cost = (job.kind == POWER ? 8 : 1) * 0.2 * (double)pairs;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)(cost * width * stack));
    for (size s = 0; s < stack && PyArray_SIZE(out); s++) {
#define RUN(REAL, S)                                                                                            \
    {                                                                                                           \
        const REAL *from = (const REAL *)PyArray_DATA(x) + s * n * width;                                       \
        const size whole = (n + LANES_##S - 1) / LANES_##S * LANES_##S;                                         \
        REAL *turned = (REAL *)aligned(room), *result = turned + whole * width, *to = (REAL *)PyArray_DATA(out) + s * n * width; \
        REAL *incoming = result + 2 * whole * width + side, *away = incoming + pairs + 2 * side;                    \
        for (size k = 0; k < width; k++)                                                                        \
            for (size i = 0; i < whole; i++) turned[k * whole + i] = i < n ? from[i * width + k] : 0;           \
        memset(incoming - side, 0, 2 * (pairs + 2 * side) * sizeof(REAL));                                      \
        memcpy(incoming, (const REAL *)PyArray_DATA(g) + s * pairs, pairs * sizeof(REAL));                      \
        if (job.kind == LARGEST) memcpy(away, (const REAL *)PyArray_DATA(far) + s * pairs, pairs * sizeof(REAL)); \
        job.x = (char *)turned, job.out = (char *)result, job.g = (char *)incoming, job.far = (char *)away;     \
        pool_run(TASK(pairs_task, job.type), &job, width, pool_chunks(width, cost));                            \
        for (size i = 0; i < n; i++)                                                                            \
            for (size k = 0; k < width; k++) to[i * width + k] = result[2 * k * whole + i];                         \
    }
        if (job.type == NPY_FLOAT) RUN(float, f32) else RUN(double, f64)
#undef RUN
    }
    NPY_END_THREADS
    Py_DECREF(room);
    return (PyObject *)out;
}

#define DEFINE_CROSS(REAL, S)                                                                                   \
    static void cross_##S(const REAL *x, const REAL *y, REAL *to, size rows, size apart)                        \
    {                                                                                                           \
        for (size row = 0; row < rows; row++, x += 3 * apart, y += 3 * apart, to += 3 * apart)                  \
            for (size k = 0; k < apart; k++) {                                                                  \
                const REAL a = x[k], b = x[k + apart], c = x[k + 2 * apart];                                    \
                const REAL d = y[k], e = y[k + apart], f = y[k + 2 * apart];                                    \
                to[k] = b * f - c * e, to[k + apart] = c * d - a * f, to[k + 2 * apart] = a * e - b * d;        \
            }                                                                                                   \
    }
DEFINE_CROSS(float, f32)
DEFINE_CROSS(double, f64)

/* cross(x, y, axis) -> the cross products along the axis, of length 3 */
PyObject *cross(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0], *y = (PyArrayObject *)args[1];
    const long axis = PyLong_AsLong(args[2]);
    if (axis == -1 && PyErr_Occurred()) return NULL;
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1]) || PyArray_TYPE(x) != PyArray_TYPE(y) || !PyArray_SAMESHAPE(x, y))
        NOT_HANDLED();
    if (axis < 0 || axis >= PyArray_NDIM(x) || PyArray_DIM(x, axis) != 3 || !PyArray_ISCARRAY_RO(x) || !PyArray_ISCARRAY_RO(y)) NOT_HANDLED();
    if (PyArray_TYPE(x) != NPY_FLOAT && PyArray_TYPE(x) != NPY_DOUBLE) NOT_HANDLED();
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), PyArray_TYPE(x));
    if (!out || !PyArray_SIZE(out)) return (PyObject *)out;
    size apart = 1;
    for (int d = PyArray_NDIM(x) - 1; d > axis; d--) apart *= PyArray_DIM(x, d);
    const size rows = PyArray_SIZE(x) / (3 * apart);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(x))
    if (PyArray_TYPE(x) == NPY_FLOAT) cross_f32(PyArray_DATA(x), PyArray_DATA(y), PyArray_DATA(out), rows, apart);
    else cross_f64(PyArray_DATA(x), PyArray_DATA(y), PyArray_DATA(out), rows, apart);
    NPY_END_THREADS
    return (PyObject *)out;
}

/* Rows times a factor and, behind them, their squares and a one; and the roots of what products of such rows give. */
#define DEFINE_SQUARES(REAL, S, ROOT)                                                                           \
    static void beside_squares_##S(const REAL *x, REAL *to, size rows, size width, REAL factor, int first)      \
    {                                                                                                           \
        for (size row = 0; row < rows; row++, x += width, to += width + 2) {                                    \
            REAL total = 0;                                                                                     \
            for (size k = 0; k < width;) {                                                                      \
                const size end = width - k < PART ? width : k + PART;                                           \
                REAL sum = 0;                                                                                   \
                for (; k < end; k++) sum += x[k] * x[k], to[k] = factor * x[k];                                 \
                total += sum;                                                                                   \
            }                                                                                                   \
            to[width + !first] = total, to[width + first] = 1;                                                  \
        }                                                                                                       \
    }                                                                                                           \
    static void roots_##S(REAL *x, size n)                                                                      \
    {                                                                                                           \
        for (size i = 0; i < n; i++) x[i] = ROOT(x[i] < 0 ? 0 : x[i]);                                          \
    }
DEFINE_SQUARES(float, f32, sqrtf)
DEFINE_SQUARES(double, f64, sqrt)

/* beside_squares(x, factor, first) -> rows of x times the factor, then the sum of their squares and a one, or these the other way round */
static PyObject *beside_squares(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0];
    if (!PyArray_CheckExact(args[0]) || !is_real(args[0]) || !PyArray_NDIM(x) || !PyArray_ISCARRAY_RO(x)) NOT_HANDLED();
    const double factor = PyFloat_AsDouble(args[1]);
    if (factor == -1 && PyErr_Occurred()) return NULL;
    const int ndim = PyArray_NDIM(x), first = args[2] == Py_True;
    const size width = PyArray_DIM(x, ndim - 1);
    npy_intp shape[NPY_MAXDIMS];
    size rows = 1;
    for (int k = 0; k < ndim - 1; k++) rows *= shape[k] = PyArray_DIM(x, k);
    shape[ndim - 1] = width + 2;
    PyArrayObject *out = new_like(x, ndim, shape);
    if (!out) return NULL;
    if (PyArray_TYPE(x) == NPY_FLOAT) beside_squares_f32(PyArray_DATA(x), PyArray_DATA(out), rows, width, (float)factor, first);
    else beside_squares_f64(PyArray_DATA(x), PyArray_DATA(out), rows, width, factor, first);
    return (PyObject *)out;
}

/* roots(x): x, whose numbers are replaced by their roots, those below 0 by zeros */
static PyObject *roots(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 1) return PyErr_Format(PyExc_TypeError, "expected 1 argument");
    PyArrayObject *x = (PyArrayObject *)args[0];
    if (!PyArray_CheckExact(args[0]) || !is_real(args[0]) || !PyArray_ISCARRAY(x)) NOT_HANDLED();
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(x))
    if (PyArray_TYPE(x) == NPY_FLOAT) roots_f32(PyArray_DATA(x), PyArray_SIZE(x));
    else roots_f64(PyArray_DATA(x), PyArray_SIZE(x));
    NPY_END_THREADS
    return Py_NewRef(args[0]);
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef distances_methods[] = {METHOD(distances), METHOD(distances_grad), METHOD(pair_distances), METHOD(pair_distances_grad),
                                   METHOD(cross), METHOD(beside_squares), METHOD(roots), {NULL, NULL, 0, NULL}};
