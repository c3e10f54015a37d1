/* Group normalisation: neighbouring channels (axis 1) of a sample have their statistics together. */
#include "wengert.h"

#include "pool.h"

enum { PART = 8192 }; /* more numbers than that are added up in parts, in double precision */
static const double SHORT_GROUP = 30;

struct group_job {
    int type, narrow; /* numbers of 16 bits, as narrow_kind has it, are computed in float32 */
    int innermost;    /* the channels, in memory: a sample's are the columns of a matrix */
    size channels, groups, each, inner; /* each: the channels of a group */
    const char *x, *g, *mean, *rstd, *weight, *bias;
    char *out, *centre, *spread; /* out may be NULL, of gradients */
    double *sums;                /* of each channel of each sample: of g times the normalised x, and of g */
    double eps;
    char *room; /* of each chunk, for numbers of 16 bits: two groups */
};

static void widen(const struct group_job *job, float *to, const char *from, size at, size n)
{
    (job->narrow == 2 ? kernels->widen_brain : kernels->widen_half)(to, (const uint16_t *)from + at, n);
}
static void narrow(const struct group_job *job, const float *from, size at, size n)
{
    (job->narrow == 2 ? kernels->narrow_brain : kernels->narrow_half)((uint16_t *)job->out + at, from, n);
}

/* As many groups as a tile of columns has room for, from the group `first` on. */
static size tile_of(const struct group_job *job, size first)
{
    const size most = COLUMNS / job->each;
    return job->groups - first < most ? job->groups - first : most;
}

#define DEFINE_INSIDE(REAL, SUFFIX, ROOT)                                                                           \
    static void norm_inside_##SUFFIX(const struct group_job *job, size sample)                                      \
    {                                                                                                               \
        const size each = job->each, rows = job->inner, step = job->channels, whole = sample * rows * step;         \
        const double count = (double)each * rows;                                                                   \
        const REAL *weight = (const REAL *)job->weight, *bias = (const REAL *)job->bias;                            \
        double sums[COLUMNS];                                                                                       \
        REAL mean[COLUMNS], scale[COLUMNS], shift[COLUMNS];                                                         \
        for (size first = 0, groups; groups = tile_of(job, first), first < job->groups; first += groups) {          \
            const size at = whole + first * each, n = groups * each;                                                \
            const REAL *x = (const REAL *)job->x + at;                                                              \
            kernels->sum_columns_##SUFFIX(sums, x, rows, step, n);                                                  \
            for (size k = 0; k < groups; k++) {                                                                     \
                double total = 0;                                                                                   \
                for (size c = k * each; c < k * each + each; c++) total += sums[c];                                 \
                for (size c = k * each; c < k * each + each; c++) mean[c] = (REAL)(total / count);                  \
            }                                                                                                       \
            kernels->square_columns_##SUFFIX(sums, x, mean, rows, step, n);                                         \
            for (size k = 0; k < groups; k++) {                                                                     \
                double spread = 0;                                                                                  \
                for (size c = k * each; c < k * each + each; c++) spread += sums[c];                                \
                const REAL rstd = 1 / ROOT((REAL)(spread / count) + (REAL)job->eps);                                \
                ((REAL *)job->centre)[sample * job->groups + first + k] = mean[k * each];                           \
                ((REAL *)job->spread)[sample * job->groups + first + k] = rstd;                                     \
                for (size c = k * each, all = first * each + c; c < k * each + each; c++, all++) {                  \
                    scale[c] = weight ? rstd * weight[all] : rstd;                                                  \
                    shift[c] = bias ? -mean[c] * scale[c] + bias[all] : -mean[c] * scale[c];                        \
                }                                                                                                   \
            }                                                                                                       \
            kernels->affine_columns_##SUFFIX((REAL *)job->out + at, x, scale, shift, rows, step, n);                \
        }                                                                                                           \
    }                                                                                                               \
    static void norm_grad_inside_##SUFFIX(const struct group_job *job, size sample)                                 \
    {                                                                                                               \
        const size each = job->each, rows = job->inner, step = job->channels, whole = sample * rows * step;         \
        const double count = (double)each * rows;                                                                   \
        const REAL *weight = (const REAL *)job->weight;                                                             \
        double total[COLUMNS], along[COLUMNS];                                                                      \
        REAL mean[COLUMNS], factor[COLUMNS], slope[COLUMNS], rest[COLUMNS];                                         \
        for (size first = 0, groups; groups = tile_of(job, first), first < job->groups; first += groups) {          \
            const size at = whole + first * each, n = groups * each;                                                \
            const REAL *x = (const REAL *)job->x + at, *g = (const REAL *)job->g + at;                              \
            const REAL *centre = (const REAL *)job->mean + sample * job->groups + first;                            \
            const REAL *spread = (const REAL *)job->rstd + sample * job->groups + first;                            \
            for (size c = 0; c < n; c++) mean[c] = centre[c / each];                                                \
            kernels->sum_columns_##SUFFIX(total, g, rows, step, n);                                                 \
            kernels->product_columns_##SUFFIX(along, g, x, mean, rows, step, n);                                    \
            for (size k = 0; k < groups; k++) {                                                                     \
                const double rstd = spread[k];                                                                      \
                double *sums = job->sums + 2 * (sample * step + (first + k) * each), all = 0, sum = 0;              \
                for (size c = 0, i = k * each; c < each; c++, i++) {                                                \
                    const double w = weight ? weight[first * each + i] : 1;                                         \
                    sums[2 * c] = along[i] * rstd, sums[2 * c + 1] = total[i];                                      \
                    all += sums[2 * c] * w, sum += total[i] * w;                                                    \
                    factor[i] = (REAL)(rstd * w);                                                                   \
                }                                                                                                   \
                const double bend = -rstd * rstd * all / count;                                                     \
                for (size i = k * each; i < k * each + each; i++)                                                   \
                    slope[i] = (REAL)bend, rest[i] = (REAL)(-rstd * sum / count - bend * mean[i]);                  \
            }                                                                                                       \
            if (job->out) kernels->affine2_columns_##SUFFIX((REAL *)job->out + at, g, x, factor, slope, rest, rows, step, n); \
        }                                                                                                           \
    }
DEFINE_INSIDE(float, f32, sqrtf)
DEFINE_INSIDE(double, f64, sqrt)

/* Gradients of a group of channels of one number each. */
#define DEFINE_GRAD_OF_ONES(REAL, SUFFIX)                                                                           \
    static void norm_grad_of_ones_##SUFFIX(const struct group_job *job, size item, REAL *out, const REAL *g, const REAL *x) \
    {                                                                                                               \
        enum { SOME = 512 };                                                                                        \
        const size n = job->each, first = item % job->groups * n;                                                   \
        const REAL *weight = job->weight ? (const REAL *)job->weight + first : NULL;                                \
        const REAL mean = ((const REAL *)job->mean)[item], rstd = ((const REAL *)job->rstd)[item];                  \
        double *sums = job->sums + 2 * item * n, along = 0, total = 0;                                              \
        REAL weighted[SOME], sum, product;                                                                          \
        for (size at = 0; at < n; at += SOME) {                                                                     \
            const size some = n - at < SOME ? n - at : SOME;                                                        \
            for (size c = 0; c < some && weight; c++) weighted[c] = g[at + c] * weight[at + c];                     \
            kernels->product_sums_##SUFFIX(&sum, &product, weight ? weighted : g + at, x + at, mean, some);         \
            along += (double)product * rstd, total += sum;                                                          \
            for (size c = at; c < at + some; c++)                                                                   \
                sums[2 * c] = g[c] * (x[c] - mean) * rstd, sums[2 * c + 1] = g[c];                                  \
        }                                                                                                           \
        if (!out) return;                                                                                           \
        const double bend = -(double)rstd * rstd * along / n;                                                       \
        const REAL slope = (REAL)bend, rest = (REAL)(-rstd * total / n - bend * mean);                              \
        if (weight) for (size c = 0; c < n; c++) out[c] = g[c] * (rstd * weight[c]) + x[c] * slope + rest;          \
        else for (size c = 0; c < n; c++) out[c] = g[c] * rstd + x[c] * slope + rest;                               \
    }
DEFINE_GRAD_OF_ONES(float, f32)
DEFINE_GRAD_OF_ONES(double, f64)

#define DEFINE_GROUP(REAL, SUFFIX, ROOT)                                                                            \
    /* One group of a sample, of numbers that lie together. */                                                     \
    static void norm_##SUFFIX(const struct group_job *job, size item, REAL *out, const REAL *x)                     \
    {                                                                                                               \
        const size n = job->each * job->inner, first = item % job->groups * job->each;                              \
        const REAL *weight = (const REAL *)job->weight, *bias = (const REAL *)job->bias;                            \
        double total = 0, spread = 0, part;                                                                         \
        REAL sum, square;                                                                                           \
        for (size at = 0; at < n; at += PART) {                                                                     \
            kernels->sum_rows_##SUFFIX(&part, x + at, 1, n - at < PART ? n - at : PART);                            \
            total += part;                                                                                          \
        }                                                                                                           \
        const REAL mean = (REAL)(total / n);                                                                        \
        for (size at = 0; at < n; at += PART) {                                                                     \
            kernels->moments_##SUFFIX(&sum, &square, x + at, mean, n - at < PART ? n - at : PART);                  \
            spread += square;                                                                                       \
        }                                                                                                           \
        const REAL rstd = 1 / ROOT((REAL)(spread / n) + (REAL)job->eps);                                            \
        ((REAL *)job->centre)[item] = mean, ((REAL *)job->spread)[item] = rstd;                                     \
        for (size c = 0; c < job->each; c++, out += job->inner, x += job->inner) {                                  \
            const REAL scale = weight ? rstd * weight[first + c] : rstd;                                            \
            const REAL shift = bias ? -mean * scale + bias[first + c] : -mean * scale;                              \
            if (job->inner < 16) for (size i = 0; i < job->inner; i++) out[i] = x[i] * scale + shift;               \
            else kernels->affine_##SUFFIX(out, x, scale, shift, job->inner);                                        \
        }                                                                                                           \
    }                                                                                                               \
    static void norm_grad_##SUFFIX(const struct group_job *job, size item, REAL *out, const REAL *g, const REAL *x) \
    {                                                                                                               \
        const size inner = job->inner, first = item % job->groups * job->each;                                      \
        if (inner == 1) {                                                                                           \
            norm_grad_of_ones_##SUFFIX(job, item, out, g, x);                                                       \
            return;                                                                                                 \
        }                                                                                                           \
        const REAL *weight = (const REAL *)job->weight;                                                             \
        const REAL mean = ((const REAL *)job->mean)[item], rstd = ((const REAL *)job->rstd)[item];                  \
        double *sums = job->sums + 2 * item * job->each, along = 0, total = 0;                                      \
        for (size c = 0; c < job->each; c++) {                                                                      \
            double one = 0, other = 0;                                                                              \
            for (size at = 0; at < inner; at += PART) {                                                             \
                REAL sum = 0, product = 0;                                                                          \
                const size count = inner - at < PART ? inner - at : PART;                                           \
                const REAL *from = g + c * inner + at, *with = x + c * inner + at;                                  \
                if (count < 16) for (size i = 0; i < count; i++) sum += from[i], product += from[i] * (with[i] - mean); \
                else kernels->product_sums_##SUFFIX(&sum, &product, from, with, mean, count);                       \
                one += product, other += sum;                                                                       \
            }                                                                                                       \
            sums[2 * c] = one * rstd, sums[2 * c + 1] = other;                                                      \
            along += sums[2 * c] * (weight ? weight[first + c] : 1), total += other * (weight ? weight[first + c] : 1); \
        }                                                                                                           \
        if (!out) return;                                                                                           \
        const double count = (double)job->each * inner, slope = -(double)rstd * rstd * along / count;               \
        const REAL rest = (REAL)(-rstd * total / count - slope * mean);                                             \
        for (size c = 0; c < job->each; c++, out += inner, g += inner, x += inner) {                                \
            const REAL factor = weight ? rstd * weight[first + c] : rstd;                                           \
            if (inner < 16) for (size i = 0; i < inner; i++) out[i] = g[i] * factor + x[i] * (REAL)slope + rest;    \
            else kernels->affine2_##SUFFIX(out, g, x, factor, (REAL)slope, rest, inner);                            \
        }                                                                                                           \
    }                                                                                                               \
    static void norm_task_##SUFFIX(void *context, size begin, size end, int chunk)                                  \
    {                                                                                                               \
        const struct group_job *job = context;                                                                      \
        const size n = job->each * job->inner;                                                                      \
        (void)chunk;                                                                                                \
        for (size item = begin; item < end && job->innermost; item++) norm_inside_##SUFFIX(job, item);              \
        for (size item = begin; item < end && !job->innermost; item++)                                              \
            norm_##SUFFIX(job, item, (REAL *)job->out + item * n, (const REAL *)job->x + item * n);                 \
    }                                                                                                               \
    static void norm_grad_task_##SUFFIX(void *context, size begin, size end, int chunk)                             \
    {                                                                                                               \
        const struct group_job *job = context;                                                                      \
        const size n = job->each * job->inner;                                                                      \
        (void)chunk;                                                                                                \
        for (size item = begin; item < end && job->innermost; item++) norm_grad_inside_##SUFFIX(job, item);         \
        for (size item = begin; item < end && !job->innermost; item++)                                              \
            norm_grad_##SUFFIX(job, item, job->out ? (REAL *)job->out + item * n : NULL, (const REAL *)job->g + item * n, \
                               (const REAL *)job->x + item * n);                                                    \
    }
DEFINE_GROUP(float, f32, sqrtf)
DEFINE_GROUP(double, f64, sqrt)

static void norm_task_narrow(void *context, size begin, size end, int chunk)
{
    const struct group_job *job = context;
    const size n = job->each * job->inner;
    float *x = (float *)job->room + 2 * n * chunk;
    for (size item = begin; item < end; item++) {
        widen(job, x, job->x, item * n, n);
        norm_f32(job, item, x, x);
        narrow(job, x, item * n, n);
    }
}
static void norm_grad_task_narrow(void *context, size begin, size end, int chunk)
{
    const struct group_job *job = context;
    const size n = job->each * job->inner;
    float *x = (float *)job->room + 2 * n * chunk, *g = x + n;
    for (size item = begin; item < end; item++) {
        widen(job, x, job->x, item * n, n);
        widen(job, g, job->g, item * n, n);
        norm_grad_f32(job, item, job->out ? x : NULL, g, x);
        if (job->out) narrow(job, x, item * n, n);
    }
}

/* None, or `n` numbers of the job's type one after the other. */
static int is_vector(const struct group_job *job, PyObject *vector, size n, const char **data)
{
    if (vector == Py_None) return 1;
    if (!is_real(vector) || PyArray_TYPE((PyArrayObject *)vector) != job->type || PyArray_SIZE((PyArrayObject *)vector) != n ||
        !PyArray_ISCARRAY_RO((PyArrayObject *)vector))
        return 0;
    *data = PyArray_BYTES((PyArrayObject *)vector);
    return 1;
}

/* The samples of images in C order whose channels make as many groups; -1 for others. */
static size read_groups(struct group_job *job, PyObject *given, PyObject *groups)
{
    if (!is_real(given) && !(job->narrow = narrow_kind(given))) return -1;
    PyArrayObject *x = (PyArrayObject *)given;
    job->innermost = !job->narrow && lies_innermost(x);
    if (PyArray_NDIM(x) < 2 || !PyArray_SIZE(x) || !(job->innermost || PyArray_ISCARRAY_RO(x)) || read_number(groups, 1, &job->groups) < 0) return -1;
    job->type = job->narrow ? NPY_FLOAT : PyArray_TYPE(x), job->channels = PyArray_DIM(x, 1), job->inner = 1;
    for (int k = 2; k < PyArray_NDIM(x); k++) job->inner *= PyArray_DIM(x, k);
    job->each = job->channels / job->groups, job->x = PyArray_BYTES(x);
    return job->channels % job->groups || (job->innermost && job->each > COLUMNS) ? -1 : PyArray_DIM(x, 0);
}

/* 0, or -1 where there is no memory */
static int run_groups(struct group_job *job, pool_task single, pool_task twofold, pool_task of_narrow, size samples, double cost)
{
    const size n = (job->innermost ? job->channels : job->each) * job->inner, items = samples * (job->innermost ? 1 : job->groups);
    const int chunks = pool_chunks(items, SHORT_GROUP + cost * n);
    PyArrayObject *room = job->narrow ? scratch(2 * n * chunks, sizeof(float)) : NULL;
    if (job->narrow && !room) return -1;
    job->room = room ? aligned(room) : NULL;
    Py_BEGIN_ALLOW_THREADS
    pool_run(job->narrow ? of_narrow : job->type == NPY_FLOAT ? single : twofold, job, items, chunks);
    Py_END_ALLOW_THREADS
    Py_XDECREF(room);
    return 0;
}

static PyArrayObject *same_kind(const struct group_job *job, PyArrayObject *x)
{
    if (job->innermost) return new_innermost(job->type, PyArray_NDIM(x), PyArray_DIMS(x));
    Py_INCREF(PyArray_DESCR(x));
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), PyArray_NDIM(x), PyArray_DIMS(x), NULL, NULL, 0, NULL);
}

/* group_norm(x, groups, weight | None, bias | None, eps) -> (out, mean, rstd) */
static PyObject *group_norm(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct group_job job = {0};
    if (count != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    job.eps = PyFloat_AsDouble(args[4]);
    if (PyErr_Occurred()) return NULL;
    const size samples = read_groups(&job, args[0], args[1]);
    if (samples < 0 || !is_vector(&job, args[2], job.channels, &job.weight) || !is_vector(&job, args[3], job.channels, &job.bias)) NOT_HANDLED();
    const npy_intp shape[] = {samples, job.groups};
    PyArrayObject *out = same_kind(&job, (PyArrayObject *)args[0]), *mean = (PyArrayObject *)PyArray_SimpleNew(2, shape, job.type);
    PyArrayObject *rstd = (PyArrayObject *)PyArray_SimpleNew(2, shape, job.type);
    if (out && mean && rstd) {
        job.out = PyArray_BYTES(out), job.centre = PyArray_BYTES(mean), job.spread = PyArray_BYTES(rstd);
        if (!run_groups(&job, norm_task_f32, norm_task_f64, norm_task_narrow, samples, 0.3)) return Py_BuildValue("NNN", out, mean, rstd);
    }
    Py_XDECREF(out);
    Py_XDECREF(mean);
    Py_XDECREF(rstd);
    return NULL;
}

/* Adds what each sample has to that of the first one, row by row as it lies. */
static void fold_samples(double *sums, size samples, size n)
{
    for (size s = 1; s < samples; s++)
        for (size k = 0; k < n; k++) sums[k] += sums[s * n + k];
}

/* Every second number from `sums` on, in an array of the parameter's type (float32, of narrow numbers). */
static PyArrayObject *every_second(const struct group_job *job, const double *sums)
{
    const npy_intp shape[] = {job->channels};
    PyArrayObject *found = (PyArrayObject *)PyArray_SimpleNew(1, shape, job->type);
    for (size c = 0; found && c < job->channels; c++) {
        if (job->type == NPY_FLOAT) ((float *)PyArray_DATA(found))[c] = (float)sums[2 * c];
        else ((double *)PyArray_DATA(found))[c] = sums[2 * c];
    }
    return found;
}

/* group_norm_grad(g, x, mean, rstd, weight | None, groups, need_x) -> (grad_x | None, grad_weight, grad_bias) */
static PyObject *group_norm_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct group_job job = {0};
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    const size samples = read_groups(&job, args[1], args[5]);
    if (samples < 0 || args[2] == Py_None || args[3] == Py_None || !is_vector(&job, args[2], samples * job.groups, &job.mean) ||
        !is_vector(&job, args[3], samples * job.groups, &job.rstd) || !is_vector(&job, args[4], job.channels, &job.weight) ||
        (job.narrow ? narrow_kind(args[0]) != job.narrow : !is_like(args[0], args[1])) ||
        !PyArray_SAMESHAPE((PyArrayObject *)args[0], (PyArrayObject *)args[1]))
        NOT_HANDLED();
    const int need_x = PyObject_IsTrue(args[6]);
    PyArrayObject *g = job.innermost ? innermost_of(args[0]) : contiguous(args[0]), *out = NULL, *weight = NULL, *bias = NULL, *sums = NULL;
    if (g && (!need_x || (out = same_kind(&job, (PyArrayObject *)args[1]))) && (sums = scratch(2 * samples * job.channels, sizeof(double)))) {
        job.g = PyArray_BYTES(g), job.out = out ? PyArray_BYTES(out) : NULL, job.sums = (double *)aligned(sums);
        if (!run_groups(&job, norm_grad_task_f32, norm_grad_task_f64, norm_grad_task_narrow, samples, 0.4)) {
            fold_samples(job.sums, samples, 2 * job.channels);
            if ((weight = every_second(&job, job.sums))) bias = every_second(&job, job.sums + 1);
        }
    }
    PyObject *result = bias ? PyTuple_Pack(3, out ? (PyObject *)out : Py_None, weight, bias) : NULL;
    Py_XDECREF(g);
    Py_XDECREF(out);
    Py_XDECREF(sums);
    Py_XDECREF(weight);
    Py_XDECREF(bias);
    return result;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef groups_methods[] = {METHOD(group_norm), METHOD(group_norm_grad), {NULL, NULL, 0, NULL}};
