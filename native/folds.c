/* The last axis brought down to one number a row; and dropout: a mask of one byte for each element, and the product. */
#include "wengert.h"

#include "half.h"

#include "pool.h"
#include "sixteen.h"

enum fold { LARGEST, LEAST };

struct fold_job {
    const char *x;
    char *out;
    size n, inner; /* inner: how many numbers lie beside each other, of which each has its own result */
    int type, narrow; /* narrow: of 16 bits, as narrow_kind has it */
    enum fold fold;
};

/* Rows of a few numbers: a call for each would take longer than its sum. */
enum { SHORT = 8 };
#define DEFINE_SHORT(REAL, SUFFIX)                                                                              \
    static void extreme_short_##SUFFIX(REAL *out, const REAL *x, size rows, size n, int least)                  \
    {                                                                                                           \
        for (size r = 0; r < rows; r++, x += n) {                                                               \
            REAL best = x[0];                                                                                   \
            int nan = best != best;                                                                             \
            if (least) for (size k = 1; k < n; k++) best = x[k] < best ? x[k] : best, nan |= x[k] != x[k];      \
            else for (size k = 1; k < n; k++) best = x[k] > best ? x[k] : best, nan |= x[k] != x[k];            \
            out[r] = nan ? (REAL)NPY_NAN : best;                                                                \
        }                                                                                                       \
    }
DEFINE_SHORT(float, f32)
DEFINE_SHORT(double, f64)

/* Numbers of 16 bits as integers of the same order, which is its own inverse. */
static inline int16_t in_order(int16_t bits) { return (int16_t)(bits ^ ((bits >> 15) & 0x7fff)); }

/* `inner` results of n rows, column by column; of one column the row is what is gone through. */
enum { COLUMNS_AT_ONCE = 1024 }; /* whose results stay in the first cache */
static void extreme_narrow(uint16_t *out, const int16_t *x, size n, size inner, int narrow, int least)
{
    const int16_t infinity = narrow == 1 ? 0x7c00 : 0x7f80, nan = narrow == 1 ? 0x7e00 : 0x7fc0, flip = least ? -1 : 0;
    for (size at = 0; at < inner; at += COLUMNS_AT_ONCE) {
        const size many = inner - at < COLUMNS_AT_ONCE ? inner - at : COLUMNS_AT_ONCE;
        int16_t best[COLUMNS_AT_ONCE], magnitude[COLUMNS_AT_ONCE];
        for (size i = 0; i < many; i++) best[i] = INT16_MIN, magnitude[i] = 0;
        if (inner == 1)
            for (size r = 0; r < n; r++) {
                const int16_t place = in_order(x[r]) ^ flip, bare = x[r] & 0x7fff;
                *best = place > *best ? place : *best, *magnitude = bare > *magnitude ? bare : *magnitude;
            }
        for (size r = 0; inner > 1 && r < n; r++)
            for (size i = 0; i < many; i++) {
                const int16_t bits = x[r * inner + at + i], place = in_order(bits) ^ flip, bare = bits & 0x7fff;
                best[i] = place > best[i] ? place : best[i], magnitude[i] = bare > magnitude[i] ? bare : magnitude[i];
            }
        for (size i = 0; i < many; i++) out[at + i] = (uint16_t)(magnitude[i] > infinity ? nan : in_order(best[i] ^ flip));
    }
}

#define DEFINE_COLUMNS(NAME, TARGET, REAL)                                                        \
    static TARGET void NAME(REAL *restrict out, const REAL *x, size n, size inner, int least)     \
    {                                                                                             \
        enum { MOST = COLUMNS_AT_ONCE };                                                          \
        for (size at = 0; at < inner; at += MOST, out += MOST) {                                  \
            const size many = inner - at < MOST ? inner - at : MOST;                              \
            memcpy(out, x + at, many * sizeof(REAL));                                             \
            for (size r = 1; r < n; r++) {                                                        \
                const REAL *restrict row = x + r * inner + at;                                    \
                if (least)                                                                        \
                    for (size i = 0; i < many; i++) out[i] = (row[i] < out[i]) | (row[i] != row[i]) ? row[i] : out[i]; \
                else                                                                              \
                    for (size i = 0; i < many; i++) out[i] = (row[i] > out[i]) | (row[i] != row[i]) ? row[i] : out[i]; \
            }                                                                                     \
        }                                                                                         \
    }
DEFINE_COLUMNS(columns_f32, , float)
DEFINE_COLUMNS(columns_f64, , double)
#ifdef WITH_AVX2
DEFINE_COLUMNS(columns_wide_f32, WITH_AVX2, float)
DEFINE_COLUMNS(columns_wide_f64, WITH_AVX2, double)
#endif

static void fold_task(void *context, size begin, size end, int chunk)
{
    const struct fold_job *job = context;
    const size n = job->n, rows = end - begin;
    (void)chunk;
    if (job->narrow) {
        for (size r = begin; r < end; r++)
            extreme_narrow((uint16_t *)job->out + r * job->inner, (const int16_t *)job->x + r * n * job->inner, n, job->inner, job->narrow,
                           job->fold == LEAST);
        return;
    }
#define RUN(REAL, SUFFIX)                                                                                            \
    {                                                                                                                \
        const REAL *x = (const REAL *)job->x + begin * n * job->inner;                                               \
        if (job->inner > 1)                                                                                          \
            for (size r = begin; r < end; r++, x += n * job->inner)                                                  \
                WIDER(columns_wide_##SUFFIX, columns_##SUFFIX)((REAL *)job->out + r * job->inner, x, n, job->inner, job->fold == LEAST); \
        else if (n <= SHORT) extreme_short_##SUFFIX((REAL *)job->out + begin, x, rows, n, job->fold == LEAST);       \
        else if (job->fold == LARGEST) kernels->fold_largest_##SUFFIX((REAL *)job->out + begin, x, rows, n);         \
        else kernels->fold_least_##SUFFIX((REAL *)job->out + begin, x, rows, n);                                     \
    }
    if (job->type == NPY_FLOAT) RUN(float, f32) else RUN(double, f64)
#undef RUN
}

static void run_fold(struct fold_job *job, size rows)
{
    const int chunks = pool_chunks(rows, (job->narrow ? 0.05 : 0.1) * job->n * job->inner);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(rows * job->n * job->inner);
    if (chunks > 1) pool_run(fold_task, job, rows, chunks);
    else fold_task(job, 0, rows, 0);
    NPY_END_THREADS
}

int extremes_between(PyArrayObject *x, PyArrayObject *out, const char *gone, int least)
{
    int order[NPY_MAXDIMS], past = 0;
    size rows = 1, n = 1, inner = 1;
    if (!PyArray_ISBEHAVED_RO(x) || !PyArray_SIZE(x) || !memory_order(x, gone, order)) return 0;
    for (int i = 0; i < PyArray_NDIM(x); i++) {
        const npy_intp length = PyArray_DIM(x, order[i]);
        if (length == 1) continue;
        if (!gone[order[i]]) *(n > 1 ? &inner : &rows) *= length, past = n > 1;
        else if (past) return 0; /* more than one run */
        else n *= length;
    }
    struct fold_job job = {PyArray_BYTES(x), PyArray_BYTES(out), n, inner, PyArray_TYPE(x), 0, least ? LEAST : LARGEST};
    run_fold(&job, rows);
    return 1;
}

/* fold_rows(x, rows, kind, inner) -> `inner` numbers for each of the `rows` equal parts of a contiguous array, which are rows of so many: the
 * largest of each column (kind 0) or the least (1) */
static PyObject *fold_rows(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    const npy_intp rows = PyLong_AsSsize_t(args[1]), inner = PyLong_AsSsize_t(args[3]), results = rows * inner;
    const long fold = PyLong_AsLong(args[2]);
    if (PyErr_Occurred()) return NULL;
    PyArrayObject *x = (PyArrayObject *)args[0];
    const int narrow = narrow_kind(args[0]);
    if (!PyArray_CheckExact(args[0]) || !(narrow || is_real(args[0])) || !PyArray_ISCARRAY_RO(x) || rows < 1 || inner < 1 ||
        PyArray_SIZE(x) % results)
        NOT_HANDLED();
    struct fold_job job = {PyArray_BYTES(x), NULL, PyArray_SIZE(x) / results, inner, PyArray_TYPE(x), narrow, (enum fold)fold};
    if (!job.n || fold < LARGEST || fold > LEAST) NOT_HANDLED();
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(1, &results, job.type);
    if (!out) return NULL;
    job.out = PyArray_BYTES(out);
    run_fold(&job, rows);
    return (PyObject *)out;
}

/* ---- runs of rows ---- */

enum join { ADDED, MULTIPLIED, RAISED, LOWERED };

struct runs_job {
    const char *x, *start;
    char *out;
    const int64_t *lengths;
    size *begins, width;
    int type;
    enum join join;
};

static void runs_task(void *context, size begin, size end, int chunk)
{
    const struct runs_job *job = context;
    const size width = job->width;
    (void)chunk;
#define RUN(REAL, SUFFIX)                                                                                       \
    for (size r = begin; r < end; r++) {                                                                        \
        const REAL *x = (const REAL *)job->x + job->begins[r] * width, start = *(const REAL *)job->start;       \
        REAL *restrict out = (REAL *)job->out + r * width;                                                      \
        const size n = job->lengths[r];                                                                         \
        const int least = job->join == LOWERED;                                                                 \
        if (n && job->join >= RAISED) {                                                                         \
            WIDER(columns_wide_##SUFFIX, columns_##SUFFIX)(out, x, n, width, least);                            \
            for (size i = 0; i < width; i++) out[i] = (least ? out[i] > start : out[i] < start) | (start != start) ? start : out[i]; \
            continue;                                                                                           \
        }                                                                                                       \
        for (size i = 0; i < width; i++) out[i] = start;                                                        \
        for (size k = 0; k < n; k++, x += width)                                                                \
            if (job->join == ADDED) kernels->add_##SUFFIX(out, x, width);                                       \
            else for (size i = 0; i < width; i++) out[i] *= x[i];                                               \
    }
    if (job->type == NPY_FLOAT) RUN(float, f32) else RUN(double, f64)
#undef RUN
}

/* fold_runs(rows, lengths, how, start): for each run of rows, one run after the other, `start` (an array of one number) joined with them */
static PyObject *fold_runs(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const char *const names[] = {"sum", "prod", "amax", "amin"};
    (void)module;
    if (count != 4 || !PyUnicode_Check(args[2])) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0], *lengths = (PyArrayObject *)args[1], *start = (PyArrayObject *)args[3];
    int join = 0;
    while (join < 4 && PyUnicode_CompareWithASCIIString(args[2], names[join])) join++;
    if (join == 4 || !is_real(args[0]) || PyArray_NDIM(x) != 2 || !PyArray_ISCARRAY_RO(x) || !PyArray_CheckExact(args[1]) || PyArray_TYPE(lengths) != NPY_INT64 ||
        PyArray_NDIM(lengths) != 1 || !PyArray_ISCARRAY_RO(lengths) || !PyArray_CheckExact(args[3]) || PyArray_NDIM(start) || PyArray_TYPE(start) != PyArray_TYPE(x))
        NOT_HANDLED();
    struct runs_job job = {PyArray_BYTES(x), PyArray_BYTES(start), NULL, PyArray_DATA(lengths), NULL, PyArray_DIM(x, 1), PyArray_TYPE(x), (enum join)join};
    const size runs = PyArray_DIM(lengths, 0), rows = PyArray_DIM(x, 0);
    if (!(job.begins = PyMem_RawMalloc((runs + 1) * sizeof *job.begins))) return PyErr_NoMemory();
    size total = 0;
    for (size r = 0; r < runs && total >= 0; r++) {
        job.begins[r] = total;
        total = job.lengths[r] < 0 || job.lengths[r] > rows - total ? -1 : total + job.lengths[r];
    }
    const npy_intp shape[] = {runs, job.width};
    PyArrayObject *out = total == rows ? new_like(x, 2, shape) : NULL;
    if (out) {
        job.out = PyArray_BYTES(out);
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(PyArray_SIZE(x));
        pool_run(runs_task, &job, runs, pool_chunks(runs, runs ? 0.2 * (double)job.width * (1 + (double)rows / (double)runs) : 0));
        NPY_END_THREADS
    }
    PyMem_RawFree(job.begins);
    if (out || PyErr_Occurred()) return (PyObject *)out;
    NOT_HANDLED();
}

struct mask_job {
    const char *x;
    char *out;
    const uint8_t *mask;
    double scale;
    int type, narrow; /* narrow: of 16 bits, as narrow_kind has it */
};

static void mask_task(void *context, size begin, size end, int chunk)
{
    const struct mask_job *job = context;
    (void)chunk;
    if (job->narrow) {
        float wide[1024];
        for (size at = begin; at < end; at += 1024) {
            const size n = end - at < 1024 ? end - at : 1024;
            (job->narrow == 1 ? kernels->widen_half : kernels->widen_brain)(wide, (const uint16_t *)job->x + at, n);
            kernels->masked_scale_f32(wide, wide, job->mask + at, (float)job->scale, n);
            (job->narrow == 1 ? kernels->narrow_half : kernels->narrow_brain)((uint16_t *)job->out + at, wide, n);
        }
        return;
    }
    if (job->type == NPY_FLOAT)
        kernels->masked_scale_f32((float *)job->out + begin, (const float *)job->x + begin, job->mask + begin, (float)job->scale, end - begin);
    else
        kernels->masked_scale_f64((double *)job->out + begin, (const double *)job->x + begin, job->mask + begin, job->scale, end - begin);
}

/* masked_scale(x, mask, scale): a contiguous mask of truth values, of the shape of x */
static PyObject *masked_scale(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0], *mask = (PyArrayObject *)args[1];
    const int narrow = narrow_kind(args[0]);
    if (!PyArray_CheckExact(args[0]) || !PyArray_CheckExact(args[1]) || !(narrow || is_real(args[0])) || !PyArray_ISCARRAY_RO(x) ||
        PyArray_TYPE(mask) != NPY_BOOL || !PyArray_ISCARRAY_RO(mask) || !PyArray_SAMESHAPE(x, mask))
        NOT_HANDLED();
    struct mask_job job = {PyArray_BYTES(x), NULL, PyArray_DATA(mask), PyFloat_AsDouble(args[2]), PyArray_TYPE(x), narrow};
    if (job.scale == -1 && PyErr_Occurred()) return NULL;
    if (narrow) job.scale = narrow == 1 ? float_of_half(half_of_double(job.scale)) : float_of_brain(brain_of_float((float)job.scale));
    PyArrayObject *out = new_like(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (!out) return NULL;
    job.out = PyArray_BYTES(out);
    const size n = PyArray_SIZE(x);
    const int chunks = pool_chunks(n, 0.15);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED(n);
    if (chunks > 1) pool_run(mask_task, &job, n, chunks);
    else mask_task(&job, 0, n, 0);
    NPY_END_THREADS
    return (PyObject *)out;
}

/* square_sum(arrays): the sum of the squares of all elements of a list of arrays, in double precision */
static PyObject *square_sum(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 1 || !PyList_CheckExact(args[0])) return PyErr_Format(PyExc_TypeError, "expected a list");
    double total = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(args[0]); i++) {
        PyArrayObject *x = (PyArrayObject *)PyList_GET_ITEM(args[0], i);
        if (!PyArray_CheckExact(x) || !is_real((PyObject *)x) || !PyArray_ISONESEGMENT(x) || !PyArray_ISALIGNED(x)) NOT_HANDLED();
        double sum = 0;
        if (PyArray_TYPE(x) == NPY_FLOAT) kernels->fold_squares_f32(&sum, PyArray_DATA(x), 1, PyArray_SIZE(x));
        else kernels->fold_squares_f64(&sum, PyArray_DATA(x), 1, PyArray_SIZE(x));
        total += sum;
    }
    return PyFloat_FromDouble(total);
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef folds_methods[] = {METHOD(fold_rows), METHOD(fold_runs), METHOD(masked_scale), METHOD(square_sum), {NULL, NULL, 0, NULL}};
