/* Softmax, log-softmax, layer and RMS normalisation, and their gradients. */
#include "wengert.h"

#include "half.h"
#include "pool.h"

/* From this many columns on, an axis that is not the last one is worked on down the columns; and blocks of fewer columns, up to so many
 * numbers, are turned into rows on the stack. */
enum { ENOUGH = 16, TURNED = 1024 };

enum row_kernel { SOFTMAX, SOFTMAX_GRAD, LOG_SOFTMAX, LOG_SOFTMAX_GRAD };
static const double row_cost[] = {0.5, 0.2, 0.6, 0.5};
/* And of a row, however short. */
static const double SHORT_ROW = 6, SHORT_NORM = 20;

struct softmax_job {
    enum row_kernel kind;
    int type;
    const char *a, *b; /* b: the second input of the gradients */
    char *out;
    size n, inner;
    int narrow; /* numbers of 16 bits: as narrow_kind has it */
    char *room; /* for these: of each chunk, what block_room says */
};

/* Numbers of 16 bits are computed in float32, by blocks of rows that stay in the cache. */
static size block_rows(size n) { return n < 2048 ? 2048 / (n ? n : 1) : 1; }
static size block_size(size n) { return block_rows(n) * n; }
static void widened(float *to, const char *from, size n, int narrow)
{
    (narrow == 2 ? kernels->widen_brain : kernels->widen_half)(to, (const uint16_t *)from, n);
}
static void narrowed(char *to, const float *from, size n, int narrow)
{
    (narrow == 2 ? kernels->narrow_brain : kernels->narrow_half)((uint16_t *)to, from, n);
}

static void softmax_rows(const struct softmax_job *job, char *out, const char *a, const char *b, size rows)
{
#define RUN(SUFFIX, REAL)                                                                                   \
    const struct kernels *const of = row_kernels(job->n, sizeof(REAL));                                     \
    switch (job->kind) {                                                                                    \
    case SOFTMAX: of->softmax_##SUFFIX((REAL *)out, (const REAL *)a, rows, job->n); break;                  \
    case LOG_SOFTMAX: of->log_softmax_##SUFFIX((REAL *)out, (const REAL *)a, rows, job->n); break;          \
    case SOFTMAX_GRAD:                                                                                      \
        of->softmax_grad_##SUFFIX((REAL *)out, (const REAL *)a, (const REAL *)b, rows, job->n);             \
        break;                                                                                              \
    case LOG_SOFTMAX_GRAD:                                                                                  \
        of->log_softmax_grad_##SUFFIX((REAL *)out, (const REAL *)a, (const REAL *)b, rows, job->n);         \
        break;                                                                                              \
    }
    if (job->type == NPY_FLOAT) { RUN(f32, float) } else { RUN(f64, double) }
#undef RUN
}

static void work_on_rows(void *context, size begin, size end, int chunk)
{
    const struct softmax_job *job = context;
    const size step = job->n * (job->type == NPY_FLOAT ? sizeof(float) : sizeof(double));
    (void)chunk;
    softmax_rows(job, job->out + begin * step, job->a + begin * step, job->b ? job->b + begin * step : NULL, end - begin);
}

static float rounded(float x, int narrow)
{
    return narrow == 2 ? float_of_brain(brain_of_float(x)) : float_of_half(half_of_float(x));
}

/* A row of log_softmax of 16 bits, where the sum and its logarithm are rounded, too: `out` has them unrounded, and is the logarithm of the
 * sum below zero where `x` is largest. */
static void log_softmax_rounded(float *out, const float *x, size n, int narrow)
{
    float top, least;
    kernels->fold_largest_f32(&top, x, 1, n);
    kernels->fold_largest_f32(&least, out, 1, n);
    const float shift = rounded(logf(rounded(expf(-least), narrow)), narrow);
    for (size i = 0; i < n; i++) out[i] = (x[i] - top) - shift;
}

static void work_on_narrow_rows(void *context, size begin, size end, int chunk)
{
    const struct softmax_job *job = context;
    const size block = block_rows(job->n);
    float *out = (float *)job->room + 3 * block_size(job->n) * chunk, *a = out + block_size(job->n), *b = a + block_size(job->n);
    for (size r = begin; r < end; r += block) {
        const size rows = end - r < block ? end - r : block, at = 2 * r * job->n;
        widened(a, job->a + at, rows * job->n, job->narrow);
        if (job->b) widened(b, job->b + at, rows * job->n, job->narrow);
        softmax_rows(job, (char *)out, (const char *)a, (const char *)b, rows);
        for (size k = 0; k < rows && job->kind == LOG_SOFTMAX; k++) log_softmax_rounded(out + k * job->n, a + k * job->n, job->n, job->narrow);
        narrowed(job->out + at, out, rows * job->n, job->narrow);
    }
}

/* One item is a tile of up to COLUMNS columns of one outer block. */
static void work_on_columns(void *context, size begin, size end, int chunk)
{
    const struct softmax_job *job = context;
    const size width = job->type == NPY_FLOAT ? sizeof(float) : sizeof(double);
    const size tiles = (job->inner + COLUMNS - 1) / COLUMNS;
    (void)chunk;
    for (size item = begin; item < end; item++) {
        const size first = item % tiles * COLUMNS;
        const size count = job->inner - first < COLUMNS ? job->inner - first : COLUMNS;
        const size at = (item / tiles * job->n * job->inner + first) * width;
#define RUN(SUFFIX, REAL)                                                                                        \
    {                                                                                                            \
        REAL *out = (REAL *)(job->out + at);                                                                     \
        const REAL *a = (const REAL *)(job->a + at), *b = job->b ? (const REAL *)(job->b + at) : NULL;           \
        switch (job->kind) {                                                                                     \
        case SOFTMAX: kernels->softmax_columns_##SUFFIX(out, a, job->n, job->inner, count); break;               \
        case LOG_SOFTMAX: kernels->log_softmax_columns_##SUFFIX(out, a, job->n, job->inner, count); break;       \
        case SOFTMAX_GRAD: kernels->softmax_grad_columns_##SUFFIX(out, a, b, job->n, job->inner, count); break;  \
        case LOG_SOFTMAX_GRAD:                                                                                   \
            kernels->log_softmax_grad_columns_##SUFFIX(out, a, b, job->n, job->inner, count);                    \
            break;                                                                                               \
        }                                                                                                        \
    }
        if (job->type == NPY_FLOAT) RUN(f32, float) else RUN(f64, double)
#undef RUN
    }
}

#define TURN(REAL)                                                                                               \
    for (size i = 0; i < rows; i++)                                                                              \
        for (size k = 0; k < columns; k++) ((REAL *)to)[k * rows + i] = ((const REAL *)from)[i * columns + k];

static void turn(char *to, const char *from, size rows, size columns, int type)
{
    if (type == NPY_FLOAT) TURN(float) else TURN(double)
}

/* One item is a block of few columns. */
static void work_on_turned(void *context, size begin, size end, int chunk)
{
    const struct softmax_job *job = context;
    const size block = job->n * job->inner, step = block * (job->type == NPY_FLOAT ? sizeof(float) : sizeof(double));
    double out[TURNED], a[TURNED], b[TURNED];
    (void)chunk;
    for (size item = begin; item < end; item++) {
        turn((char *)a, job->a + item * step, job->n, job->inner, job->type);
        if (job->b) turn((char *)b, job->b + item * step, job->n, job->inner, job->type);
        softmax_rows(job, (char *)out, (const char *)a, (const char *)b, job->inner);
        turn(job->out + item * step, (const char *)out, job->inner, job->n, job->type);
    }
}

static PyObject *along_axis(enum row_kernel kind, PyObject *const *args, Py_ssize_t count);

/* The same with the axis moved to the end; a view of the result with the axis back where it was. */
static PyObject *moved(enum row_kernel kind, PyObject *const *args, int inputs, int axis)
{
    const int last = PyArray_NDIM((PyArrayObject *)args[0]) - 1;
    PyObject *given[3] = {NULL}, *rows = NULL, *view = NULL, *out = NULL;
    for (int k = 0; k < inputs; k++)
        if (!(given[k] = PyArray_SwapAxes((PyArrayObject *)args[k], axis, last))) goto done;
    if (!(given[inputs] = PyLong_FromLong(last)) || !(rows = along_axis(kind, given, inputs + 1))) goto done;
    if ((view = PyArray_SwapAxes((PyArrayObject *)rows, axis, last))) out = (PyObject *)contiguous(view);
done:
    for (int k = 0; k <= inputs; k++) Py_XDECREF(given[k]);
    Py_XDECREF(rows);
    Py_XDECREF(view);
    return out;
}

static PyObject *along_axis(enum row_kernel kind, PyObject *const *args, Py_ssize_t count)
{
    const int inputs = kind == SOFTMAX_GRAD || kind == LOG_SOFTMAX_GRAD ? 2 : 1;
    if (count != inputs + 1) return PyErr_Format(PyExc_TypeError, "expected %d arguments", inputs + 1);
    const int narrow = narrow_kind(args[0]);
    for (int k = 0; k < inputs; k++)
        if (narrow ? narrow_kind(args[k]) != narrow : !is_like(args[k], args[0])) NOT_HANDLED();
    const int ndim = PyArray_NDIM((PyArrayObject *)args[0]);
    long axis = PyLong_AsLong(args[inputs]);
    if (axis == -1 && PyErr_Occurred()) return NULL;
    if (axis < 0) axis += ndim;
    if (ndim == 0 || axis < 0 || axis >= ndim ||
        (inputs == 2 && !PyArray_SAMESHAPE((PyArrayObject *)args[0], (PyArrayObject *)args[1])))
        NOT_HANDLED();

    PyArrayObject *a = contiguous(args[0]), *b = inputs == 2 ? contiguous(args[1]) : NULL, *out = NULL, *room = NULL;
    if (!a || (inputs == 2 && !b) || !(out = new_like(a, ndim, PyArray_DIMS(a)))) goto fail;
    if (PyArray_SIZE(a)) {
        struct softmax_job job = {kind, narrow ? NPY_FLOAT : PyArray_TYPE(a), PyArray_BYTES(a), b ? PyArray_BYTES(b) : NULL,
                                  PyArray_BYTES(out), PyArray_DIM(a, axis), 1, narrow, NULL};
        for (int k = axis + 1; k < ndim; k++) job.inner *= PyArray_DIM(a, k);
        if (job.inner > 1 && narrow) goto columns;
        const int few = job.inner > 1 && job.inner < ENOUGH;
        if (few && job.n * job.inner > TURNED) goto few;
        const double cost = row_cost[kind] * (job.type == NPY_FLOAT ? 1 : 2) * job.n;
        const size outer = PyArray_SIZE(a) / (job.n * job.inner);
        const size items = job.inner == 1 || few ? outer : outer * ((job.inner + COLUMNS - 1) / COLUMNS);
        const int chunks = pool_chunks(items, job.inner == 1 ? SHORT_ROW + cost : cost * (job.inner < COLUMNS ? job.inner : COLUMNS));
        if (narrow && !(room = scratch(3 * chunks * block_size(job.n), sizeof(float)))) goto fail;
        if (room) job.room = PyArray_BYTES(room);
        Py_BEGIN_ALLOW_THREADS
        pool_run(narrow ? work_on_narrow_rows : job.inner == 1 ? work_on_rows : few ? work_on_turned : work_on_columns, &job, items, chunks);
        Py_END_ALLOW_THREADS
        Py_XDECREF(room);
    }
    Py_DECREF(a);
    Py_XDECREF(b);
    return (PyObject *)out;
columns: /* for the caller to widen */
    Py_DECREF(a);
    Py_XDECREF(b);
    Py_DECREF(out);
    NOT_HANDLED();
fail:
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(out);
    return NULL;
few: /* long lines side by side: the axis goes to the end and back */
    Py_DECREF(a);
    Py_XDECREF(b);
    Py_DECREF(out);
    return moved(kind, args, inputs, (int)axis);
}

#define ALONG_AXIS(name, kind)                                                          \
    PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count)           \
    {                                                                                   \
        (void)module;                                                                   \
        return along_axis(kind, args, count);                                           \
    }
ALONG_AXIS(softmax, SOFTMAX)
static ALONG_AXIS(softmax_grad, SOFTMAX_GRAD)
ALONG_AXIS(log_softmax, LOG_SOFTMAX)
static ALONG_AXIS(log_softmax_grad, LOG_SOFTMAX_GRAD)

/* ---- layer and RMS normalisation ---- */

struct norm_job {
    int type;
    char *out, *mean, *rstd;
    const char *x, *g, *weight, *bias;
    char *partial; /* sums for grad_weight and grad_bias: two rows of n for each chunk */
    int need_weight, need_bias;
    double eps;
    size n;
    int narrow; /* x, g and out have 16 bits; all else is of float32 */
    char *room;
};

static void work_on_narrow_norm(void *context, size begin, size end, int chunk)
{
    const struct norm_job *job = context;
    const size block = block_rows(job->n), n = job->n;
    float *out = (float *)job->room + 2 * block_size(n) * chunk, *x = out + block_size(n);
    for (size r = begin; r < end; r += block) {
        const size rows = end - r < block ? end - r : block;
        widened(x, job->x + 2 * r * n, rows * n, job->narrow);
        kernels->normalize_f32(out, job->mean ? (float *)job->mean + r : NULL, (float *)job->rstd + r, x, (const float *)job->weight,
                               (const float *)job->bias, (float)job->eps, rows, n);
        narrowed(job->out + 2 * r * n, out, rows * n, job->narrow);
    }
}

static void work_on_narrow_norm_grad(void *context, size begin, size end, int chunk)
{
    const struct norm_job *job = context;
    const size block = block_rows(job->n), n = job->n;
    float *out = (float *)job->room + 3 * block_size(n) * chunk, *x = out + block_size(n), *g = x + block_size(n);
    float *sums = (float *)job->partial + 2 * n * chunk;
    if (job->partial) memset(sums, 0, 2 * n * sizeof *sums);
    for (size r = begin; r < end; r += block) {
        const size rows = end - r < block ? end - r : block;
        widened(x, job->x + 2 * r * n, rows * n, job->narrow);
        widened(g, job->g + 2 * r * n, rows * n, job->narrow);
        kernels->normalize_grad_f32(job->out ? out : NULL, job->need_weight ? sums : NULL, job->need_bias ? sums + n : NULL, g, x,
                                    job->mean ? (float *)job->mean + r : NULL, (float *)job->rstd + r, (const float *)job->weight, rows, n);
        if (job->out) narrowed(job->out + 2 * r * n, out, rows * n, job->narrow);
    }
}

static void work_on_norm(void *context, size begin, size end, int chunk)
{
    const struct norm_job *job = context;
    (void)chunk;
#define RUN(SUFFIX, REAL)                                                                                              \
    row_kernels(job->n, sizeof(REAL))->normalize_##SUFFIX((REAL *)job->out + begin * job->n, job->mean ? (REAL *)job->mean + begin : NULL, \
                                (REAL *)job->rstd + begin, (const REAL *)job->x + begin * job->n,                      \
                                (const REAL *)job->weight, (const REAL *)job->bias, (REAL)job->eps, end - begin, job->n);
    if (job->type == NPY_FLOAT) { RUN(f32, float) } else { RUN(f64, double) }
#undef RUN
}

static void work_on_norm_grad(void *context, size begin, size end, int chunk)
{
    const struct norm_job *job = context;
#define RUN(SUFFIX, REAL)                                                                                              \
    REAL *sums = (REAL *)job->partial + 2 * job->n * chunk;                                                            \
    if (job->partial) memset(sums, 0, 2 * job->n * sizeof *sums);                                                      \
    row_kernels(job->n, sizeof(REAL))->normalize_grad_##SUFFIX(job->out ? (REAL *)job->out + begin * job->n : NULL,    \
                                     job->need_weight ? sums : NULL, job->need_bias ? sums + job->n : NULL,            \
                                     (const REAL *)job->g + begin * job->n, (const REAL *)job->x + begin * job->n,     \
                                     job->mean ? (REAL *)job->mean + begin : NULL, (REAL *)job->rstd + begin,          \
                                     (const REAL *)job->weight, end - begin, job->n);
    if (job->type == NPY_FLOAT) { RUN(f32, float) } else { RUN(f64, double) }
#undef RUN
}

/* The trailing axes of x as (rows, n), and the statistics' shape; -1 if `dims` does not fit. */
static int split_axes(PyArrayObject *x, PyObject *dims_object, npy_intp *shape, size *rows, size *n)
{
    const int ndim = PyArray_NDIM(x);
    const long dims = PyLong_AsLong(dims_object);
    if (dims < 1 || dims > ndim) return -1;
    *rows = *n = 1;
    for (int k = 0; k < ndim; k++) {
        *(k < ndim - dims ? rows : n) *= PyArray_DIM(x, k);
        shape[k] = k < ndim - dims ? PyArray_DIM(x, k) : 1;
    }
    return 0;
}

/* Whether a parameter is None, or holds n numbers of x's type (of float32, if that has 16 bits) one after the other. */
static int is_parameter(PyObject *parameter, PyObject *x, size n)
{
    return parameter == Py_None || (is_real(parameter) && PyArray_TYPE((PyArrayObject *)parameter) ==
                                    (narrow_kind(x) ? NPY_FLOAT : PyArray_TYPE((PyArrayObject *)x)) && PyArray_SIZE((PyArrayObject *)parameter) == n &&
                                    PyArray_IS_C_CONTIGUOUS((PyArrayObject *)parameter));
}
static char *parameter_data(PyObject *parameter)
{
    return parameter == Py_None ? NULL : PyArray_BYTES((PyArrayObject *)parameter);
}

/* normalize(x, dims, weight, bias, eps, centred) -> (out, mean, rstd), or (out, rstd) when not centred */
static PyObject *normalize(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 6) return PyErr_Format(PyExc_TypeError, "expected 6 arguments");
    const int narrow = narrow_kind(args[0]);
    if (!is_real(args[0]) && !narrow) NOT_HANDLED();
    npy_intp shape[NPY_MAXDIMS];
    size rows, n;
    const double eps = PyFloat_AsDouble(args[4]);
    const int centred = PyObject_IsTrue(args[5]);
    if (PyErr_Occurred()) return NULL;
    if (split_axes((PyArrayObject *)args[0], args[1], shape, &rows, &n) < 0 || rows * n == 0 ||
        !is_parameter(args[2], args[0], n) || !is_parameter(args[3], args[0], n)) {
        PyErr_Clear();
        NOT_HANDLED();
    }
    PyArrayObject *x = contiguous(args[0]), *out = NULL, *mean = NULL, *rstd = NULL, *room = NULL;
    if (!x) return NULL;
    const int ndim = PyArray_NDIM(x), type = narrow ? NPY_FLOAT : PyArray_TYPE(x), chunks = pool_chunks(rows, SHORT_NORM + 0.25 * n);
    if (!(out = new_like(x, ndim, PyArray_DIMS(x))) || !(rstd = (PyArrayObject *)PyArray_SimpleNew(ndim, shape, type)) ||
        (centred && !(mean = (PyArrayObject *)PyArray_SimpleNew(ndim, shape, type))) ||
        (narrow && !(room = scratch(2 * chunks * block_size(n), sizeof(float))))) {
        Py_DECREF(x);
        Py_XDECREF(out);
        Py_XDECREF(rstd);
        Py_XDECREF(mean);
        return NULL;
    }
    struct norm_job job = {.type = type, .narrow = narrow, .room = room ? PyArray_BYTES(room) : NULL, .out = PyArray_BYTES(out), .rstd = PyArray_BYTES(rstd),
                           .mean = mean ? PyArray_BYTES(mean) : NULL, .x = PyArray_BYTES(x),
                           .weight = parameter_data(args[2]), .bias = parameter_data(args[3]), .eps = eps, .n = n};
    Py_BEGIN_ALLOW_THREADS
    pool_run(narrow ? work_on_narrow_norm : work_on_norm, &job, rows, chunks);
    Py_END_ALLOW_THREADS
    Py_XDECREF(room);
    Py_DECREF(x);
    return centred ? Py_BuildValue("NNN", out, mean, rstd) : Py_BuildValue("NN", out, rstd);
}

/* Add up the chunks' partial sums, `step` rows of n apart, into a new array of the parameter's shape. */
static PyObject *gather_partial(const char *partial, int type, size n, PyArrayObject *x, int dims, int step, int chunks)
{
    PyArrayObject *sum = (PyArrayObject *)PyArray_SimpleNew(dims, PyArray_DIMS(x) + PyArray_NDIM(x) - dims, type);
    if (!sum) return NULL;
    const size width = PyArray_ITEMSIZE(sum);
    memcpy(PyArray_BYTES(sum), partial, n * width);
    for (int chunk = 1; chunk < chunks; chunk++) {
        const char *more = partial + step * chunk * n * width;
        if (type == NPY_FLOAT) kernels->add_f32((float *)PyArray_DATA(sum), (const float *)more, n);
        else kernels->add_f64((double *)PyArray_DATA(sum), (const double *)more, n);
    }
    return (PyObject *)sum;
}

/* normalize_grad(g, x, mean | None, rstd, weight | None, dims, need_x, need_weight, need_bias) -> three, or None each */
static PyObject *normalize_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 9) return PyErr_Format(PyExc_TypeError, "expected 9 arguments");
    PyObject *const x_given = args[1];
    const int narrow = narrow_kind(x_given);
    if (narrow ? narrow_kind(args[0]) != narrow : !is_real(x_given) || !is_like(args[0], x_given)) NOT_HANDLED();
    npy_intp shape[NPY_MAXDIMS];
    size rows, n;
    const int need_x = PyObject_IsTrue(args[6]), need_weight = PyObject_IsTrue(args[7]),
              need_bias = PyObject_IsTrue(args[8]);
    if (split_axes((PyArrayObject *)x_given, args[5], shape, &rows, &n) < 0 || rows * n == 0 ||
        !PyArray_SAMESHAPE((PyArrayObject *)args[0], (PyArrayObject *)x_given) ||
        !is_parameter(args[2], x_given, rows) || args[3] == Py_None || !is_parameter(args[3], x_given, rows) ||
        !is_parameter(args[4], x_given, n)) {
        PyErr_Clear();
        NOT_HANDLED();
    }
    const int dims = (int)PyLong_AsLong(args[5]);
    PyObject *result = NULL, *grad_weight = NULL, *grad_bias = NULL;
    PyArrayObject *g = contiguous(args[0]), *x = contiguous(x_given), *out = NULL;
    PyArrayObject *partial = NULL, *room = NULL;
    const int type = narrow ? NPY_FLOAT : PyArray_TYPE((PyArrayObject *)x_given);
    if (!g || !x || (need_x && !(out = new_like(x, PyArray_NDIM(x), PyArray_DIMS(x))))) goto done;
    int chunks = pool_chunks(rows, SHORT_NORM + 0.5 * n);
    if (chunks > 2 * pool_get_threads()) chunks = 2 * pool_get_threads(); /* each leaves sums to be added up */
    if ((need_weight || need_bias) && !(partial = scratch(2 * chunks * n, type == NPY_FLOAT ? sizeof(float) : sizeof(double)))) goto done;
    if (narrow && !(room = scratch(3 * chunks * block_size(n), sizeof(float)))) goto done;
    struct norm_job job = {.type = type, .narrow = narrow, .room = room ? PyArray_BYTES(room) : NULL, .out = out ? PyArray_BYTES(out) : NULL, .x = PyArray_BYTES(x),
                           .g = PyArray_BYTES(g), .mean = parameter_data(args[2]), .rstd = parameter_data(args[3]),
                           .weight = parameter_data(args[4]), .partial = partial ? PyArray_BYTES(partial) : NULL, .need_weight = need_weight,
                           .need_bias = need_bias, .n = n};
    Py_BEGIN_ALLOW_THREADS
    pool_run(narrow ? work_on_narrow_norm_grad : work_on_norm_grad, &job, rows, chunks);
    Py_END_ALLOW_THREADS
    if (need_weight && !(grad_weight = gather_partial(job.partial, type, n, x, dims, 2, chunks))) goto done;
    if (need_bias && !(grad_bias = gather_partial(job.partial + n * (type == NPY_FLOAT ? sizeof(float) : sizeof(double)), type, n, x, dims, 2, chunks))) goto done;
    result = PyTuple_Pack(3, out ? (PyObject *)out : Py_None, grad_weight ? grad_weight : Py_None,
                          grad_bias ? grad_bias : Py_None);
done:
    Py_XDECREF(partial);
    Py_XDECREF(room);
    Py_XDECREF(g);
    Py_XDECREF(x);
    Py_XDECREF(out);
    Py_XDECREF(grad_weight);
    Py_XDECREF(grad_bias);
    return result;
}

/* The gradients of a layer normalisation's gradients: see `normalize_twice_rows`. */
struct twice_job {
    int type;
    char *back, *slope, *partial; /* sums for the weight's gradient: a row of n for each chunk */
    const char *u, *g, *x, *weight, *of_weight, *of_bias;
    double eps;
    size n;
};

static void work_on_norm_twice(void *context, size begin, size end, int chunk)
{
    const struct twice_job *job = context;
#define RUN(SUFFIX, REAL)                                                                                             \
    REAL *sums = (REAL *)job->partial;                                                                                \
    const size at = begin * job->n;                                                                                   \
    if (sums) memset(sums += job->n * chunk, 0, job->n * sizeof *sums);                                               \
    kernels->normalize_twice_##SUFFIX((REAL *)job->back + at, (REAL *)job->slope + at, sums, (const REAL *)job->u + at, \
                                      (const REAL *)job->g + at, (const REAL *)job->x + at, (const REAL *)job->weight, \
                                      (const REAL *)job->of_weight, (const REAL *)job->of_bias, (REAL)job->eps,       \
                                      end - begin, job->n);
    if (job->type == NPY_FLOAT) { RUN(f32, float) } else { RUN(f64, double) }
#undef RUN
}

/* normalize_twice(u, g, x, weight | None, of_weight | None, of_bias | None, dims, eps, wants_weight)
 * -> (back, slope, grad_weight | None) */
static PyObject *normalize_twice(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 9) return PyErr_Format(PyExc_TypeError, "expected 9 arguments");
    npy_intp shape[NPY_MAXDIMS];
    size rows, n;
    const double eps = PyFloat_AsDouble(args[7]);
    const int wanted = PyObject_IsTrue(args[8]);
    if (PyErr_Occurred()) return NULL;
    PyArrayObject *const given = (PyArrayObject *)args[2];
    if (!is_real(args[2]) || !is_like(args[0], args[2]) || !is_like(args[1], args[2]) ||
        split_axes(given, args[6], shape, &rows, &n) < 0 || rows * n == 0 ||
        !PyArray_SAMESHAPE((PyArrayObject *)args[0], given) || !PyArray_SAMESHAPE((PyArrayObject *)args[1], given) ||
        !is_parameter(args[3], args[2], n) || !is_parameter(args[4], args[2], n) || !is_parameter(args[5], args[2], n)) {
        PyErr_Clear();
        NOT_HANDLED();
    }
    const int dims = (int)PyLong_AsLong(args[6]);
    PyObject *result = NULL, *grad_weight = NULL;
    PyArrayObject *u = contiguous(args[0]), *g = contiguous(args[1]), *x = contiguous(args[2]);
    PyArrayObject *back = NULL, *slope = NULL, *partial = NULL;
    if (!u || !g || !x || !(back = new_like(x, PyArray_NDIM(x), PyArray_DIMS(x))) ||
        !(slope = new_like(x, PyArray_NDIM(x), PyArray_DIMS(x)))) goto done;
    int chunks = pool_chunks(rows, 2.0 * n);
    if (chunks > 2 * pool_get_threads()) chunks = 2 * pool_get_threads(); /* each leaves sums to be added up */
    if (wanted && !(partial = scratch(chunks * n, PyArray_ITEMSIZE(x)))) goto done;
    struct twice_job job = {.type = PyArray_TYPE(x), .back = PyArray_BYTES(back), .slope = PyArray_BYTES(slope),
                            .partial = partial ? PyArray_BYTES(partial) : NULL, .u = PyArray_BYTES(u), .g = PyArray_BYTES(g),
                            .x = PyArray_BYTES(x), .weight = parameter_data(args[3]), .of_weight = parameter_data(args[4]),
                            .of_bias = parameter_data(args[5]), .eps = eps, .n = n};
    Py_BEGIN_ALLOW_THREADS
    pool_run(work_on_norm_twice, &job, rows, chunks);
    Py_END_ALLOW_THREADS
    if (wanted && !(grad_weight = gather_partial(job.partial, job.type, n, x, dims, 1, chunks))) goto done;
    result = PyTuple_Pack(3, back, slope, grad_weight ? grad_weight : Py_None);
done:
    Py_XDECREF(partial);
    Py_XDECREF(u);
    Py_XDECREF(g);
    Py_XDECREF(x);
    Py_XDECREF(back);
    Py_XDECREF(slope);
    Py_XDECREF(grad_weight);
    return result;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef rows_methods[] = {
    METHOD(softmax), METHOD(softmax_grad), METHOD(log_softmax), METHOD(log_softmax_grad),
    METHOD(normalize), METHOD(normalize_grad), METHOD(normalize_twice), {NULL, NULL, 0, NULL},
};
