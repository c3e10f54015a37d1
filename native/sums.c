/* Sums, means, norms and products over axes. */
#include "wengert.h"

#include "fast.h"
#include "half.h"
#include "integers.h"
#include "pool.h"

enum total { SUM, MEAN, NORM, PRODUCT, NUMBERS }; /* NUMBERS: the sum of what is not NaN */

/* Axes whose steps are those of memory, in elements. */
struct axes {
    size lengths[NPY_MAXDIMS], steps[NPY_MAXDIMS];
    int count;
};
static size place_of(const struct axes *axes, size item)
{
    size place = 0;
    for (int d = axes->count - 1; d >= 0; d--) place += item % axes->lengths[d] * axes->steps[d], item /= axes->lengths[d];
    return place;
}

struct sum_job {
    int type;
    const char *x;
    double *out;
    size n, inner; /* x is (outer, n, inner) */
    size step;                /* from one of the n to the next */
    const struct axes *outer; /* NULL: without gaps */
    int halves;    /* 0, or NPY_HALF, or another number for bfloat16: x has 16 bits */
    enum total total; /* NORM: a sum of squares */
};

/* Numbers of 16 bits are widened by blocks that stay in the cache. */
static void sum_halves(const struct sum_job *job, size begin, size end)
{
    enum { BLOCK = 8 * COLUMNS };
    float wide[BLOCK];
    double part[COLUMNS];
    void (*widen)(float *, const uint16_t *, size) = job->halves == NPY_HALF ? kernels->widen_half : kernels->widen_brain;
    const uint16_t *x = (const uint16_t *)job->x;
    const size tiles = (job->inner + COLUMNS - 1) / COLUMNS;
    for (size item = begin; item < end; item++) {
        if (job->inner == 1) {
            kernels->sum_narrow(&job->out[item], job->halves != NPY_HALF, x + item * job->n, job->n);
            continue;
        }
        const size outer = item / tiles, first = item % tiles * COLUMNS;
        const size count = job->inner - first < COLUMNS ? job->inner - first : COLUMNS;
        double *out = job->out + outer * job->inner + first;
        for (size i = 0; i < count; i++) out[i] = 0;
        for (size r = 0; r < job->n; r += BLOCK / COLUMNS) {
            const size rows = job->n - r < BLOCK / COLUMNS ? job->n - r : BLOCK / COLUMNS;
            for (size k = 0; k < rows; k++) widen(wide + k * count, x + (outer * job->n + r + k) * job->inner + first, count);
            kernels->sum_columns_f32(part, wide, rows, count, count);
            for (size i = 0; i < count; i++) out[i] += part[i];
        }
    }
}

/* Whether rows are summed, of single numbers or of pairs, and not columns. */
static int is_of_rows(const struct sum_job *job) { return job->inner == 1 || (job->inner == 2 && !job->outer && !job->halves && job->total < NORM); }

/* Of rows from which NaN is left out, by blocks that stay in the cache; most have none. */
#define DEFINE_NUMBERS(REAL, SUFFIX)                                                                       \
    static void sum_numbers_##SUFFIX(double *out, const REAL *x, size rows, size n)                        \
    {                                                                                                      \
        REAL block[2048];                                                                                  \
        double part;                                                                                       \
        for (size r = 0; r < rows; r++, x += n) {                                                          \
            out[r] = 0;                                                                                    \
            for (size at = 0; at < n; at += 2048) {                                                        \
                const size count = n - at < 2048 ? n - at : 2048;                                          \
                kernels->sum_rows_##SUFFIX(&part, x + at, 1, count);                                       \
                if (part != part) {                                                                        \
                    for (size i = 0; i < count; i++) block[i] = x[at + i] == x[at + i] ? x[at + i] : 0;    \
                    kernels->sum_rows_##SUFFIX(&part, block, 1, count);                                    \
                }                                                                                          \
                out[r] += part;                                                                            \
            }                                                                                              \
        }                                                                                                  \
    }
DEFINE_NUMBERS(float, f32)
DEFINE_NUMBERS(double, f64)

static void sum_task(void *context, size begin, size end, int chunk)
{
    const struct sum_job *job = context;
    (void)chunk;
    if (job->halves) {
        sum_halves(job, begin, end);
        return;
    }
    if (is_of_rows(job)) {
        size rows = 1, step = 0, row = begin, at = begin * job->n * job->inner;
        if (!job->outer) rows = end - begin;
        else step = job->outer->steps[job->outer->count - 1];
        for (; row < end; row += rows, at += step) { /* where there are gaps, one by one */
            if (job->outer && (row == begin || row % job->outer->lengths[job->outer->count - 1] == 0)) at = place_of(job->outer, row);
#define RUN(REAL, SUFFIX)                                                                                                       \
    {                                                                                                                           \
        const REAL *x = (const REAL *)job->x + at;                                                                              \
        if (job->total == NORM) kernels->fold_squares_##SUFFIX(job->out + row, x, rows, job->n);                              \
        else if (job->total == PRODUCT) kernels->fold_product_##SUFFIX(job->out + row, x, rows, job->n);                      \
        else if (job->total == NUMBERS) sum_numbers_##SUFFIX(job->out + row, x, rows, job->n);                                \
        else if (job->inner == 2) kernels->sum_pairs_##SUFFIX(job->out + 2 * row, x, rows, 2 * job->n);                       \
        else kernels->sum_rows_##SUFFIX(job->out + row, x, rows, job->n);                                                     \
    }
            if (job->type == NPY_FLOAT) RUN(float, f32) else RUN(double, f64)
        }
#undef RUN
        return;
    }
    const size tiles = (job->inner + COLUMNS - 1) / COLUMNS;
    for (size item = begin; item < end; item++) {
        const size outer = item / tiles, first = item % tiles * COLUMNS;
        const size count = job->inner - first < COLUMNS ? job->inner - first : COLUMNS;
        const size at = (job->outer ? place_of(job->outer, outer) : outer * job->n * job->inner) + first;
        double *out = job->out + outer * job->inner + first;
        static const double zeros[COLUMNS]; /* what is taken off before squares */
#define RUN(REAL, SUFFIX)                                                                                                       \
    {                                                                                                                           \
        const REAL *x = (const REAL *)job->x + at;                                                                              \
        if (job->total == NORM) kernels->square_columns_##SUFFIX(out, x, (const REAL *)zeros, job->n, job->step, count);       \
        else if (job->total == PRODUCT) kernels->multiply_columns_##SUFFIX(out, x, job->n, job->step, count);                  \
        else if (job->total == NUMBERS) kernels->sum_numbers_columns_##SUFFIX(out, x, job->n, job->step, count);               \
        else kernels->sum_columns_##SUFFIX(out, x, job->n, job->step, count);                                                  \
    }
        if (job->type == NPY_FLOAT) RUN(float, f32) else RUN(double, f64)
#undef RUN
    }
}

/* Mark the axes that `axes` (None, an integer or a tuple) names; -1 if it names none that exist, or one twice. */
static int mark_axes(PyObject *axes, int ndim, char *marked)
{
    memset(marked, axes == Py_None, ndim);
    if (axes == Py_None) return 0;
    const Py_ssize_t count = PyTuple_Check(axes) ? PyTuple_GET_SIZE(axes) : 1;
    for (Py_ssize_t k = 0; k < count; k++) {
        long axis = PyLong_AsLong(PyTuple_Check(axes) ? PyTuple_GET_ITEM(axes, k) : axes);
        if (axis == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return -1;
        }
        if (axis < 0) axis += ndim;
        if (axis < 0 || axis >= ndim || marked[axis]) return -1;
        marked[axis] = 1;
    }
    return 0;
}

int memory_order(PyArrayObject *x, const char *gone, int *order)
{
    const int ndim = PyArray_NDIM(x);
    npy_intp steps[NPY_MAXDIMS], width = PyArray_ITEMSIZE(x);
    for (int d = 0; d < ndim; d++) { /* the longest step first; axes of one element have none */
        const npy_intp step = PyArray_DIM(x, d) == 1 ? 0 : PyArray_STRIDE(x, d);
        int at = d;
        for (; !PyArray_IS_C_CONTIGUOUS(x) && at && steps[at - 1] < step; at--) order[at] = order[at - 1], steps[at] = steps[at - 1];
        order[at] = d, steps[at] = step;
    }
    if (PyArray_IS_C_CONTIGUOUS(x)) return 1;
    for (int i = ndim - 1, next = ndim; i >= 0; i--) {
        const int d = order[i];
        if (PyArray_DIM(x, d) == 1) continue;
        if (steps[i] != width || (!gone[d] && d > next)) return 0;
        width *= PyArray_DIM(x, d);
        if (!gone[d]) next = d;
    }
    return 1;
}

/* x as (outer, n, inner), its middle summed. */
static void run_sum(const struct sum_job *job, size outer)
{
    const size width = job->halves ? 2 : job->type == NPY_FLOAT ? sizeof(float) : sizeof(double), total = outer * job->n * job->inner;
    const size items = is_of_rows(job) ? outer : outer * ((job->inner + COLUMNS - 1) / COLUMNS);
    enum { PIECE = 1 << 14 };
    const size pieces = outer == 1 && job->inner == 1 && !job->outer ? job->n / PIECE : 0;
    double *parts = pieces > 1 ? malloc(pieces * sizeof *parts) : NULL;
    if (total < 8192) sum_task((void *)job, 0, items, 0);
    else if (!parts) pool_run(sum_task, (void *)job, items, pool_chunks(items, 0.1 * total / items));
    else { /* one long row: its pieces are summed as rows, and then the sums */
        struct sum_job rows = *job, rest = *job;
        rows.out = parts, rows.n = PIECE;
        rest.x += pieces * PIECE * width, rest.n -= pieces * PIECE;
        pool_run(sum_task, &rows, pieces, pool_chunks(pieces, 0.08 * PIECE));
        sum_task(&rest, 0, 1, 0);
        for (size k = 0; k < pieces; k++) job->out[0] = job->total == PRODUCT ? job->out[0] * parts[k] : job->out[0] + parts[k];
    }
    free(parts);
}

/* Runs of axes, summed ones and kept ones by turns. */
struct runs {
    size lengths[NPY_MAXDIMS + 1], summed; /* summed: elements of a result */
    int count, first;                      /* first: whether the first one is summed */
};
static int is_summed(const struct runs *runs, int run) { return run % 2 ? !runs->first : runs->first; }
static void add_axis(struct runs *runs, npy_intp length, int summed)
{
    if (length == 1) return;
    if (summed) runs->summed *= length;
    if (!runs->count) runs->first = summed;
    if (!runs->count || is_summed(runs, runs->count - 1) != summed) runs->lengths[runs->count++] = 1;
    runs->lengths[runs->count - 1] *= length;
}

/* `before` numbers in double precision, as numbers of the result. */
static void leave(PyArrayObject *out, const double *sums, size before, double divisor, int root)
{
    uint16_t *half = PyArray_DATA(out);
    const int type = PyArray_TYPE(out);
    if (type == NPY_HALF)
        for (size k = 0; k < before; k++) half[k] = half_of_double(sums[k] / divisor);
    else if (is_brain(type))
        for (size k = 0; k < before; k++) half[k] = brain_of_float((float)(sums[k] / divisor));
    else if (type == NPY_FLOAT || type == NPY_CFLOAT) kernels->settle_f32(PyArray_DATA(out), sums, divisor, root, before);
    else kernels->settle_f64(PyArray_DATA(out), sums, divisor, root, before);
}

/* The same of whole numbers, in int64; the last summed run is number `at`. */
static PyObject *total_of_integers(PyArrayObject *x, const struct runs *runs, int at, int out_ndim, const npy_intp *shape)
{
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(out_ndim, shape, NPY_INT64);
    size before = PyArray_SIZE(x), inner = at < runs->count - 1 ? runs->lengths[runs->count - 1] : 1;
    const void *from = PyArray_DATA(x);
    int64_t *old = NULL;
    for (int type = PyArray_TYPE(x); out && at >= 0; at -= 2, type = NPY_INT64) {
        const size n = runs->lengths[at], results = before / n;
        int64_t *to = at > 1 ? malloc(results * sizeof *to) : PyArray_DATA(out);
        if (!to) {
            free(old);
            Py_DECREF(out);
            return PyErr_NoMemory();
        }
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(before);
        sum_integers(type, from, to, results / inner, n, inner);
        NPY_END_THREADS
        free(old);
        from = to, old = at > 1 ? to : NULL, before = results;
        if (at > 0) inner *= runs->lengths[at - 1];
    }
    return (PyObject *)out;
}

/* An array with gaps: what is summed first (the innermost axis, or else the nearest to it), over which axes, and what is left; 0 where
 * there is no innermost axis of step one, or where what is left would not be in order. */
static int split_at_gaps(PyArrayObject *x, const char *gone, struct sum_job *job, struct axes *outer, struct runs *rest)
{
    const size width = PyArray_ITEMSIZE(x);
    struct axes all = {.count = 0};
    int from[NPY_MAXDIMS], merged = 0, last = -1;
    for (int d = 0; d < PyArray_NDIM(x); d++) {
        const npy_intp step = PyArray_STRIDE(x, d);
        if (PyArray_DIM(x, d) == 1) continue;
        if (step <= 0 || step % width) return 0;
        int k = all.count++;
        for (; k && all.steps[k - 1] <= step / width; k--) {
            if (all.steps[k - 1] == step / width) return 0;
            all.steps[k] = all.steps[k - 1], all.lengths[k] = all.lengths[k - 1], from[k] = from[k - 1];
        }
        all.steps[k] = step / width, all.lengths[k] = PyArray_DIM(x, d), from[k] = d;
    }
    for (int k = 0, kept = -1; k < all.count; k++) {
        const int follows = merged && gone[from[k]] == gone[from[merged - 1]] && all.steps[merged - 1] == all.lengths[k] * all.steps[k];
        if (!gone[from[k]] && from[k] < kept) return 0;
        if (!gone[from[k]]) kept = from[k];
        const int to = follows ? merged - 1 : merged++;
        all.lengths[to] = follows ? all.lengths[to] * all.lengths[k] : all.lengths[k], all.steps[to] = all.steps[k], from[to] = from[k];
        if (gone[from[to]]) last = to;
    }
    if (last < 0 || all.steps[merged - 1] != 1) return 0;
    const int inner = last != merged - 1;
    job->n = all.lengths[last], job->step = all.steps[last], job->inner = inner ? all.lengths[merged - 1] : 1;
    for (int k = 0; k < merged; k++) {
        if (k == last) continue;
        add_axis(rest, all.lengths[k], gone[from[k]]);
        if (inner && k == merged - 1) continue;
        outer->lengths[outer->count] = all.lengths[k], outer->steps[outer->count++] = all.steps[k];
    }
    job->outer = outer;
    return 1;
}

/* The next sums of `before` numbers, which are numbers of the job then; NULL where there is no memory. They are in `few` where those do. */
enum { FEW_SUMS = 64 };
static double *summed_next(struct sum_job *job, size before, double *few, double *old)
{
    const size results = before / job->n;
    double *sums = results <= FEW_SUMS && few ? few : malloc(results * sizeof *sums);
    if (sums) {
        job->out = sums;
        NPY_BEGIN_THREADS_DEF
        NPY_BEGIN_THREADS_THRESHOLDED(before);
        run_sum(job, results / job->inner);
        NPY_END_THREADS
    }
    free(old);
    job->type = NPY_DOUBLE, job->halves = 0, job->total = job->total == PRODUCT ? PRODUCT : SUM, job->x = (const char *)sums, job->outer = NULL;
    return sums;
}

/* (x, axes, keepdims): complex numbers are pairs along one axis more, which is kept */
static PyObject *reduce(PyObject *const *args, Py_ssize_t count, enum total total)
{
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *x = (PyArrayObject *)args[0];
    char marked[NPY_MAXDIMS];
    int order[NPY_MAXDIMS];
    if (!PyArray_CheckExact(args[0]) || !PyArray_ISBEHAVED_RO(x) || mark_axes(args[1], PyArray_NDIM(x), marked) < 0)
        NOT_HANDLED();
    const int gaps = !memory_order(x, marked, order);
    const int type = PyArray_TYPE(x), ndim = PyArray_NDIM(x), keep = PyObject_IsTrue(args[2]);
    const int halves = type == NPY_HALF || is_brain(type) ? type : 0, pairs = type == NPY_CFLOAT || type == NPY_CDOUBLE;
    const int integers = total == SUM && are_integers(x);
    if ((!integers && !halves && !pairs && type != NPY_FLOAT && type != NPY_DOUBLE) || (total >= NORM && (halves || pairs))) NOT_HANDLED();
    if (keep < 0) return NULL;
    npy_intp shape[NPY_MAXDIMS];
    struct runs runs = {.summed = 1}, rest = {.summed = 1};
    struct axes outer = {.count = 0};
    struct sum_job job = {type == NPY_CFLOAT ? NPY_FLOAT : type == NPY_CDOUBLE ? NPY_DOUBLE : type, PyArray_BYTES(x), NULL, 1, 1, 1, NULL, halves, total};
    size before = PyArray_SIZE(x) * (pairs ? 2 : 1);
    int out_ndim = 0;
    for (int axis = 0; axis < ndim; axis++) {
        const npy_intp length = PyArray_DIM(x, axis);
        if (!marked[axis]) shape[out_ndim++] = length;
        else if (keep) shape[out_ndim++] = 1;
    }
    if (before == 0 || (gaps && (halves || pairs || integers || !split_at_gaps(x, marked, &job, &outer, &rest)))) NOT_HANDLED();
    for (int i = 0; i < ndim; i++) add_axis(&runs, PyArray_DIM(x, order[i]), marked[order[i]]);
    const double divisor = total == MEAN ? (double)runs.summed : 1;
    if (pairs) add_axis(&runs, 2, 0);
    if (gaps) runs = rest;
    if (!runs.count) runs.lengths[runs.count++] = 1, runs.first = 1;
    /* The last summed run goes first; what is left of the array gets smaller, and is in double precision. */
    int at = is_summed(&runs, runs.count - 1) ? runs.count - 1 : runs.count - 2;
    if (at < 0) runs.lengths[1] = runs.lengths[0], runs.lengths[0] = 1, at = 0, runs.count = 2; /* nothing to sum */
    if (integers) return total_of_integers(x, &runs, at, out_ndim, shape);
    PyArrayObject *out = new_like(x, out_ndim, shape);
    if (!out) return NULL;
    double few[FEW_SUMS], *sums = NULL, *old = NULL;
    if (gaps) {
        const size n = job.n;
        sums = summed_next(&job, before, few, NULL);
        before /= n, old = sums == few ? NULL : sums;
        if (!sums || (at == 0 && runs.lengths[0] == 1)) at = -1; /* all is done */
    }
    job.inner = at >= 0 && at < runs.count - 1 ? runs.lengths[runs.count - 1] : 1;
    for (; at >= 0; at -= 2) {
        job.n = runs.lengths[at], job.step = job.inner;
        sums = summed_next(&job, before, sums ? NULL : few, old);
        if (!sums) break;
        before /= job.n, old = sums == few ? NULL : sums;
        if (at > 0) job.inner *= runs.lengths[at - 1];
    }
    if (!sums) {
        Py_DECREF(out);
        return PyErr_NoMemory();
    }
    leave(out, sums, before, divisor, total == NORM);
    free(old);
    return (PyObject *)out;
}

#define TOTAL(name, total)                                                              \
    PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count)           \
    {                                                                                   \
        (void)module;                                                                   \
        return reduce(args, count, total);                                              \
    }
TOTAL(sum_kernel, SUM)
TOTAL(mean_kernel, MEAN)
TOTAL(norm_kernel, NORM)
TOTAL(product, PRODUCT)
TOTAL(sum_of_numbers, NUMBERS)

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef sums_methods[] = {{"sum", (PyCFunction)(void (*)(void))sum_kernel, METH_FASTCALL, NULL}, {"mean", (PyCFunction)(void (*)(void))mean_kernel, METH_FASTCALL, NULL}, {"norm", (PyCFunction)(void (*)(void))norm_kernel, METH_FASTCALL, NULL}, METHOD(product), METHOD(sum_of_numbers), {NULL, NULL, 0, NULL}};
