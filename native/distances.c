/* Distances of the rows of one matrix to those of another, and their gradients: some rows at a time, whose numbers lie side by side,
 * against one number after another. */
#include "wengert.h"

#include <math.h>
#include <string.h>

#include "pool.h"
#include "sixteen.h"

enum { VECTORS = 4, PART = 32 };                /* sums are added up by parts: they err less */
enum { UNEQUAL, ABSOLUTE, SQUARE, LARGEST }; /* how many differ; the sum of amounts; the root of the sum of squares; the largest */

struct distance_job {
    const char *x, *panels, *g, *far; /* g, far: panels of the incoming gradient and of the distances */
    char *out;
    size n, m, width; /* rows of x, rows of the panels, numbers of a row */
    int type, kind;
};

#define EACH for (int v = 0; v < VECTORS; v++)

#define DEFINE_DISTANCES(REAL, S, ROOT)                                                                          \
    enum { LANES_##S = VECTORS * sizeof(vector_##S) / sizeof(REAL) };                                            \
    /* (rows, width), by strides in numbers, as panels (rows / LANES, width, LANES) with zeros behind the last row */ \
    static void panels_##S(REAL *to, const REAL *x, size rows, size width, size row, size column)                \
    {                                                                                                            \
        for (size first = 0; first < rows; first += LANES_##S)                                                   \
            for (size k = 0; k < width; k++, to += LANES_##S)                                                    \
                for (int l = 0; l < LANES_##S; l++) to[l] = first + l < rows ? x[(first + l) * row + k * column] : 0; \
    }                                                                                                            \
    static inline vector_##S amount_##S(vector_##S x) { return PICK(S, x < 0, -x, x); }                          \
    static inline vector_##S larger_##S(vector_##S a, vector_##S b) { return PICK(S, (a > b) | (a != a), a, b); } \
    static inline void distance_##S(vector_##S *total, const REAL *x, const vector_##S *other, size width, int kind) \
    {                                                                                                            \
        EACH total[v] = SPREAD(S, (REAL)0);                                                                      \
        for (size first = 0; first < width; first += PART) {                                                     \
            const size end = width - first < PART ? width : first + PART;                                        \
            vector_##S sum[VECTORS];                                                                             \
            EACH sum[v] = SPREAD(S, (REAL)0);                                                                    \
            for (size k = first; k < end; k++)                                                                   \
                EACH                                                                                             \
                {                                                                                                \
                    const vector_##S gap = x[k] - other[k * VECTORS + v];                                        \
                    if (kind == UNEQUAL) sum[v] += PICK(S, gap != 0, SPREAD(S, (REAL)1), SPREAD(S, (REAL)0));    \
                    else if (kind == ABSOLUTE) sum[v] += amount_##S(gap);                                        \
                    else if (kind == SQUARE) sum[v] += gap * gap;                                                \
                    else sum[v] = larger_##S(amount_##S(gap), sum[v]);                                           \
                }                                                                                                \
            if (kind == LARGEST) EACH total[v] = larger_##S(sum[v], total[v]);                                   \
            else EACH total[v] += sum[v];                                                                        \
        }                                                                                                        \
    }                                                                                                            \
    static inline void distances_##S(const struct distance_job *job, size begin, size end, int kind)             \
    {                                                                                                            \
        const REAL *panels = (const REAL *)job->panels;                                                          \
        for (size i = begin; i < end; i++)                                                                       \
            for (size first = 0; first < job->m; first += LANES_##S) {                                           \
                vector_##S total[VECTORS];                                                                       \
                REAL found[LANES_##S], *to = (REAL *)job->out + i * job->m + first;                              \
                distance_##S(total, (const REAL *)job->x + i * job->width,                                       \
                             (const vector_##S *)(panels + first * job->width), job->width, kind);               \
                memcpy(found, total, sizeof found);                                                              \
                for (int l = 0; l < LANES_##S && first + l < job->m; l++) to[l] = kind == SQUARE ? ROOT(found[l]) : found[l]; \
            }                                                                                                    \
    }                                                                                                            \
    /* out: panels too; x: the transposed other matrix */                                                        \
    static inline void gradients_##S(const struct distance_job *job, size begin, size end, int kind)             \
    {                                                                                                            \
        const vector_##S one = SPREAD(S, (REAL)1), zero = SPREAD(S, (REAL)0);                                    \
        for (size item = begin; item < end; item++) {                                                            \
            const size panel = item / job->width, k = item % job->width;                                         \
            const vector_##S *own = (const vector_##S *)job->panels + item * VECTORS;                            \
            const vector_##S *g = (const vector_##S *)job->g + panel * job->n * VECTORS;                         \
            const vector_##S *far = (const vector_##S *)job->far + panel * job->n * VECTORS;                     \
            const REAL *other = (const REAL *)job->x + k * job->n;                                               \
            vector_##S total[VECTORS];                                                                           \
            EACH total[v] = zero;                                                                                \
            for (size first = 0; first < job->n; first += PART) {                                                \
                const size last = job->n - first < PART ? job->n : first + PART;                                 \
                vector_##S sum[VECTORS];                                                                         \
                EACH sum[v] = zero;                                                                              \
                for (size j = first; j < last; j++)                                                              \
                    EACH                                                                                         \
                    {                                                                                            \
                        const vector_##S gap = own[v] - other[j];                                                \
                        vector_##S share = kind == SQUARE ? gap : PICK(S, gap > 0, one, PICK(S, gap < 0, -one, gap)); \
                        if (kind == LARGEST) share *= PICK(S, amount_##S(gap) == far[j * VECTORS + v], one, zero); \
                        sum[v] += share * g[j * VECTORS + v];                                                    \
                    }                                                                                            \
                EACH total[v] += sum[v];                                                                         \
            }                                                                                                    \
            memcpy((REAL *)job->out + item * LANES_##S, total, sizeof total);                                    \
        }                                                                                                        \
    }                                                                                                            \
    static void distances_task_##S(void *context, size begin, size end, int chunk)                               \
    {                                                                                                            \
        const struct distance_job *job = context;                                                                \
        (void)chunk;                                                                                             \
        if (job->kind == UNEQUAL) distances_##S(job, begin, end, UNEQUAL);                                       \
        else if (job->kind == ABSOLUTE) distances_##S(job, begin, end, ABSOLUTE);                                \
        else if (job->kind == SQUARE) distances_##S(job, begin, end, SQUARE);                                    \
        else distances_##S(job, begin, end, LARGEST);                                                            \
    }                                                                                                            \
    static void gradients_task_##S(void *context, size begin, size end, int chunk)                               \
    {                                                                                                            \
        const struct distance_job *job = context;                                                                \
        (void)chunk;                                                                                             \
        if (job->kind == ABSOLUTE) gradients_##S(job, begin, end, ABSOLUTE);                                     \
        else if (job->kind == SQUARE) gradients_##S(job, begin, end, SQUARE);                                    \
        else gradients_##S(job, begin, end, LARGEST);                                                            \
    }
DEFINE_DISTANCES(float, f32, sqrtf)
DEFINE_DISTANCES(double, f64, sqrt)

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

/* distances(x, y, kind): of each row of x to each row of y, in stacks of matrices; see `kind` above */
static PyObject *distances(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0], *y = (PyArrayObject *)args[1];
    if (!are_rows(x, y)) NOT_HANDLED();
    const int ndim = PyArray_NDIM(x);
    struct distance_job job = {.n = PyArray_DIM(x, ndim - 2), .m = PyArray_DIM(y, ndim - 2), .width = PyArray_DIM(x, ndim - 1),
                               .type = PyArray_TYPE(x), .kind = (int)PyLong_AsLong(args[2])};
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
    const double cost = 0.1 * (double)job.m * (double)job.width;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)(cost * job.n * stack));
    for (size s = 0; s < stack && PyArray_SIZE(out); s++) {
        const char *rows = PyArray_BYTES(y) + s * job.m * job.width * bytes;
        job.x = PyArray_BYTES(x) + s * job.n * job.width * bytes, job.out = PyArray_BYTES(out) + s * job.n * job.m * bytes;
        if (job.type == NPY_FLOAT) panels_f32((float *)job.panels, (const float *)rows, job.m, job.width, job.width, 1);
        else panels_f64((double *)job.panels, (const double *)rows, job.m, job.width, job.width, 1);
        pool_run(job.type == NPY_FLOAT ? distances_task_f32 : distances_task_f64, &job, job.n, pool_chunks(job.n, cost));
    }
    NPY_END_THREADS
    Py_DECREF(room);
    return (PyObject *)out;
}

/* distances_grad(x, y, g, far, kind, turned): the gradient in x, of the distances `far` of x to y (turned: of y to x) and their incoming
 * gradient, which for the roots of squares is divided by them already */
static PyObject *distances_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 6) return PyErr_Format(PyExc_TypeError, "expected 6 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0], *y = (PyArrayObject *)args[1], *g = (PyArrayObject *)args[2],
                  *far = (PyArrayObject *)args[3];
    if (!are_rows(x, y) || !is_like(args[2], args[0]) || !is_like(args[3], args[0]) || !PyArray_ISCARRAY_RO(g) || !PyArray_ISCARRAY_RO(far))
        NOT_HANDLED();
    const int ndim = PyArray_NDIM(x), turned = PyObject_IsTrue(args[5]);
    const size rows = PyArray_DIM(x, ndim - 2), n = PyArray_DIM(y, ndim - 2), width = PyArray_DIM(x, ndim - 1), whole = rounded(rows);
    struct distance_job job = {.n = n, .m = rows, .width = width, .type = PyArray_TYPE(x), .kind = (int)PyLong_AsLong(args[4])};
    if (PyErr_Occurred()) return NULL;
    size stack = 1;
    for (int k = 0; k < ndim - 2; k++) stack *= PyArray_DIM(x, k);
    if (PyArray_SIZE(g) != stack * rows * n || PyArray_SIZE(far) != PyArray_SIZE(g)) NOT_HANDLED();
    PyArrayObject *out = new_like(x, ndim, PyArray_DIMS(x));
    const size bytes = PyArray_ITEMSIZE(x);
    PyArrayObject *room = out ? scratch(2 * whole * width + n * width + 2 * whole * n, bytes) : NULL;
    if (!room) {
        Py_XDECREF(out);
        return NULL;
    }
    const size lanes = job.type == NPY_FLOAT ? LANES_f32 : LANES_f64;
    const double cost = 0.15 * lanes * (double)n;
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
        pool_run(gradients_task_##S, &job, items, pool_chunks(items, cost));                                    \
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
static PyObject *cross(PyObject *module, PyObject *const *args, Py_ssize_t count)
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
PyMethodDef distances_methods[] = {METHOD(distances), METHOD(distances_grad), METHOD(cross), METHOD(beside_squares), METHOD(roots),
                                   {NULL, NULL, 0, NULL}};
