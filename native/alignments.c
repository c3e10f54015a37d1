/* Connectionist temporal classification: the probability of all alignments of a sequence with its labels, and its gradient.
 * Graves et al., 2006. The states of an alignment are the labels with a blank before each and at the end. */
#include "wengert.h"

#include "pool.h"

struct alignment_job {
    const char *x, *g, *losses;     /* x: the log-probabilities, (steps, batch, kinds) */
    size x_step, x_row;             /* in bytes, between steps and between examples */
    size steps, batch, kinds, most; /* most: the number of states of the longest example */
    const int64_t *states, *sizes, *lengths;
    char *loss, *alpha, *grad, *work;
    size padded, each; /* states, and elements of `work` that a chunk has */
    int zero_infinity;
};

/* Rows of states have two impossible ones on either side. */
enum { ROWS = 6, MARGIN = 2 };

#define DEFINE_ALIGNMENTS(REAL, SUFFIX)                                                                          \
    static REAL *set_up_##SUFFIX(const struct alignment_job *v, int chunk)                                       \
    {                                                                                                            \
        REAL *work = (REAL *)v->work + chunk * v->each;                                                          \
        for (size k = 0; k < v->each; k++) work[k] = -(REAL)INFINITY;                                            \
        return work + MARGIN;                                                                                    \
    }                                                                                                            \
    /* 0 where a state is reached from the one before the last, past a blank and from another label, else -inf */ \
    static void skips_##SUFFIX(REAL *skip, const int64_t *states, size n)                                        \
    {                                                                                                            \
        for (size s = 3; s < n; s += 2)                                                                          \
            skip[s] = states[s] != states[s - 1] && states[s] != states[s - 2] ? (REAL)0 : -(REAL)INFINITY;      \
        for (size s = 0; s < n; s += 2) skip[s] = -(REAL)INFINITY;                                               \
        skip[1] = -(REAL)INFINITY;                                                                               \
    }                                                                                                            \
    static const REAL *emit_##SUFFIX(const struct alignment_job *v, size t, size b, REAL *emitted, const int64_t *states, size n) \
    {                                                                                                            \
        const REAL *x = (const REAL *)(v->x + t * v->x_step + b * v->x_row);                                     \
        for (size s = 0; s < n; s++) emitted[s] = x[states[s]];                                                  \
        return x;                                                                                                \
    }                                                                                                            \
    static void loss_task_##SUFFIX(void *context, size begin, size end, int chunk)                               \
    {                                                                                                            \
        const struct alignment_job *v = context;                                                                 \
        const size wide = v->padded + 2 * MARGIN;                                                                \
        for (size b = begin; b < end; b++) {                                                                     \
            REAL *row = set_up_##SUFFIX(v, chunk), *next = row + wide, *emitted = next + wide, *skip = emitted + wide; \
            const size n = 2 * v->sizes[b] + 1, length = v->lengths[b];                                          \
            const int64_t *states = v->states + b * v->most;                                                     \
            REAL *alpha = (REAL *)v->alpha + b * v->steps * v->most, *loss = (REAL *)v->loss + b;                \
            for (size k = 0; k < v->steps * v->most; k++) alpha[k] = -(REAL)INFINITY;                            \
            if (!length) {                                                                                       \
                *loss = n == 1 ? (REAL)0 : (REAL)INFINITY;                                                       \
                continue;                                                                                        \
            }                                                                                                    \
            skips_##SUFFIX(skip, states, n);                                                                     \
            for (size t = 0; t < length; t++, alpha += v->most) {                                                \
                if (pool_stopped()) return;                                                                      \
                emit_##SUFFIX(v, t, b, emitted, states, n);                                                      \
                if (t) kernels->alignment_step_##SUFFIX(next, row, row - 1, row - 2, skip, emitted, v->padded);  \
                else memcpy(next, emitted, (n < 2 ? n : 2) * sizeof(REAL));                                      \
                memcpy(alpha, next, n * sizeof(REAL));                                                           \
                REAL *const other = row;                                                                         \
                row = next, next = other;                                                                        \
            }                                                                                                    \
            const REAL last = row[n - 1], before = n > 1 ? row[n - 2] : -(REAL)INFINITY;                         \
            REAL most = last > before ? last : before;                                                           \
            if (most == -(REAL)INFINITY) most = 0;                                                               \
            *loss = (REAL) - (log(exp((double)last - most) + exp((double)before - most)) + most);                \
        }                                                                                                        \
    }                                                                                                            \
    static void slope_##SUFFIX(const struct alignment_job *v, size b, int chunk)                                 \
    {                                                                                                            \
        const size wide = v->padded + 2 * MARGIN, n = 2 * v->sizes[b] + 1, length = v->lengths[b], most = v->most; \
        const REAL loss = ((const REAL *)v->losses)[b], g = ((const REAL *)v->g)[b];                             \
        const int64_t *states = v->states + b * most;                                                            \
        REAL *row = set_up_##SUFFIX(v, chunk), *next = row + wide, *emitted = next + wide, *skip = emitted + wide; \
        REAL *alpha = skip + wide, *share = alpha + wide;                                                        \
        skips_##SUFFIX(skip, states, n);                                                                         \
        for (size t = length; t-- > 0;) {                                                                        \
            REAL *out = (REAL *)v->grad + (t * v->batch + b) * v->kinds;                                         \
            if (pool_stopped()) return;                                                                          \
            const REAL *x = emit_##SUFFIX(v, t, b, emitted, states, n);                                          \
            if (t < length - 1) kernels->alignment_step_##SUFFIX(next, row, row + 1, row + 2, skip + 2, emitted, v->padded); \
            else for (size s = n < 2 ? 0 : n - 2; s < n; s++) next[s] = emitted[s];                              \
            memcpy(alpha, (const REAL *)v->alpha + (b * v->steps + t) * most, n * sizeof(REAL));                 \
            kernels->alignment_share_##SUFFIX(share, alpha, next, emitted, loss, v->padded);                     \
            for (size s = 0; s < n; s++) out[states[s]] += share[s];                                             \
            kernels->alignment_slope_##SUFFIX(out, x, g, v->kinds);                                              \
            REAL *const other = row;                                                                             \
            row = next, next = other;                                                                            \
        }                                                                                                        \
    }                                                                                                            \
    static void slope_task_##SUFFIX(void *context, size begin, size end, int chunk)                              \
    {                                                                                                            \
        const struct alignment_job *v = context;                                                                 \
        for (size b = begin; b < end; b++) {                                                                     \
            const REAL loss = ((const REAL *)v->losses)[b], fill = loss == INFINITY && v->zero_infinity ? 0 : (REAL)NAN; \
            const size counted = isfinite(loss) || fill == 0 ? 0 : v->lengths[b];                                \
            for (size t = 0; t < v->steps; t++) {                                                                \
                REAL *out = (REAL *)v->grad + (t * v->batch + b) * v->kinds;                                     \
                for (size c = 0; c < v->kinds; c++) out[c] = t < counted ? fill : (REAL)0;                       \
            }                                                                                                    \
            if (isfinite(loss)) slope_##SUFFIX(v, b, chunk);                                                     \
        }                                                                                                        \
    }
DEFINE_ALIGNMENTS(float, f32)
DEFINE_ALIGNMENTS(double, f64)

static int is_whole(PyObject *object, int ndim, const npy_intp *shape)
{
    PyArrayObject *a = (PyArrayObject *)object;
    return PyArray_CheckExact(object) && PyArray_TYPE(a) == NPY_INT64 && PyArray_ISCARRAY_RO(a) && PyArray_NDIM(a) == ndim &&
           PyArray_CompareLists(PyArray_DIMS(a), shape, ndim);
}

/* (log_probs, states, sizes, lengths): whether they are as the tasks need them; no index leads out of an array. */
static int read_alignments(struct alignment_job *v, PyObject *const *args)
{
    PyArrayObject *x = (PyArrayObject *)args[0], *states = (PyArrayObject *)args[1];
    if (!PyArray_CheckExact(args[0]) || !is_real(args[0]) || PyArray_NDIM(x) != 3 || !PyArray_ISALIGNED(x) ||
        (PyArray_DIM(x, 2) != 1 && PyArray_STRIDE(x, 2) != PyArray_ITEMSIZE(x)))
        return 0;
    v->x = PyArray_BYTES(x), v->x_step = PyArray_STRIDE(x, 0), v->x_row = PyArray_STRIDE(x, 1);
    v->steps = PyArray_DIM(x, 0), v->batch = PyArray_DIM(x, 1), v->kinds = PyArray_DIM(x, 2);
    if (!PyArray_CheckExact(args[1]) || PyArray_NDIM(states) != 2 || PyArray_DIM(states, 1) % 2 != 1) return 0;
    v->most = PyArray_DIM(states, 1);
    const npy_intp shape[] = {v->batch, v->most};
    if (!is_whole(args[1], 2, shape) || !is_whole(args[2], 1, shape) || !is_whole(args[3], 1, shape)) return 0;
    v->states = PyArray_DATA(states), v->sizes = PyArray_DATA((PyArrayObject *)args[2]);
    v->lengths = PyArray_DATA((PyArrayObject *)args[3]);
    for (size k = 0; k < v->batch * v->most; k++)
        if (v->states[k] < 0 || v->states[k] >= v->kinds) return 0;
    for (size b = 0; b < v->batch; b++)
        if (v->sizes[b] < 0 || v->sizes[b] > v->most / 2 || v->lengths[b] < 0 || v->lengths[b] > v->steps) return 0;
    v->padded = (v->most + ALIGNMENT_STATES - 1) / ALIGNMENT_STATES * ALIGNMENT_STATES;
    v->each = ROWS * (v->padded + 2 * MARGIN);
    return 1;
}

/* In nanoseconds for one state or kind. */
static int run_alignments(pool_task task, struct alignment_job *v, size width, double cost)
{
    const int chunks = pool_chunks(v->batch, cost);
    PyArrayObject *work = scratch(chunks * v->each, width);
    int stopped;
    if (!work) return -1;
    v->work = PyArray_BYTES(work);
    Py_BEGIN_ALLOW_THREADS
    stopped = pool_run_stoppable(task, v, v->batch, chunks);
    Py_END_ALLOW_THREADS
    Py_DECREF(work);
    return stopped;
}

/* alignment_loss(log_probs, states, sizes, lengths) -> the losses (N,), and alpha (N, T, states) */
static PyObject *alignment_loss(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct alignment_job v = {0};
    if (count != 4) return PyErr_Format(PyExc_TypeError, "expected 4 arguments");
    if (!read_alignments(&v, args)) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0];
    const npy_intp shape[] = {v.batch, v.steps, v.most};
    PyArrayObject *loss = new_like(x, 1, shape), *alpha = new_like(x, 3, shape);
    if (loss && alpha) {
        v.loss = PyArray_BYTES(loss), v.alpha = PyArray_BYTES(alpha);
        if (!run_alignments(PyArray_TYPE(x) == NPY_FLOAT ? loss_task_f32 : loss_task_f64, &v, PyArray_ITEMSIZE(x),
                            4.0 * v.steps * v.most))
            return Py_BuildValue("NN", loss, alpha);
    }
    Py_XDECREF(loss);
    Py_XDECREF(alpha);
    return NULL;
}

/* alignment_grad(g, log_probs, states, sizes, lengths, losses, alpha, zero_infinity) -> the gradient of log_probs */
static PyObject *alignment_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct alignment_job v = {0};
    if (count != 8) return PyErr_Format(PyExc_TypeError, "expected 8 arguments");
    if (!read_alignments(&v, args + 1)) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[1];
    const npy_intp shape[] = {v.batch, v.steps, v.most}, whole[] = {v.steps, v.batch, v.kinds};
    PyObject *given[] = {args[0], args[5], args[6]};
    const char **places[] = {&v.g, &v.losses, (const char **)&v.alpha};
    for (int k = 0; k < 3; k++) {
        PyArrayObject *a = (PyArrayObject *)given[k];
        const int ndim = k < 2 ? 1 : 3;
        if (!PyArray_CheckExact(given[k]) || !is_like(given[k], args[1]) || !PyArray_ISCARRAY_RO(a) || PyArray_NDIM(a) != ndim ||
            !PyArray_CompareLists(PyArray_DIMS(a), shape, ndim))
            NOT_HANDLED();
        *places[k] = PyArray_BYTES(a);
    }
    v.zero_infinity = PyObject_IsTrue(args[7]);
    PyArrayObject *grad = new_like(x, 3, whole);
    if (!grad) return NULL;
    v.grad = PyArray_BYTES(grad);
    if (run_alignments(PyArray_TYPE(x) == NPY_FLOAT ? slope_task_f32 : slope_task_f64, &v, PyArray_ITEMSIZE(x),
                       v.steps * (6.0 * v.most + 1.0 * v.kinds)))
        Py_CLEAR(grad);
    return (PyObject *)grad;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef alignments_methods[] = {METHOD(alignment_loss), METHOD(alignment_grad), {NULL, NULL, 0, NULL}};
