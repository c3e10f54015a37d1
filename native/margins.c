/* Margin losses of classes: of each row, between the classes that it lists and all that it does not, and their gradient. */
#include "wengert.h"

#include <math.h>

#include "pool.h"
#include "sixteen.h"

enum { VECTORS = 4, WIDEST = 16 }; /* numbers of a row are taken by as many as these; a row in memory has no more behind it than so */

struct margin_job {
    const char *x, *g, *weight; /* g: of each row, or NULL for the losses; weight: of the classes, or NULL */
    const int64_t *labels;      /* `most` for each row: those before the first that is negative */
    char *out, *room;           /* room: a row for each chunk */
    size classes, most;
    double margin;
    int square, type;
};

static size whole_row(size n) { return (n + WIDEST - 1) / WIDEST * WIDEST; }
#define EACH for (int v = 0; v < VECTORS; v++)

#define DEFINE_MARGINS(REAL, S)                                                                                  \
    enum { WIDTH_##S = sizeof(vector_##S) / sizeof(REAL) };                                                      \
    static vector_##S over_##S(const REAL *others, REAL base)                                                    \
    {                                                                                                            \
        vector_##S gap;                                                                                          \
        memcpy(&gap, others, sizeof gap);                                                                        \
        gap += base;                                                                                             \
        return PICK(S, gap > 0, gap, SPREAD(S, (REAL)0));                                                        \
    }                                                                                                            \
    static REAL total_##S(const vector_##S *sum)                                                                 \
    {                                                                                                            \
        REAL lane[VECTORS * WIDTH_##S], total = 0;                                                               \
        memcpy(lane, sum, sizeof lane);                                                                          \
        for (int l = 0; l < VECTORS * WIDTH_##S; l++) total += lane[l];                                          \
        return total;                                                                                            \
    }                                                                                                            \
    /* The amounts by which others come too close to a class, or their squares. */                               \
    static REAL amounts_##S(const REAL *others, size n, REAL base, int square)                                   \
    {                                                                                                            \
        vector_##S sum[VECTORS];                                                                                 \
        EACH sum[v] = SPREAD(S, (REAL)0);                                                                        \
        for (size i = 0; i < n; i += VECTORS * WIDTH_##S)                                                        \
            EACH                                                                                                 \
            {                                                                                                    \
                const vector_##S amount = over_##S(others + i + v * WIDTH_##S, base);                            \
                sum[v] += square ? (vector_##S)(amount * amount) : amount;                                       \
            }                                                                                                    \
        return total_##S(sum);                                                                                   \
    }                                                                                                            \
    /* Their slopes times `share`, to which these are added; the sum. */                                         \
    static REAL slopes_##S(REAL *out, const REAL *others, size n, REAL base, REAL share, int square)             \
    {                                                                                                            \
        vector_##S sum[VECTORS];                                                                                 \
        EACH sum[v] = SPREAD(S, (REAL)0);                                                                        \
        for (size i = 0; i < n; i += VECTORS * WIDTH_##S)                                                        \
            EACH                                                                                                 \
            {                                                                                                    \
                const vector_##S amount = over_##S(others + i + v * WIDTH_##S, base);                            \
                const vector_##S full = square ? (vector_##S)(2 * amount * share) : (vector_##S)SPREAD(S, share); \
                const vector_##S slope = PICK(S, amount > 0, full, SPREAD(S, (REAL)0));                          \
                vector_##S to;                                                                                   \
                memcpy(&to, out + i + v * WIDTH_##S, sizeof to);                                                 \
                to += slope, sum[v] += slope;                                                                    \
                memcpy(out + i + v * WIDTH_##S, &to, sizeof to);                                                 \
            }                                                                                                    \
        return total_##S(sum);                                                                                   \
    }                                                                                                            \
    static void margins_task_##S(void *context, size begin, size end, int chunk)                                 \
    {                                                                                                            \
        const struct margin_job *job = context;                                                                  \
        const size n = job->classes, whole = whole_row(n);                                                       \
        REAL *others = (REAL *)job->room + 2 * whole * chunk, *slopes = others + whole;                          \
        for (size k = n; k < whole; k++) others[k] = (REAL)-INFINITY;                                            \
        for (size r = begin; r < end; r++) {                                                                     \
            const REAL *x = (const REAL *)job->x + r * n, *weight = (const REAL *)job->weight;                   \
            const int64_t *label = job->labels + r * job->most;                                                  \
            REAL loss = 0;                                                                                       \
            size listed = 0;                                                                                     \
            while (listed < job->most && label[listed] >= 0) listed++;                                           \
            memcpy(others, x, n * sizeof *x);                                                                    \
            for (size k = 0; k < listed; k++) others[label[k]] = (REAL)-INFINITY;                                \
            if (job->g) memset(slopes, 0, whole * sizeof *slopes);                                               \
            for (size k = 0; k < listed; k++) {                                                                  \
                const REAL base = (REAL)job->margin - x[label[k]], scale = weight ? weight[label[k]] : 1;        \
                if (job->g) {                                                                                    \
                    const REAL share = scale * ((const REAL *)job->g)[r] / (REAL)n;                              \
                    slopes[label[k]] -= slopes_##S(slopes, others, n, base, share, job->square);                 \
                } else loss += scale * amounts_##S(others, n, base, job->square);                                \
            }                                                                                                    \
            if (job->g) memcpy((REAL *)job->out + r * n, slopes, n * sizeof *slopes);                            \
            else ((REAL *)job->out)[r] = loss / (REAL)n;                                                         \
        }                                                                                                        \
    }
DEFINE_MARGINS(float, f32)
DEFINE_MARGINS(double, f64)

/* Read x, labels, p, margin, weight | None; 0 where they are not for the kernel, -1 with an error. */
static int read_margins(PyObject *const *args, struct margin_job *job)
{
    PyArrayObject *x = (PyArrayObject *)args[0], *labels = (PyArrayObject *)args[1], *weight = (PyArrayObject *)args[4];
    if (!PyArray_CheckExact(args[0]) || !is_real(args[0]) || PyArray_NDIM(x) != 2 || !PyArray_ISCARRAY_RO(x)) return 0;
    if (!PyArray_CheckExact(args[1]) || PyArray_TYPE(labels) != NPY_INT64 || PyArray_NDIM(labels) != 2 || !PyArray_ISCARRAY_RO(labels)) return 0;
    if (PyArray_DIM(x, 0) != PyArray_DIM(labels, 0)) return 0;
    *job = (struct margin_job){.x = PyArray_DATA(x), .labels = PyArray_DATA(labels), .classes = PyArray_DIM(x, 1), .most = PyArray_DIM(labels, 1),
                               .type = PyArray_TYPE(x), .margin = PyFloat_AsDouble(args[3]), .square = PyLong_AsLong(args[2]) == 2};
    if (PyErr_Occurred()) return -1;
    int64_t most = 0;
    for (size i = 0, n = PyArray_SIZE(labels); i < n; i++) most = job->labels[i] > most ? job->labels[i] : most;
    if (most >= job->classes) return 0;
    if (args[4] == Py_None) return 1;
    job->weight = is_like(args[4], args[0]) ? PyArray_DATA(weight) : NULL;
    return job->weight && PyArray_ISCARRAY_RO(weight) && PyArray_SIZE(weight) == job->classes;
}

static PyObject *ran(struct margin_job *job, PyArrayObject *out, size rows)
{
    const double cost = 0.5 * (double)job->classes * (double)job->most;
    const int chunks = pool_chunks(rows, cost);
    PyArrayObject *room = out ? scratch(2 * whole_row(job->classes) * chunks, PyArray_ITEMSIZE(out)) : NULL;
    if (!room) {
        Py_XDECREF(out);
        return NULL;
    }
    job->out = PyArray_BYTES(out), job->room = aligned(room);
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)(cost * rows));
    pool_run(job->type == NPY_FLOAT ? margins_task_f32 : margins_task_f64, job, rows, chunks);
    NPY_END_THREADS
    Py_DECREF(room);
    return (PyObject *)out;
}

/* margins(x, labels, p, margin, weight | None): the loss of each row */
static PyObject *margins(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct margin_job job;
    (void)module;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    const int fits = read_margins(args, &job);
    if (fits < 0) return NULL;
    if (!fits) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0];
    return ran(&job, new_like(x, 1, PyArray_DIMS(x)), PyArray_DIM(x, 0));
}

/* margins_grad(g, x, labels, p, margin, weight | None): the gradient in x, where g is that of each row */
static PyObject *margins_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct margin_job job;
    (void)module;
    if (count != 6) return PyErr_Format(PyExc_TypeError, "expected 6 arguments");
    const int fits = read_margins(args + 1, &job);
    if (fits < 0) return NULL;
    PyArrayObject *g = (PyArrayObject *)args[0], *x = (PyArrayObject *)args[1];
    if (!fits || !PyArray_CheckExact(args[0]) || !is_like(args[0], args[1]) || !PyArray_ISCARRAY_RO(g) || PyArray_SIZE(g) != PyArray_DIM(x, 0)) NOT_HANDLED();
    job.g = PyArray_DATA(g);
    return ran(&job, new_like(x, 2, PyArray_DIMS(x)), PyArray_DIM(x, 0));
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef margins_methods[] = {METHOD(margins), METHOD(margins_grad), {NULL, NULL, 0, NULL}};
