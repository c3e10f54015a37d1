/* Work along one axis of an array, seen as (outer, n, inner): running sums, products and extremes, and reading and
 * writing at places along the axis. */
#include "wengert.h"

#include "half.h"

#include "pool.h"

enum { CHAINS = 8, SPAN = 64 };

struct line_job {
    const char *x;
    char *out;
    int64_t *places;
    const int64_t *index;
    size outer, n, inner, count; /* count: how many places along the axis an index has */
    size index_line, index_step; /* from line to line of the index, and from place to place: `inner`, or 1 where all of a row have one */
    int one;                     /* one value is written everywhere */
    size tiles, width;
    int type, product, back, least, failed;
    int axes; /* where lines lie apart: how many axes are before them, their lengths and steps in bytes */
    const npy_intp *lengths, *steps;
};

enum { REALS, SMALL, COMPLEX, WHOLE }; /* types: real, any of up to 8 bytes, complex, int64 */

/* Whether lines along an axis are whole in memory, wherever each of them lies. */
static int lie_apart(struct line_job *job, PyArrayObject *x, int along)
{
    npy_intp step = PyArray_ITEMSIZE(x);
    if (!PyArray_ISALIGNED(x) || !PyArray_ISNOTSWAPPED(x)) return 0;
    for (int k = PyArray_NDIM(x) - 1; k >= along; step *= PyArray_DIM(x, k), k--)
        if (PyArray_DIM(x, k) != 1 && PyArray_STRIDE(x, k) != step) return 0;
    job->axes = along, job->lengths = PyArray_DIMS(x), job->steps = PyArray_STRIDES(x);
    return 1;
}

/* Where a line begins, in bytes. */
static size line_offset(const struct line_job *job, size line)
{
    if (!job->axes) return line * job->n * job->inner * job->width;
    size offset = 0;
    for (int k = job->axes - 1; k >= 0; line /= job->lengths[k], k--) offset += line % job->lengths[k] * job->steps[k];
    return offset;
}

/* Read (x, axis) as lines of an array of these types, contiguous (or, if they may lie apart, each for itself); 0 on success. */
static int read_lines(struct line_job *job, PyObject *array, PyObject *axis, int types, int apart)
{
    if (!PyArray_CheckExact(array)) return -1;
    PyArrayObject *x = (PyArrayObject *)array;
    const int ndim = PyArray_NDIM(x);
    long along = PyLong_AsLong(axis);
    if (along == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    if (along < 0) along += ndim;
    if (along < 0 || along >= ndim || PyDataType_REFCHK(PyArray_DESCR(x))) return -1;
    if (!PyArray_ISCARRAY_RO(x) && !(apart && lie_apart(job, x, (int)along))) return -1;
    if (types == SMALL ? PyArray_ITEMSIZE(x) > 8 || (PyArray_ITEMSIZE(x) & (PyArray_ITEMSIZE(x) - 1))
        : types == WHOLE   ? PyArray_TYPE(x) != NPY_INT64 || !PyArray_ISNOTSWAPPED(x)
        : types == COMPLEX ? PyArray_TYPE(x) != NPY_CFLOAT && PyArray_TYPE(x) != NPY_CDOUBLE : !is_real(array))
        return -1;
    job->type = PyArray_TYPE(x), job->width = PyArray_ITEMSIZE(x), job->x = PyArray_BYTES(x);
    job->outer = job->inner = 1, job->n = PyArray_DIM(x, along);
    for (int k = 0; k < along; k++) job->outer *= PyArray_DIM(x, k);
    for (int k = (int)along + 1; k < ndim; k++) job->inner *= PyArray_DIM(x, k);
    return 0;
}

static void run_lines(pool_task task, struct line_job *job, size items, double cost)
{
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)(items * cost));
    const int chunks = pool_chunks(items, cost);
    if (chunks > 1) pool_run(task, job, items, chunks);
    else task(job, 0, items, 0);
    NPY_END_THREADS
}

/* ---- running sums and products, of real numbers carried in double precision ---- */

#define STEP(sum, place)                                     \
    do {                                                     \
        const size at = place;                               \
        sum = product ? sum * x[at] : sum + x[at];           \
        out[at] = (__typeof__(*out))sum;                     \
    } while (0)
/* Compiled for each of the cases. */
#define SCAN(function, ...)                                     \
    do {                                                        \
        if (job->product) function(__VA_ARGS__, 1, 0);          \
        else if (job->back) function(__VA_ARGS__, 0, 1);        \
        else function(__VA_ARGS__, 0, 0);                       \
    } while (0)
#define DEFINE_SCAN(REAL, SUFFIX, SUM)                                                                         \
    static inline void scan_lines_##SUFFIX(REAL *out, const REAL *x, size lines, size n, int product, int back) \
    {                                                                                                          \
        SUM sum[CHAINS];                                                                                       \
        for (size k = 0; k < lines; k++) sum[k] = product;                                                     \
        /* Additions that wait for each other, of several lines by turns. By copies: lines that are a power of two apart would drive  \
         * each other out of the cache. */                                                                     \
        if (lines == CHAINS)                                                                                   \
            for (size begin = 0; begin < n; begin += SPAN) {                                                   \
                const size span = n - begin < SPAN ? n - begin : SPAN, from = back ? n - begin - span : begin; \
                REAL part[CHAINS][SPAN];                                                                       \
                for (int k = 0; k < CHAINS; k++) memcpy(part[k], x + k * n + from, span * sizeof(REAL));       \
                for (size i = 0; i < span; i++)                                                                \
                    for (int k = 0; k < CHAINS; k++) {                                                         \
                        REAL *at = part[k] + (back ? span - 1 - i : i);                                        \
                        sum[k] = product ? sum[k] * *at : sum[k] + *at;                                        \
                        *at = (REAL)sum[k];                                                                    \
                    }                                                                                          \
                for (int k = 0; k < CHAINS; k++) memcpy(out + k * n + from, part[k], span * sizeof(REAL));     \
            }                                                                                                  \
        else                                                                                                   \
            for (size k = 0; k < lines; k++)                                                                   \
                for (size i = 0; i < n; i++) STEP(sum[k], k * n + (back ? n - 1 - i : i));                     \
    }                                                                                                          \
    static inline void scan_columns_##SUFFIX(REAL *out, const REAL *x, size n, size inner, size count, int product, int back) \
    {                                                                                                          \
        SUM sum[COLUMNS];                                                                                      \
        for (size k = 0; k < count; k++) sum[k] = product;                                                     \
        for (size i = 0; i < n; i++)                                                                           \
            for (size k = 0; k < count; k++) STEP(sum[k], (back ? n - 1 - i : i) * inner + k);                 \
    }                                                                                                          \
    static inline void scan_pairs_##SUFFIX(REAL *out, const REAL *x, size n, int product, int back)            \
    {                                                                                                          \
        SUM first = product, second = product;                                                                 \
        for (size i = 0; i < n; i++) {                                                                         \
            STEP(first, 2 * (back ? n - 1 - i : i));                                                           \
            STEP(second, 2 * (back ? n - 1 - i : i) + 1);                                                      \
        }                                                                                                      \
    }                                                                                                          \
    static void scan_task_##SUFFIX(void *context, size begin, size end, int chunk)                             \
    {                                                                                                          \
        const struct line_job *job = context;                                                                  \
        const REAL *x = (const REAL *)job->x;                                                                  \
        REAL *out = (REAL *)job->out;                                                                          \
        (void)chunk;                                                                                           \
        for (size item = begin; item < end; item++) {                                                          \
            if (job->inner == 1) {                                                                             \
                const size first = item * CHAINS, lines = job->outer - first < CHAINS ? job->outer - first : CHAINS; \
                SCAN(scan_lines_##SUFFIX, out + first * job->n, x + first * job->n, lines, job->n);            \
                continue;                                                                                      \
            }                                                                                                  \
            const size first = item % job->tiles * COLUMNS, at = item / job->tiles * job->n * job->inner + first; \
            const size count = job->inner - first < COLUMNS ? job->inner - first : COLUMNS;                    \
            if (job->inner == 2) SCAN(scan_pairs_##SUFFIX, out + at, x + at, job->n);                          \
            else SCAN(scan_columns_##SUFFIX, out + at, x + at, job->n, job->inner, count);                     \
        }                                                                                                      \
    }
DEFINE_SCAN(float, f32, double)
DEFINE_SCAN(double, f64, double)
DEFINE_SCAN(uint64_t, i64, uint64_t) /* which wraps */

/* Products of complex numbers up to each, in their own precision as NumPy's. */
#define DEFINE_COMPLEX_PRODUCTS(REAL)                                                                      \
    static void complex_products_##REAL(REAL *to, const REAL *x, size outer, size n, size inner)           \
    {                                                                                                      \
        const size step = 2 * inner;                                                                       \
        for (size o = 0; o < outer; o++, x += n * step, to += n * step)                                    \
            for (size k = 0; n && k < step; k += 2) {                                                      \
                REAL a = to[k] = x[k], b = to[k + 1] = x[k + 1];                                           \
                for (size i = k + step; i < n * step; i += step) {                                         \
                    const REAL c = x[i], d = x[i + 1], real = a * c - b * d;                               \
                    b = to[i + 1] = a * d + b * c, a = to[i] = real;                                       \
                }                                                                                          \
            }                                                                                              \
    }
DEFINE_COMPLEX_PRODUCTS(float)
DEFINE_COMPLEX_PRODUCTS(double)

static PyObject *scan(PyObject *const *args, Py_ssize_t count, int product)
{
    struct line_job job = {.product = product};
    if (count != 3 - product) return PyErr_Format(PyExc_TypeError, "expected %d arguments", 3 - product);
    const int pairs = read_lines(&job, args[0], args[1], COMPLEX, 0) == 0;
    if (!pairs && read_lines(&job, args[0], args[1], REALS, 0) < 0 && read_lines(&job, args[0], args[1], WHOLE, 0) < 0) NOT_HANDLED();
    job.back = !product && PyObject_IsTrue(args[2]);
    PyArrayObject *x = (PyArrayObject *)args[0], *out = new_like(x, PyArray_NDIM(x), PyArray_DIMS(x));
    if (!out) return NULL;
    if (pairs && product) {
        if (job.type == NPY_CFLOAT) complex_products_float(PyArray_DATA(out), PyArray_DATA(x), job.outer, job.n, job.inner);
        else complex_products_double(PyArray_DATA(out), PyArray_DATA(x), job.outer, job.n, job.inner);
        return (PyObject *)out;
    }
    if (pairs) job.inner *= 2, job.type = job.type == NPY_CFLOAT ? NPY_FLOAT : NPY_DOUBLE; /* each part for itself */
    job.out = PyArray_BYTES(out), job.tiles = (job.inner + COLUMNS - 1) / COLUMNS;
    const size items = job.inner == 1 ? (job.outer + CHAINS - 1) / CHAINS : job.outer * job.tiles;
    if (PyArray_SIZE(x))
        run_lines(job.type == NPY_FLOAT ? scan_task_f32 : job.type == NPY_DOUBLE ? scan_task_f64 : scan_task_i64, &job, items, 0.5 * (PyArray_SIZE(x) / items));
    return (PyObject *)out;
}
/* running_sum(x, axis, back), running_product(x, axis) */
static PyObject *running_sum(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return scan(args, count, 0);
}
static PyObject *running_product(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return scan(args, count, 1);
}

/* ---- running extremes: the last of equal ones, and NaN above all ---- */

#define DEFINE_EXTREME(REAL, SUFFIX)                                                                         \
    static inline void extreme_line_##SUFFIX(REAL *out, int64_t *places, const REAL *x, size n, size step, int least) \
    {                                                                                                        \
        REAL best = n ? x[0] : 0;                                                                            \
        int64_t place = 0;                                                                                   \
        for (size i = 0; i < n; i++) {                                                                       \
            const REAL value = x[i * step];                                                                  \
            const int better = (value != value) | (least ? value <= best : value >= best);                   \
            best = better ? value : best, place = better ? i : place;                                        \
            out[i * step] = best, places[i * step] = place;                                                  \
        }                                                                                                    \
    }                                                                                                        \
    static void extreme_task_##SUFFIX(void *context, size begin, size end, int chunk)                        \
    {                                                                                                        \
        const struct line_job *job = context;                                                                \
        (void)chunk;                                                                                         \
        for (size item = begin; item < end; item++) {                                                        \
            const size at = item / job->inner * job->n * job->inner + item % job->inner;                     \
            const REAL *x = (const REAL *)job->x + at;                                                       \
            if (job->least) extreme_line_##SUFFIX((REAL *)job->out + at, job->places + at, x, job->n, job->inner, 1); \
            else extreme_line_##SUFFIX((REAL *)job->out + at, job->places + at, x, job->n, job->inner, 0);   \
        }                                                                                                    \
    }
DEFINE_EXTREME(float, f32)
DEFINE_EXTREME(double, f64)
DEFINE_EXTREME(int64_t, i64)

/* running_extreme(x, axis, least) -> values, places */
static PyObject *running_extreme(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct line_job job = {0};
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (read_lines(&job, args[0], args[1], REALS, 0) < 0 && read_lines(&job, args[0], args[1], WHOLE, 0) < 0) NOT_HANDLED();
    job.least = PyObject_IsTrue(args[2]);
    PyArrayObject *x = (PyArrayObject *)args[0], *out = new_like(x, PyArray_NDIM(x), PyArray_DIMS(x));
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(x), PyArray_DIMS(x), NPY_INT64);
    if (!out || !places) {
        Py_XDECREF(out);
        Py_XDECREF(places);
        return NULL;
    }
    job.out = PyArray_BYTES(out), job.places = PyArray_DATA(places);
    if (PyArray_SIZE(x))
        run_lines(job.type == NPY_FLOAT ? extreme_task_f32 : job.type == NPY_DOUBLE ? extreme_task_f64 : extreme_task_i64, &job, job.outer * job.inner, 1.0 * job.n);
    return Py_BuildValue("NN", out, places);
}

/* ---- reading and writing at places along the axis ---- */

/* The index must have the shape of x, apart from the axis, and be contiguous or the same all along the dimensions behind the axis (and
 * then, perhaps, along those before it); 0 on success. */
static int read_index(struct line_job *job, PyArrayObject *x, PyObject *axis, PyObject *object)
{
    if (!PyArray_CheckExact(object)) return -1;
    PyArrayObject *index = (PyArrayObject *)object;
    const int ndim = PyArray_NDIM(x);
    long along = PyLong_AsLong(axis);
    if (along == -1 && PyErr_Occurred()) PyErr_Clear(), along = ndim;
    if (along < 0) along += ndim;
    if (along < 0 || along >= ndim || PyArray_TYPE(index) != NPY_INT64 || !PyArray_ISALIGNED(index) || !PyArray_ISNOTSWAPPED(index) ||
        PyArray_NDIM(index) != ndim)
        return -1;
    for (int k = 0; k < ndim; k++)
        if (k != along && PyArray_DIM(index, k) != PyArray_DIM(x, k)) return -1;
    job->count = PyArray_DIM(index, along), job->index = PyArray_DATA(index);
    job->index_line = job->count * job->inner, job->index_step = job->inner;
    if (PyArray_ISCARRAY_RO(index)) return 0;
    for (int k = ndim - 1; k > along; k--)
        if (PyArray_DIM(index, k) != 1 && PyArray_STRIDE(index, k)) return -1;
    if (job->count != 1 && PyArray_STRIDE(index, along) != (npy_intp)sizeof(int64_t)) return -1;
    npy_intp line = sizeof(int64_t) * job->count;
    int same = 1, whole = 1;
    for (int k = (int)along - 1; k >= 0; k--) {
        if (PyArray_DIM(index, k) == 1) continue;
        same &= !PyArray_STRIDE(index, k), whole &= PyArray_STRIDE(index, k) == line, line *= PyArray_DIM(index, k);
    }
    if (!same && !whole) return -1;
    job->index_step = 1, job->index_line = whole ? job->count : 0;
    return 0;
}

/* Whether every line is read or written at the same places, and these are inside. */
static int is_same_for_all(const struct line_job *job)
{
    size wrong = job->index_line;
    for (size k = 0; !job->index_line && k < job->count; k++) wrong |= (uint64_t)job->index[k] >= (uint64_t)job->n;
    return !wrong;
}

/* ACTION(a place in the long array, a place in the one of the index's shape); lines are done in full by one thread, so that
 * what is written to a place does not depend on the number of threads. Rows in memory (`inner` 1) have a loop of their own, and so
 * have rows with one place for all of their numbers; places that all lines share are looked at once (`known`). */
#define ALONG_CHECK                                                                                \
    if (!known && (uint64_t)*index >= (uint64_t)n) {                                               \
        job->failed = 1;                                                                           \
        return;                                                                                    \
    }
#define DEFINE_ALONG(name, LONG, SHORT, ACTION)                                                    \
    static inline void name##_line(struct line_job *job, LONG *lines, SHORT *values, const int64_t *index, size n, size count, size inner, size next, int known) \
    {                                                                                              \
        for (size k = 0; k < count; k++)                                                           \
            for (size i = 0; i < inner; i++, index++, values += next) {                            \
                ALONG_CHECK                                                                        \
                LONG *place = lines + *index * inner + i;                                          \
                ACTION;                                                                            \
            }                                                                                      \
    }                                                                                              \
    static inline void name##_rows(struct line_job *job, LONG *lines, SHORT *row, const int64_t *index, size n, size count, size inner, size next) \
    {                                                                                              \
        const int known = 0;                                                                       \
        for (size k = 0; k < count; k++, index++, row += next * inner) {                           \
            ALONG_CHECK                                                                            \
            LONG *restrict to = lines + *index * inner;                                            \
            SHORT *restrict from = row;                                                            \
            for (size i = 0; i < inner; i++) {                                                     \
                LONG *place = to + i;                                                              \
                SHORT *values = from + next * i;                                                   \
                ACTION;                                                                            \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void name(void *context, size begin, size end, int chunk)                               \
    {                                                                                              \
        struct line_job *job = context;                                                            \
        const size n = job->n, inner = job->inner, count = job->count;                             \
        const int known = inner == 1 && !job->one && is_same_for_all(job);                         \
        (void)chunk;                                                                               \
        for (size o = begin; o < end && !job->failed; o++) {                                       \
            LONG *lines = (LONG *)(job->x + line_offset(job, o));                                  \
            SHORT *values = (SHORT *)job->out + (job->one ? 0 : o * count * inner);                \
            const int64_t *index = job->index + o * job->index_line;                               \
            if (job->index_step != inner && job->one) name##_rows(job, lines, values, index, n, count, inner, 0); \
            else if (job->index_step != inner) name##_rows(job, lines, values, index, n, count, inner, 1); \
            else if (job->one) name##_line(job, lines, values, index, n, count, inner, 0, 0);      \
            else if (known) name##_line(job, lines, values, index, n, count, 1, 1, 1);             \
            else if (inner == 1) name##_line(job, lines, values, index, n, count, 1, 1, 0);        \
            else name##_line(job, lines, values, index, n, count, inner, 1, 0);                    \
        }                                                                                          \
    }
#define DEFINE_READ_AND_WRITE(bits)                                                                         \
    DEFINE_ALONG(take_##bits, const uint##bits##_t, uint##bits##_t, *values = *place)                    \
    DEFINE_ALONG(put_##bits, uint##bits##_t, const uint##bits##_t, *place = *values)
DEFINE_READ_AND_WRITE(8)
DEFINE_READ_AND_WRITE(16)
DEFINE_READ_AND_WRITE(32)
DEFINE_READ_AND_WRITE(64)
#define DEFINE_JOIN(T, S)                                                                            \
    DEFINE_ALONG(add_##S, T, const T, *place += *values)                                             \
    DEFINE_ALONG(times_##S, T, const T, *place *= *values)                                           \
    DEFINE_ALONG(largest_##S, T, const T, *place = *place >= *values || *place != *place ? *place : *values) \
    DEFINE_ALONG(least_##S, T, const T, *place = *place <= *values || *place != *place ? *place : *values)
DEFINE_JOIN(float, f32)
DEFINE_JOIN(double, f64)

/* Each sum is rounded, as in PyTorch. */
DEFINE_ALONG(add_half, uint16_t, const uint16_t, *place = half_of_float(float_of_half(*place) + float_of_half(*values)))
DEFINE_ALONG(add_brain, uint16_t, const uint16_t, *place = brain_of_float(float_of_brain(*place) + float_of_brain(*values)))

static const pool_task takes[] = {take_8, take_16, take_32, take_64}, puts_[] = {put_8, put_16, put_32, put_64};
static const pool_task joins_f32[] = {add_f32, times_f32, largest_f32, least_f32}, joins_f64[] = {add_f64, times_f64, largest_f64, least_f64};

static pool_task of_width(const pool_task *tasks, size width) { return tasks[width == 1 ? 0 : width == 2 ? 1 : width == 4 ? 2 : 3]; }

/* take_along(x, axis, index); a place outside is for the caller to report */
PyObject *take_along(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct line_job job = {0};
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (read_lines(&job, args[0], args[1], SMALL, 1) < 0 || read_index(&job, (PyArrayObject *)args[0], args[1], args[2]) < 0) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0], *index = (PyArrayObject *)args[2];
    Py_INCREF(PyArray_DESCR(x));
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(x), PyArray_NDIM(index),
                                                               PyArray_DIMS(index), NULL, NULL, 0, NULL);
    if (!out) return NULL;
    job.out = PyArray_BYTES(out);
    if (PyArray_SIZE(index)) run_lines(of_width(takes, job.width), &job, job.outer, 1.0 * job.count * job.inner);
    if (!job.failed) return (PyObject *)out;
    Py_DECREF(out);
    NOT_HANDLED();
}

/* (out, axis, index, values), all of one shape but for the axis, or one value for all; out and values are contiguous, out is written.
 * `join` is a number of joins_f32, or -1: writes. A place outside is for the caller to report, who drops out. */
static PyObject *write_along(PyObject *const *args, int join)
{
    struct line_job job = {0};
    const int narrow = join ? 0 : narrow_kind(args[0]);
    if (read_lines(&job, args[0], args[1], join < 0 || narrow ? SMALL : REALS, 0) < 0 || read_index(&job, (PyArrayObject *)args[0], args[1], args[2]) < 0) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0], *index = (PyArrayObject *)args[2], *values = (PyArrayObject *)args[3];
    if (!PyArray_ISWRITEABLE(x) || !PyArray_CheckExact(args[3]) || PyArray_TYPE(values) != PyArray_TYPE(x) || !PyArray_ISCARRAY_RO(values)) NOT_HANDLED();
    job.one = join < 0 && !PyArray_NDIM(values);
    if (!job.one && !PyArray_SAMESHAPE(values, index)) NOT_HANDLED();
    job.out = PyArray_BYTES(values);
    if (PyArray_SIZE(index))
        run_lines(join < 0 ? of_width(puts_, job.width) : narrow ? (narrow == 1 ? add_half : add_brain) : (job.type == NPY_FLOAT ? joins_f32 : joins_f64)[join], &job, job.outer,
                  1.5 * job.count * job.inner);
    if (job.failed) NOT_HANDLED();
    return Py_NewRef(args[0]);
}
static PyObject *put_along(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    return write_along(args, -1);
}
static PyObject *add_along(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    return write_along(args, 0);
}
/* join_along(out, axis, index, values, how) */
static PyObject *join_along(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const char *const names[] = {"sum", "prod", "amax", "amin"};
    (void)module;
    if (count != 5 || !PyUnicode_Check(args[4])) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    for (int k = 0; k < 4; k++)
        if (PyUnicode_CompareWithASCIIString(args[4], names[k]) == 0) return write_along(args, k);
    NOT_HANDLED();
}

/* ---- the most frequent value of a row, found as PyTorch finds it ---- */

/* std::sort of GNU's library on (value, place) by the value alone: which of equal values ends where, and what becomes of NaN,
 * decides which place is reported. Walks that NaN would lead out of the row stop at its ends. */
#define DEFINE_MODE(T, S)                                                                                     \
    struct held_##S {                                                                                         \
        T value;                                                                                              \
        int64_t place;                                                                                        \
    };                                                                                                        \
    static void swap_##S(struct held_##S *a, struct held_##S *b)                                              \
    {                                                                                                         \
        const struct held_##S t = *a;                                                                         \
        *a = *b, *b = t;                                                                                      \
    }                                                                                                         \
    static void median_first_##S(struct held_##S *to, struct held_##S *a, struct held_##S *b, struct held_##S *c) \
    {                                                                                                         \
        if (a->value < b->value) swap_##S(to, b->value < c->value ? b : a->value < c->value ? c : a);         \
        else swap_##S(to, a->value < c->value ? a : b->value < c->value ? c : b);                             \
    }                                                                                                         \
    static void sift_##S(struct held_##S *x, size hole, size n, struct held_##S v)                            \
    {                                                                                                         \
        const size top = hole;                                                                                \
        size child = hole;                                                                                    \
        while (child < (n - 1) / 2) {                                                                         \
            child = 2 * (child + 1);                                                                          \
            if (x[child].value < x[child - 1].value) child--;                                                 \
            x[hole] = x[child], hole = child;                                                                 \
        }                                                                                                     \
        if (!(n & 1) && child == (n - 2) / 2) child = 2 * child + 1, x[hole] = x[child], hole = child;        \
        for (size parent = (hole - 1) / 2; hole > top && x[parent].value < v.value; parent = (hole - 1) / 2)  \
            x[hole] = x[parent], hole = parent;                                                               \
        x[hole] = v;                                                                                          \
    }                                                                                                         \
    static void heap_sort_##S(struct held_##S *x, size n)                                                     \
    {                                                                                                         \
        for (size k = (n - 2) / 2; k >= 0; k--) sift_##S(x, k, n, x[k]);                                      \
        for (size last = n - 1; last > 0; last--) {                                                           \
            const struct held_##S v = x[last];                                                                \
            x[last] = x[0];                                                                                   \
            sift_##S(x, 0, last, v);                                                                          \
        }                                                                                                     \
    }                                                                                                         \
    static void part_##S(struct held_##S *x, size n, int depth)                                               \
    {                                                                                                         \
        while (n > 16) {                                                                                      \
            if (!depth--) {                                                                                   \
                heap_sort_##S(x, n);                                                                          \
                return;                                                                                       \
            }                                                                                                 \
            median_first_##S(x, x + 1, x + n / 2, x + n - 1);                                                 \
            size low = 1, high = n;                                                                           \
            for (;; low++) {                                                                                  \
                while (low < n && x[low].value < x[0].value) low++;                                           \
                for (high--; high > 0 && x[0].value < x[high].value; high--) {}                               \
                if (low >= high) break;                                                                       \
                swap_##S(x + low, x + high);                                                                  \
            }                                                                                                 \
            part_##S(x + low, n - low, depth);                                                                \
            n = low;                                                                                          \
        }                                                                                                     \
    }                                                                                                         \
    static void insert_##S(struct held_##S *x, size n)                                                        \
    {                                                                                                         \
        for (size i = 1; i < n; i++) {                                                                        \
            const struct held_##S v = x[i];                                                                   \
            size k = i;                                                                                       \
            if (i < 16 && v.value < x[0].value)                                                               \
                for (; k > 0; k--) x[k] = x[k - 1];                                                           \
            else                                                                                              \
                for (; k > 0 && v.value < x[k - 1].value; k--) x[k] = x[k - 1];                               \
            x[k] = v;                                                                                         \
        }                                                                                                     \
    }                                                                                                         \
    static int64_t mode_##S(const T *row, size n, struct held_##S *x)                                         \
    {                                                                                                         \
        int depth = 0;                                                                                        \
        for (size k = n; k > 1; k >>= 1) depth += 2;                                                          \
        for (size k = 0; k < n; k++) x[k].value = row[k], x[k].place = k;                                     \
        part_##S(x, n, depth);                                                                                \
        insert_##S(x, n);                                                                                     \
        int64_t found = 0;                                                                                    \
        size most = 0;                                                                                        \
        for (size k = 0, count = 1; k < n; k++, count++)                                                      \
            if (k == n - 1 || x[k].value != x[k + 1].value) {                                                 \
                if (count > most) most = count, found = x[k].place;                                           \
                count = 0;                                                                                    \
            }                                                                                                 \
        return found;                                                                                         \
    }
DEFINE_MODE(double, f64)
DEFINE_MODE(int64_t, i64)

/* mode_places(rows): the place of the most frequent value of each row of a matrix of float64 or int64 */
static PyObject *mode_places(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 1 || !PyArray_CheckExact(args[0])) return PyErr_Format(PyExc_TypeError, "expected an array");
    PyArrayObject *x = (PyArrayObject *)args[0];
    const int type = PyArray_TYPE(x);
    if (PyArray_NDIM(x) != 2 || !PyArray_ISCARRAY_RO(x) || (type != NPY_DOUBLE && type != NPY_INT64)) NOT_HANDLED();
    const size rows = PyArray_DIM(x, 0), n = PyArray_DIM(x, 1);
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(1, PyArray_DIMS(x), NPY_INT64);
    void *room = out ? PyMem_RawMalloc((n + 1) * sizeof(struct held_f64)) : NULL;
    if (!room) {
        Py_XDECREF(out);
        return PyErr_NoMemory();
    }
    int64_t *places = PyArray_DATA(out);
    Py_BEGIN_ALLOW_THREADS
    for (size r = 0; r < rows; r++)
        places[r] = type == NPY_DOUBLE ? mode_f64((const double *)PyArray_DATA(x) + r * n, n, room)
                                       : mode_i64((const int64_t *)PyArray_DATA(x) + r * n, n, room);
    Py_END_ALLOW_THREADS
    PyMem_RawFree(room);
    return (PyObject *)out;
}

/* ---- bags: sums of rows at places ---- */

struct bag_job {
    const char *weight, *factors; /* factors: of each row, or NULL */
    char *out;
    const int64_t *places, *starts;
    size bags, count, rows, width, skipped; /* count: of the places; skipped: one whose row counts for nothing, or -1 */
    int type, average, failed;     /* failed: a place that there is not */
    int narrow;                    /* numbers of 16 bits, as narrow_kind has it */
};

/* A bag of rows of 16 bits: sums of COLUMNS numbers in float32 at a time. */
static int narrow_bag(const struct bag_job *job, size first, size last, uint16_t *out)
{
    float sum[COLUMNS], row[COLUMNS];
    for (size k = first; k < last; k++)
        if (job->places[k] < 0 || job->places[k] >= job->rows) return 0;
    for (size at = 0; at < job->width; at += COLUMNS) {
        const size n = job->width - at < COLUMNS ? job->width - at : COLUMNS;
        memset(sum, 0, sizeof sum);
        for (size k = first; k < last; k++) {
            (job->narrow == 2 ? kernels->widen_brain : kernels->widen_half)(row, (const uint16_t *)job->weight + job->places[k] * job->width + at, n);
            kernels->add_f32(sum, row, n);
        }
        if (job->average && last > first)
            for (size i = 0; i < n; i++) sum[i] /= (float)(last - first);
        (job->narrow == 2 ? kernels->narrow_brain : kernels->narrow_half)(out + at, sum, n);
    }
    return 1;
}

static void bag_task(void *context, size begin, size end, int chunk)
{
    struct bag_job *job = context;
    const size width = job->width;
    (void)chunk;
#define RUN(REAL, SUFFIX)                                                                                          \
    for (size bag = begin; bag < end; bag++) {                                                                     \
        const size first = job->starts[bag], last = bag + 1 < job->bags ? job->starts[bag + 1] : job->count;       \
        REAL *out = (REAL *)job->out + bag * width;                                                                \
        size held = 0;                                                                                             \
        for (size i = 0; i < width; i++) out[i] = 0;                                                               \
        for (size k = first; k < last; k++) {                                                                      \
            if (job->places[k] < 0 || job->places[k] >= job->rows) {                                               \
                job->failed = 1;                                                                                   \
                return;                                                                                            \
            }                                                                                                      \
            if (job->places[k] == job->skipped) continue;                                                          \
            const REAL *row = (const REAL *)job->weight + job->places[k] * width;                                  \
            held++;                                                                                                \
            if (!job->factors) {                                                                                   \
                kernels->add_##SUFFIX(out, row, width);                                                            \
                continue;                                                                                          \
            }                                                                                                      \
            const REAL factor = ((const REAL *)job->factors)[k];                                                   \
            for (size i = 0; i < width; i++) out[i] += factor * row[i];                                            \
        }                                                                                                          \
        if (job->average && held)                                                                                  \
            for (size i = 0; i < width; i++) out[i] /= (REAL)held;                                                 \
    }
    if (job->narrow) {
        for (size bag = begin; bag < end && !job->failed; bag++)
            job->failed |= !narrow_bag(job, job->starts[bag], bag + 1 < job->bags ? job->starts[bag + 1] : job->count, (uint16_t *)job->out + bag * width);
    } else if (job->type == NPY_FLOAT) RUN(float, f32) else RUN(double, f64)
#undef RUN
}

/* bags(weight, places, starts, average, factors, skipped): the sums, or means, of the rows of weight at the places from each start up to
 * the next, times factors where they are given, without the row `skipped`; None where a place or a start lies outside */
static PyObject *bags(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count < 4 || count > 6) return PyErr_Format(PyExc_TypeError, "expected 4 to 6 arguments");
    PyArrayObject *weight = (PyArrayObject *)args[0];
    const int narrow = narrow_kind(args[0]);
    if ((!narrow && !is_real(args[0])) || PyArray_NDIM(weight) != 2 || !PyArray_ISCARRAY_RO(weight)) NOT_HANDLED();
    for (int k = 1; k < 3; k++) {
        PyArrayObject *x = (PyArrayObject *)args[k];
        if (!PyArray_CheckExact(args[k]) || PyArray_TYPE(x) != NPY_INT64 || PyArray_NDIM(x) != 1 || !PyArray_ISCARRAY_RO(x)) NOT_HANDLED();
    }
    PyArrayObject *places = (PyArrayObject *)args[1], *starts = (PyArrayObject *)args[2];
    const size skipped = count < 6 || args[5] == Py_None ? -1 : PyLong_AsSsize_t(args[5]);
    if (skipped == -1 && PyErr_Occurred()) return NULL;
    const char *factors = NULL;
    if (count > 4 && args[4] != Py_None) {
        PyArrayObject *x = (PyArrayObject *)args[4];
        if (!PyArray_CheckExact(args[4]) || PyArray_TYPE(x) != PyArray_TYPE(weight) || !PyArray_ISCARRAY_RO(x) || PyArray_SIZE(x) != PyArray_SIZE(places)) NOT_HANDLED();
        factors = PyArray_BYTES(x);
    }
    if (narrow && (factors || skipped >= 0)) NOT_HANDLED();
    struct bag_job job = {PyArray_BYTES(weight), factors, NULL, PyArray_DATA(places), PyArray_DATA(starts), PyArray_SIZE(starts),
                          PyArray_SIZE(places), PyArray_DIM(weight, 0), PyArray_DIM(weight, 1), skipped, PyArray_TYPE(weight), PyObject_IsTrue(args[3]), 0, narrow};
    for (size k = 0; k < job.bags; k++)
        if (job.starts[k] < (k ? job.starts[k - 1] : 0) || job.starts[k] > job.count) Py_RETURN_NONE;
    npy_intp shape[2] = {job.bags, job.width};
    Py_INCREF(PyArray_DESCR(weight));
    PyArrayObject *out = (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(weight), 2, shape, NULL, NULL, 0, NULL);
    if (!out) return NULL;
    job.out = PyArray_BYTES(out);
    const double cost = job.bags ? 0.2 * (double)job.width * (1 + (double)job.count / (double)job.bags) : 0;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)(job.bags * cost));
    pool_run(bag_task, &job, job.bags, pool_chunks(job.bags, cost));
    NPY_END_THREADS
    if (!job.failed) return (PyObject *)out;
    Py_DECREF(out);
    Py_RETURN_NONE;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef lines_methods[] = {
    METHOD(running_sum), METHOD(running_product), METHOD(running_extreme), METHOD(take_along), METHOD(put_along),
    METHOD(add_along), METHOD(join_along), METHOD(mode_places), METHOD(bags), {NULL, NULL, 0, NULL},
};
