/* Per-channel (axis 1) statistics and affine maps: what batch normalisation is made of. */
#include "channels.h"

#include "pool.h"

#include <math.h>

/* x as (batch, channels, inner): inner elements of a channel lie together, or inner is 1 and the channels are columns: also those of
 * images whose channels are innermost in memory. */

struct channel_job {
    int type, training;
    int narrow; /* numbers of 16 bits, as narrow_kind has it; those of channels are float32 */
    int innermost; /* the channels, in memory */
    size batch, channels, inner;
    const char *x, *g, *mean, *rstd, *weight, *scale, *shift;
    char *out, *first, *second; /* first, second: one number for each channel */
    enum then then; /* what results go through, while they are in the first cache */
};
static const char *const THEN[] = {"", "relu", "relu6", "silu", "hardswish"};
enum { THEN_BLOCK = 1024 };

int then_of(PyObject *name)
{
    int then = HARDSWISH;
    while (then >= NOTHING && !(PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, THEN[then]))) then--;
    return then;
}

static int split_channels(PyObject *given, struct channel_job *job)
{
    if (!is_real(given) && !(job->narrow = narrow_kind(given))) return -1;
    PyArrayObject *x = (PyArrayObject *)given;
    const int ndim = PyArray_NDIM(x);
    if (ndim < 2) return -1;
    job->type = job->narrow ? NPY_FLOAT : PyArray_TYPE(x);
    job->batch = PyArray_DIM(x, 0), job->channels = PyArray_DIM(x, 1), job->inner = 1;
    for (int k = 2; k < ndim; k++) job->inner *= PyArray_DIM(x, k);
    if (!job->narrow && lies_innermost(x)) job->innermost = 1, job->batch *= job->inner, job->inner = 1;
    return (job->narrow && job->inner < SHORTEST) || job->batch * job->channels * job->inner == 0 ? -1 : 0;
}

static int is_channel_vector(PyObject *vector, const struct channel_job *job)
{
    return is_real(vector) && PyArray_TYPE((PyArrayObject *)vector) == job->type && PyArray_SIZE((PyArrayObject *)vector) == job->channels &&
           PyArray_IS_C_CONTIGUOUS((PyArrayObject *)vector);
}

static int is_same(PyObject *given, PyObject *model)
{
    return PyArray_Check(given) && PyArray_TYPE((PyArrayObject *)given) == PyArray_TYPE((PyArrayObject *)model) &&
           PyArray_SAMESHAPE((PyArrayObject *)given, (PyArrayObject *)model);
}

static PyArrayObject *channel_numbers(const struct channel_job *job)
{
    return (PyArrayObject *)PyArray_SimpleNew(1, &job->channels, job->type);
}

/* The numbers of an array as the job wants them to lie: a new reference. */
static PyArrayObject *laid(const struct channel_job *job, PyObject *array)
{
    return job->innermost ? innermost_of(array) : contiguous(array);
}

/* An array like `x`, whose type may be one that NumPy does not have. */
static PyArrayObject *result_of(const struct channel_job *job, PyArrayObject *x)
{
    if (job->innermost) return new_innermost(job->type, PyArray_NDIM(x), PyArray_DIMS(x));
    Py_INCREF(PyArray_DESCR(x));
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), PyArray_NDIM(x), PyArray_DIMS(x), NULL, NULL, 0, NULL);
}

#define AT(job, n, c) (((n) * (job)->channels + (c)) * (job)->inner)

/* Short stretches of a channel are brought together, so that a kernel has work to do. */
enum { SHORT_STRETCH = 64, TOGETHER = 1024 };
static size stretches(const struct channel_job *job, size n)
{
    const size left = job->batch - n, fit = job->inner < SHORT_STRETCH ? TOGETHER / job->inner : 1;
    return left < fit ? left : fit;
}
#define EVERY_STRETCH(job, n, many) for (size n = 0, many; n < (job)->batch && (many = stretches(job, n)); n += many)

#define DEFINE_WORK(REAL, SUFFIX)                                                                              \
    /* The numbers of channel c in `many` images from the n-th on. */                                          \
    static const REAL *stretch_##SUFFIX(const struct channel_job *job, const REAL *x, size n, size c, size many, REAL *room) \
    {                                                                                                          \
        if (many == 1) return x + AT(job, n, c);                                                               \
        for (size k = 0; k < many; k++)                                                                        \
            for (size i = 0; i < job->inner; i++) room[k * job->inner + i] = x[AT(job, n + k, c) + i];         \
        return room;                                                                                           \
    }                                                                                                          \
    static void moments_##SUFFIX(const struct channel_job *job, size c)                                        \
    {                                                                                                          \
        const REAL *x = (const REAL *)job->x;                                                                  \
        const double count = (double)job->batch * job->inner;                                                  \
        double total = 0, spread = 0;                                                                          \
        REAL sum, square, room[TOGETHER];                                                                      \
        EVERY_STRETCH(job, n, many) {                                                                          \
            kernels->moments_##SUFFIX(&sum, &square, stretch_##SUFFIX(job, x, n, c, many, room), 0, many * job->inner); \
            total += sum;                                                                                      \
        }                                                                                                      \
        const REAL mean = (REAL)(total / count);                                                               \
        EVERY_STRETCH(job, n, many) {                                                                          \
            kernels->moments_##SUFFIX(&sum, &square, stretch_##SUFFIX(job, x, n, c, many, room), mean, many * job->inner); \
            spread += square;                                                                                  \
        }                                                                                                      \
        ((REAL *)job->first)[c] = mean;                                                                        \
        ((REAL *)job->second)[c] = (REAL)(spread / count);                                                     \
    }                                                                                                          \
    static void map_##SUFFIX(enum then then, REAL *out, const REAL *x, REAL scale, REAL shift, size n)         \
    {                                                                                                          \
        if (then == NOTHING) kernels->affine_##SUFFIX(out, x, scale, shift, n);                                \
        else if (then == RELU) kernels->affine_relu_##SUFFIX(out, x, scale, shift, n);                         \
        else if (then == RELU6) kernels->affine_between_##SUFFIX(out, x, scale, shift, 0, 6, n);               \
        else                                                                                                   \
            for (size at = 0; at < n; at += THEN_BLOCK) {                                                      \
                const REAL *const in[] = {out + at};                                                           \
                const size count = n - at < THEN_BLOCK ? n - at : THEN_BLOCK;                                  \
                kernels->affine_##SUFFIX(out + at, x + at, scale, shift, count);                               \
                (then == SILU ? kernels->silu_##SUFFIX : kernels->hardswish_##SUFFIX)(out + at, in, count);    \
            }                                                                                                  \
    }                                                                                                          \
    static void affine_##SUFFIX(const struct channel_job *job, size c)                                         \
    {                                                                                                          \
        const REAL scale = ((const REAL *)job->scale)[c], shift = ((const REAL *)job->shift)[c];               \
        for (size n = 0; n < job->batch; n++)                                                                  \
            map_##SUFFIX(job->then, (REAL *)job->out + AT(job, n, c), (const REAL *)job->x + AT(job, n, c), scale, shift,\
                         job->inner);                                                                          \
    }                                                                                                          \
    static void blend_##SUFFIX(const struct channel_job *job, size c)                                          \
    {                                                                                                          \
        const REAL a = ((const REAL *)job->scale)[c], b = ((const REAL *)job->mean)[c];                        \
        const REAL rest = ((const REAL *)job->shift)[c];                                                       \
        for (size n = 0; n < job->batch; n++)                                                                  \
            kernels->affine2_##SUFFIX((REAL *)job->out + AT(job, n, c), (const REAL *)job->g + AT(job, n, c),  \
                                      (const REAL *)job->x + AT(job, n, c), a, b, rest, job->inner);           \
    }                                                                                                          \
    static void grad_##SUFFIX(const struct channel_job *job, size c)                                           \
    {                                                                                                          \
        const REAL *g = (const REAL *)job->g, *x = (const REAL *)job->x;                                       \
        const double mean = ((const REAL *)job->mean)[c], rstd = ((const REAL *)job->rstd)[c];                 \
        const double count = (double)job->batch * job->inner;                                                  \
        double total = 0, along = 0;                                                                           \
        REAL room[2][TOGETHER];                                                                                \
        EVERY_STRETCH(job, n, many) {                                                                          \
            REAL sum, product;                                                                                 \
            kernels->product_sums_##SUFFIX(&sum, &product, stretch_##SUFFIX(job, g, n, c, many, room[0]),      \
                                           stretch_##SUFFIX(job, x, n, c, many, room[1]), (REAL)mean, many * job->inner); \
            total += sum, along += product;                                                                    \
        }                                                                                                      \
        ((REAL *)job->first)[c] = (REAL)(along * rstd);                                                        \
        ((REAL *)job->second)[c] = (REAL)total;                                                                \
        if (!job->out) return;                                                                                 \
        const double factor = rstd * (job->weight ? ((const REAL *)job->weight)[c] : 1);                       \
        const double slope = job->training ? -factor * rstd * rstd * along / count : 0;                        \
        const double rest = job->training ? -factor * total / count - slope * mean : 0;                        \
        for (size n = 0; n < job->batch; n++)                                                                  \
            kernels->affine2_##SUFFIX((REAL *)job->out + AT(job, n, c), g + AT(job, n, c), x + AT(job, n, c),  \
                                      (REAL)factor, (REAL)slope, (REAL)rest, job->inner);                      \
    }
DEFINE_WORK(float, f32)
DEFINE_WORK(double, f64)

/* ---- channels as columns: tiles of COLUMNS at a time ---- */

#define DEFINE_COLUMNS(REAL, SUFFIX)                                                                           \
    static void moments_columns_##SUFFIX(const struct channel_job *job, size first, size count)                \
    {                                                                                                          \
        const REAL *x = (const REAL *)job->x + first;                                                          \
        REAL *mean = (REAL *)job->first + first, *variance = (REAL *)job->second + first;                      \
        double sums[COLUMNS];                                                                                  \
        kernels->sum_columns_##SUFFIX(sums, x, job->batch, job->channels, count);                              \
        for (size c = 0; c < count; c++) mean[c] = (REAL)(sums[c] / job->batch);                               \
        kernels->square_columns_##SUFFIX(sums, x, mean, job->batch, job->channels, count);                     \
        for (size c = 0; c < count; c++) variance[c] = (REAL)(sums[c] / job->batch);                           \
    }                                                                                                          \
    static void affine_columns_##SUFFIX(const struct channel_job *job, size first, size count)                 \
    {                                                                                                          \
        kernels->affine_columns_##SUFFIX((REAL *)job->out + first, (const REAL *)job->x + first,               \
                                         (const REAL *)job->scale + first, (const REAL *)job->shift + first,   \
                                         job->batch, job->channels, count);                                    \
    }                                                                                                          \
    static void blend_columns_##SUFFIX(const struct channel_job *job, size first, size count)                  \
    {                                                                                                          \
        kernels->affine2_columns_##SUFFIX((REAL *)job->out + first, (const REAL *)job->g + first,              \
                                          (const REAL *)job->x + first, (const REAL *)job->scale + first,      \
                                          (const REAL *)job->mean + first, (const REAL *)job->shift + first,   \
                                          job->batch, job->channels, count);                                   \
    }                                                                                                          \
    static void grad_columns_##SUFFIX(const struct channel_job *job, size first, size count)                   \
    {                                                                                                          \
        const REAL *g = (const REAL *)job->g + first, *x = (const REAL *)job->x + first;                       \
        const REAL *mean = (const REAL *)job->mean + first, *rstd = (const REAL *)job->rstd + first;           \
        const REAL *weight = job->weight ? (const REAL *)job->weight + first : NULL;                           \
        double total[COLUMNS], along[COLUMNS];                                                                 \
        REAL factor[COLUMNS], slope[COLUMNS], rest[COLUMNS];                                                   \
        kernels->sum_columns_##SUFFIX(total, g, job->batch, job->channels, count);                             \
        kernels->product_columns_##SUFFIX(along, g, x, mean, job->batch, job->channels, count);                \
        for (size c = 0; c < count; c++) {                                                                     \
            const double scale = (double)rstd[c] * (weight ? weight[c] : 1);                                   \
            const double s = job->training ? -scale * rstd[c] * rstd[c] * along[c] / job->batch : 0;           \
            ((REAL *)job->first)[first + c] = (REAL)(along[c] * rstd[c]);                                      \
            ((REAL *)job->second)[first + c] = (REAL)total[c];                                                 \
            factor[c] = (REAL)scale, slope[c] = (REAL)s;                                                       \
            rest[c] = (REAL)(job->training ? -scale * total[c] / job->batch - s * mean[c] : 0);                \
        }                                                                                                      \
        if (job->out)                                                                                          \
            kernels->affine2_columns_##SUFFIX((REAL *)job->out + first, g, x, factor, slope, rest, job->batch, \
                                              job->channels, count);                                           \
    }
DEFINE_COLUMNS(float, f32)
DEFINE_COLUMNS(double, f64)

/* ---- numbers of 16 bits: in float32, by blocks that stay in the cache ---- */

enum { BLOCK = 1024 };

static void widen(const struct channel_job *job, float *to, const char *from, size at, size n)
{
    (job->narrow == 2 ? kernels->widen_brain : kernels->widen_half)(to, (const uint16_t *)from + at, n);
}
static void narrow(const struct channel_job *job, const float *from, size at, size n)
{
    (job->narrow == 2 ? kernels->narrow_brain : kernels->narrow_half)((uint16_t *)job->out + at, from, n);
}

/* The blocks of a channel: `n` numbers from `at` on. */
#define EACH_BLOCK(job, c)                                                      \
    for (size image = 0; image < (job)->batch; image++)                         \
        for (size at = AT(job, image, c), end = at + (job)->inner, n; n = end - at < BLOCK ? end - at : BLOCK, at < end; at += BLOCK)

static void moments_narrow(const struct channel_job *job, size c)
{
    const double count = (double)job->batch * job->inner;
    double total = 0, spread = 0;
    float x[BLOCK], sum, square;
    EACH_BLOCK(job, c) {
        widen(job, x, job->x, at, n);
        kernels->moments_f32(&sum, &square, x, 0, n);
        total += sum;
    }
    const float mean = (float)(total / count);
    EACH_BLOCK(job, c) {
        widen(job, x, job->x, at, n);
        kernels->moments_f32(&sum, &square, x, mean, n);
        spread += square;
    }
    ((float *)job->first)[c] = mean;
    ((float *)job->second)[c] = (float)(spread / count);
}

void channel_map(const struct channel_map *map, void *numbers, size channel, size n)
{
    /* x * 1 + -0.0 is x, whatever the sign of zero */
    if (map->type == NPY_FLOAT)
        map_f32(map->then, numbers, numbers, map->scale ? ((const float *)map->scale)[channel] : 1, map->scale ? ((const float *)map->shift)[channel] : -0.0f, n);
    else
        map_f64(map->then, numbers, numbers, map->scale ? ((const double *)map->scale)[channel] : 1, map->scale ? ((const double *)map->shift)[channel] : -0.0, n);
}

static void affine_narrow(const struct channel_job *job, size c)
{
    float x[BLOCK];
    EACH_BLOCK(job, c) {
        widen(job, x, job->x, at, n);
        kernels->affine_f32(x, x, ((const float *)job->scale)[c], ((const float *)job->shift)[c], n);
        narrow(job, x, at, n);
    }
}

static void combine_narrow(const struct channel_job *job, size c, float a, float b, float rest)
{
    float g[BLOCK], x[BLOCK];
    EACH_BLOCK(job, c) {
        widen(job, g, job->g, at, n);
        widen(job, x, job->x, at, n);
        kernels->affine2_f32(x, g, x, a, b, rest, n);
        narrow(job, x, at, n);
    }
}

static void blend_narrow(const struct channel_job *job, size c)
{
    combine_narrow(job, c, ((const float *)job->scale)[c], ((const float *)job->mean)[c], ((const float *)job->shift)[c]);
}

static void grad_narrow(const struct channel_job *job, size c)
{
    const double mean = ((const float *)job->mean)[c], rstd = ((const float *)job->rstd)[c];
    const double count = (double)job->batch * job->inner;
    double total = 0, along = 0;
    float g[BLOCK], x[BLOCK], sum, product;
    EACH_BLOCK(job, c) {
        widen(job, g, job->g, at, n);
        widen(job, x, job->x, at, n);
        kernels->product_sums_f32(&sum, &product, g, x, (float)mean, n);
        total += sum, along += product;
    }
    ((float *)job->first)[c] = (float)(along * rstd);
    ((float *)job->second)[c] = (float)total;
    if (!job->out) return;
    const double factor = rstd * (job->weight ? ((const float *)job->weight)[c] : 1);
    const double slope = job->training ? -factor * rstd * rstd * along / count : 0;
    const double rest = job->training ? -factor * total / count - slope * mean : 0;
    combine_narrow(job, c, (float)factor, (float)slope, (float)rest);
}

#define DEFINE_TASK(name)                                                              \
    static void name##_task(void *context, size begin, size end, int chunk)            \
    {                                                                                  \
        const struct channel_job *job = context;                                       \
        (void)chunk;                                                                   \
        for (size c = begin; c < end; c++)                                             \
            (job->narrow ? name##_narrow : job->type == NPY_FLOAT ? name##_f32 : name##_f64)(job, c); \
    }                                                                                  \
    static void name##_tiles(void *context, size begin, size end, int chunk)           \
    {                                                                                  \
        const struct channel_job *job = context;                                       \
        (void)chunk;                                                                   \
        for (size first = begin * COLUMNS; first < end * COLUMNS && first < job->channels; first += COLUMNS) { \
            const size count = job->channels - first < COLUMNS ? job->channels - first : COLUMNS; \
            (job->type == NPY_FLOAT ? name##_columns_f32 : name##_columns_f64)(job, first, count); \
        }                                                                              \
    }
DEFINE_TASK(moments)
DEFINE_TASK(affine)
DEFINE_TASK(grad)
DEFINE_TASK(blend)

static void run_task(pool_task task, pool_task tiles, struct channel_job *job, double cost)
{
    const size items = job->inner == 1 ? (job->channels + COLUMNS - 1) / COLUMNS : job->channels;
    const int chunks = pool_chunks(items, cost * job->batch * job->inner * job->channels / items);
    Py_BEGIN_ALLOW_THREADS
    pool_run(job->inner == 1 ? tiles : task, job, items, chunks);
    Py_END_ALLOW_THREADS
}

/* channel_moments(x) -> (mean, biased variance) */
static PyObject *channel_moments(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct channel_job job = {0};
    if (count != 1) return PyErr_Format(PyExc_TypeError, "expected 1 argument");
    if (split_channels(args[0], &job) < 0) NOT_HANDLED();
    PyArrayObject *x = laid(&job, args[0]), *mean = NULL, *variance = NULL;
    if (!x) return NULL;
    if (!(mean = channel_numbers(&job)) || !(variance = channel_numbers(&job))) {
        Py_DECREF(x);
        Py_XDECREF(mean);
        return NULL;
    }
    job.x = PyArray_BYTES(x), job.first = PyArray_BYTES(mean), job.second = PyArray_BYTES(variance);
    run_task(moments_task, moments_tiles, &job, 0.2);
    Py_DECREF(x);
    return Py_BuildValue("NN", mean, variance);
}

static PyObject *affine_of(struct channel_job *job, PyObject *given, PyArrayObject *scale, PyArrayObject *shift)
{
    PyArrayObject *x = laid(job, given), *out = x ? result_of(job, x) : NULL;
    if (out) {
        job->x = PyArray_BYTES(x), job->out = PyArray_BYTES(out), job->scale = PyArray_BYTES(scale), job->shift = PyArray_BYTES(shift);
        run_task(affine_task, affine_tiles, job, job->then >= SILU ? 0.5 : 0.15);
    }
    Py_XDECREF(x);
    return (PyObject *)out;
}

/* channel_affine(x, scale, shift) -> x * scale + shift */
static PyObject *channel_affine(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct channel_job job = {0};
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (split_channels(args[0], &job) < 0 || !is_channel_vector(args[1], &job) || !is_channel_vector(args[2], &job)) NOT_HANDLED();
    return affine_of(&job, args[0], (PyArrayObject *)args[1], (PyArrayObject *)args[2]);
}

#define DEFINE_FACTORS(REAL, SUFFIX)                                                                                       \
    static void factors_##SUFFIX(REAL *scale, REAL *shift, const REAL *mean, const REAL *rstd, const REAL *weight, const REAL *bias, size n) \
    {                                                                                                                      \
        for (size c = 0; c < n; c++) scale[c] = weight ? rstd[c] * weight[c] : rstd[c];                                    \
        for (size c = 0; c < n; c++) shift[c] = -mean[c] * scale[c];                                                       \
        for (size c = 0; bias && c < n; c++) shift[c] += bias[c];                                                          \
    }
DEFINE_FACTORS(float, f32)
DEFINE_FACTORS(double, f64)

/* channel_rstd(variance, eps) -> 1 / sqrt(variance + eps) */
static PyObject *channel_rstd(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    const double eps = PyFloat_AsDouble(args[1]);
    if (eps == -1 && PyErr_Occurred()) return NULL;
    if (!is_real(args[0]) || !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)args[0])) NOT_HANDLED();
    PyArrayObject *variance = (PyArrayObject *)args[0];
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(variance), PyArray_DIMS(variance), PyArray_TYPE(variance));
    const size n = PyArray_SIZE(variance);
    if (out && PyArray_TYPE(out) == NPY_FLOAT)
        for (size c = 0; c < n; c++) ((float *)PyArray_DATA(out))[c] = 1 / sqrtf(((const float *)PyArray_DATA(variance))[c] + (float)eps);
    else if (out)
        for (size c = 0; c < n; c++) ((double *)PyArray_DATA(out))[c] = 1 / sqrt(((const double *)PyArray_DATA(variance))[c] + eps);
    return (PyObject *)out;
}

/* channel_norm(x, mean, rstd, weight | None, bias | None, then = "") -> (x - mean) * rstd * weight + bias, as x * scale + shift; that goes
 * through the function `then` */
static PyObject *channel_norm(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct channel_job job = {0};
    const void *given[4] = {NULL};
    if (count != 5 && count != 6) return PyErr_Format(PyExc_TypeError, "expected 5 or 6 arguments");
    if (split_channels(args[0], &job) < 0) NOT_HANDLED();
    if (count == 6) {
        const int then = then_of(args[5]);
        if (then <= NOTHING || job.inner == 1 || job.narrow) NOT_HANDLED();
        job.then = then;
    }
    for (int k = 0; k < 4; k++) {
        if (k > 1 && args[k + 1] == Py_None) continue;
        if (!is_channel_vector(args[k + 1], &job)) NOT_HANDLED();
        given[k] = PyArray_BYTES((PyArrayObject *)args[k + 1]);
    }
    PyArrayObject *scale = channel_numbers(&job), *shift = scale ? channel_numbers(&job) : NULL;
    PyObject *result = NULL;
    if (shift) {
        void *to = PyArray_DATA(scale), *beside = PyArray_DATA(shift);
        if (job.type == NPY_FLOAT) factors_f32(to, beside, given[0], given[1], given[2], given[3], job.channels);
        else factors_f64(to, beside, given[0], given[1], given[2], given[3], job.channels);
        result = affine_of(&job, args[0], scale, shift);
    }
    Py_XDECREF(scale);
    Py_XDECREF(shift);
    return result;
}

/* batch_norm_grad(g, x, mean, rstd, weight | None, training, need_x) -> (grad_x | None, grad_weight, grad_bias) */
static PyObject *batch_norm_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct channel_job job = {0};
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    PyObject *const given = args[1];
    if (split_channels(given, &job) < 0 || !is_same(args[0], given) || !is_channel_vector(args[2], &job) ||
        !is_channel_vector(args[3], &job) || (args[4] != Py_None && !is_channel_vector(args[4], &job)))
        NOT_HANDLED();
    job.training = PyObject_IsTrue(args[5]);
    const int need_x = PyObject_IsTrue(args[6]);
    PyObject *result = NULL;
    PyArrayObject *g = laid(&job, args[0]), *x = laid(&job, given), *out = NULL, *weight = NULL, *bias = NULL;
    if (g && x && (!need_x || (out = result_of(&job, x))) && (weight = channel_numbers(&job)) && (bias = channel_numbers(&job))) {
        job.g = PyArray_BYTES(g), job.x = PyArray_BYTES(x), job.out = out ? PyArray_BYTES(out) : NULL;
        job.mean = PyArray_BYTES((PyArrayObject *)args[2]), job.rstd = PyArray_BYTES((PyArrayObject *)args[3]);
        job.weight = args[4] == Py_None ? NULL : PyArray_BYTES((PyArrayObject *)args[4]);
        job.first = PyArray_BYTES(weight), job.second = PyArray_BYTES(bias);
        run_task(grad_task, grad_tiles, &job, 0.3);
        result = PyTuple_Pack(3, out ? (PyObject *)out : Py_None, weight, bias);
    }
    Py_XDECREF(g);
    Py_XDECREF(x);
    Py_XDECREF(out);
    Py_XDECREF(weight);
    Py_XDECREF(bias);
    return result;
}

/* channel_blend(g, x, a, b, c) -> g * a + x * b + c, by channel */
static PyObject *channel_blend(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct channel_job job = {0};
    if (count != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    if (split_channels(args[1], &job) < 0 || !is_same(args[0], args[1])) NOT_HANDLED();
    for (int k = 2; k < 5; k++)
        if (!is_channel_vector(args[k], &job)) NOT_HANDLED();
    PyArrayObject *g = laid(&job, args[0]), *x = laid(&job, args[1]), *out = NULL;
    if (g && x && (out = result_of(&job, x))) {
        job.g = PyArray_BYTES(g), job.x = PyArray_BYTES(x), job.out = PyArray_BYTES(out);
        job.scale = PyArray_BYTES((PyArrayObject *)args[2]), job.mean = PyArray_BYTES((PyArrayObject *)args[3]);
        job.shift = PyArray_BYTES((PyArrayObject *)args[4]);
        run_task(blend_task, blend_tiles, &job, 0.2);
    }
    Py_XDECREF(g);
    Py_XDECREF(x);
    return (PyObject *)out;
}

/* statistics_moved(running, batch, momentum, factor): running += momentum * (batch * factor - running), in place */
static PyObject *statistics_moved(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    PyArrayObject *running = (PyArrayObject *)args[0], *batch = (PyArrayObject *)args[1];
    const double momentum = PyFloat_AsDouble(args[2]), factor = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) return NULL;
    if (!is_real(args[0]) || !is_like(args[1], args[0]) || !PyArray_ISCARRAY(running) || !PyArray_ISCARRAY_RO(batch) || !PyArray_SAMESHAPE(running, batch))
        NOT_HANDLED();
#define MOVE(REAL)                                                                                           \
    for (size c = 0; c < PyArray_SIZE(running); c++) {                                                       \
        REAL *to = (REAL *)PyArray_DATA(running) + c;                                                        \
        const REAL wanted = ((const REAL *)PyArray_DATA(batch))[c] * (REAL)factor, step = (REAL)momentum * (wanted - *to); \
        *to += step;                                                                                         \
    }
    if (PyArray_TYPE(running) == NPY_FLOAT) { MOVE(float) } else { MOVE(double) }
#undef MOVE
    Py_RETURN_NONE;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef channels_methods[] = {
    METHOD(statistics_moved),
    METHOD(channel_moments), METHOD(channel_affine), METHOD(channel_norm), METHOD(channel_rstd), METHOD(batch_norm_grad), METHOD(channel_blend),
    {NULL, NULL, 0, NULL},
};
