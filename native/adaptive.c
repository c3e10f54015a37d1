/* Pooling over windows of which each has an extent of its own: adaptive and fractional pools of one to three dimensions. */
#include "wengert.h"

#include "pool.h"

enum { AXES = 3 };
enum edged_work { LARGEST, MEAN, SPREAD };

/* Axes are depth, height and width; those that there are not have length one. Images lie one after the other, or their channels are
 * innermost; otherwise there is one channel. */
struct edged {
    size length[AXES], windows[AXES], area, count, channels;
    const int64_t *edges[AXES]; /* where the windows of an axis begin, and then where they end */
    size next[AXES];            /* from the edges for one image to those for the next: 0 where all have the same */
    enum edged_work work;
    const char *image;
    char *out, *room; /* room: of each chunk, a row */
    int64_t *places;
};

static const int64_t whole[2] = {0, 1};

/* Read a tuple of arrays of (images or 1, 2, windows), one for each of the last axes; how many there are, or -1. */
static int read_edges(struct edged *e, PyObject *tuple, const npy_intp *space, size images)
{
    const int axes = PyTuple_Check(tuple) ? (int)PyTuple_GET_SIZE(tuple) : 0;
    if (axes < 1 || axes > AXES) return -1;
    e->area = e->count = 1;
    for (int k = 0; k < AXES; k++) {
        const int given = k - (AXES - axes);
        e->length[k] = e->windows[k] = 1, e->edges[k] = whole, e->next[k] = 0;
        if (given < 0) continue;
        PyArrayObject *a = (PyArrayObject *)PyTuple_GET_ITEM(tuple, given);
        if (!PyArray_Check(a) || PyArray_TYPE(a) != NPY_INT64 || PyArray_NDIM(a) != 3 || !PyArray_ISCARRAY_RO(a) || PyArray_DIM(a, 1) != 2 ||
            (PyArray_DIM(a, 0) != 1 && PyArray_DIM(a, 0) != images))
            return -1;
        e->length[k] = space[given], e->windows[k] = PyArray_DIM(a, 2), e->edges[k] = PyArray_DATA(a);
        e->next[k] = PyArray_DIM(a, 0) == 1 ? 0 : 2 * e->windows[k];
        for (size r = 0; r < PyArray_DIM(a, 0); r++)
            for (size i = 0; i < e->windows[k]; i++) {
                const int64_t *edges = e->edges[k] + 2 * r * e->windows[k];
                if (edges[i] < 0 || edges[i] >= edges[e->windows[k] + i] || edges[e->windows[k] + i] > e->length[k]) return -1;
            }
        e->area *= e->length[k], e->count *= e->windows[k];
    }
    return e->area <= MOST && e->count <= MOST ? axes : -1;
}

#define FROM(e, axis, item, i) (e)->edges[axis][(item) * (e)->next[axis] + (i)]
#define TO(e, axis, item, i) (e)->edges[axis][(item) * (e)->next[axis] + (e)->windows[axis] + (i)]
/* Every window (d, h) of the first two axes. */
#define EACH_ROW(e) for (size d = 0; d < (e)->windows[0]; d++) for (size h = 0; h < (e)->windows[1]; h++)
/* Every row of the image, from place `row` on, that such a window sees. */
#define EACH_SEEN(e, item)                                                            \
    for (size z = FROM(e, 0, item, d); z < TO(e, 0, item, d); z++)                    \
        for (size y = FROM(e, 1, item, h), row = (z * (e)->length[1] + y) * (e)->length[2]; y < TO(e, 1, item, h); y++, row += (e)->length[2])

/* A window that all images have; how many pixels it sees. */
static size window_at(const struct edged *e, size d, size h, size w, struct pixel_window *seen)
{
    const size at[AXES] = {d, h, w};
    size count = 1, step = 1;
    seen->first = 0;
    for (int k = AXES - 1; k >= 0; k--) {
        const size from = FROM(e, k, 0, at[k]);
        seen->taps[k] = TO(e, k, 0, at[k]) - from, seen->steps[k] = step, seen->first += from * step;
        count *= seen->taps[k], step *= e->length[k];
    }
    return count;
}

/* Of equal numbers the first; of NaN the last, which is above all. */
#define BETTER(value, best) ((value) > (best) || (value) != (value))

#define DEFINE_EDGED(REAL, SUFFIX)                                                                                 \
    static void largest_##SUFFIX(const struct edged *e, size item)                                                 \
    {                                                                                                              \
        const REAL *x = (const REAL *)e->image + item * e->area;                                                   \
        REAL *out = (REAL *)e->out + item * e->count;                                                              \
        int64_t *places = e->places + item * e->count;                                                             \
        EACH_ROW(e)                                                                                                \
            for (size w = 0; w < e->windows[2]; w++) {                                                             \
                const size from = FROM(e, 2, item, w), to = TO(e, 2, item, w);                                     \
                size place = (FROM(e, 0, item, d) * e->length[1] + FROM(e, 1, item, h)) * e->length[2] + from;     \
                REAL best = x[place];                                                                              \
                EACH_SEEN(e, item)                                                                                 \
                    for (size i = row + from; i < row + to; i++)                                                   \
                        if (BETTER(x[i], best)) best = x[i], place = i;                                            \
                *out++ = best, *places++ = place;                                                                  \
            }                                                                                                      \
    }                                                                                                              \
    static void inside_##SUFFIX(const struct edged *e, size item)                                                  \
    {                                                                                                              \
        const size channels = e->channels, image = e->area * channels;                                             \
        const REAL *x = (const REAL *)e->image;                                                                    \
        REAL *out = (REAL *)e->out;                                                                                \
        if (e->work == SPREAD) memset(out + item * image, 0, image * sizeof *out);                                 \
        size at = item * e->count * channels;                                                                      \
        EACH_ROW(e)                                                                                                \
            for (size w = 0; w < e->windows[2]; w++, at += channels) {                                             \
                struct pixel_window seen;                                                                          \
                const REAL share = (REAL)window_at(e, d, h, w, &seen);                                             \
                if (e->work == LARGEST) kernels->pixel_most_##SUFFIX(out + at, e->places + at, x + item * image, &seen, channels); \
                else if (e->work == MEAN) kernels->pixel_total_##SUFFIX(out + at, x + item * image, &seen, share, channels); \
                else kernels->pixel_spread_##SUFFIX(out + item * image, x + at, &seen, share, channels);           \
            }                                                                                                      \
    }                                                                                                              \
    static void mean_##SUFFIX(const struct edged *e, size item, REAL *room)                                        \
    {                                                                                                              \
        const size width = e->length[2];                                                                           \
        const REAL *x = (const REAL *)e->image + item * e->area;                                                   \
        REAL *out = (REAL *)e->out + item * e->count;                                                              \
        EACH_ROW(e) {                                                                                              \
            const size rows = (TO(e, 0, item, d) - FROM(e, 0, item, d)) * (TO(e, 1, item, h) - FROM(e, 1, item, h)); \
            const REAL *sums = rows == 1 ? x + (FROM(e, 0, item, d) * e->length[1] + FROM(e, 1, item, h)) * width : room; \
            if (rows > 1) {                                                                                        \
                memset(room, 0, width * sizeof *room);                                                             \
                EACH_SEEN(e, item) kernels->add_##SUFFIX(room, x + row, width);                                    \
            }                                                                                                      \
            for (size w = 0; w < e->windows[2]; w++, out++) {                                                      \
                const size from = FROM(e, 2, item, w), n = TO(e, 2, item, w) - from;                               \
                const REAL share = (REAL)(rows * n), *row = sums + from;                                           \
                if (n >= 32) {                                                                                     \
                    double total;                                                                                  \
                    kernels->sum_rows_##SUFFIX(&total, row, 1, n);                                                 \
                    *out = (REAL)total / share;                                                                    \
                } else {                                                                                           \
                    REAL total = 0;                                                                                \
                    for (size i = 0; i < n; i++) total += row[i];                                                  \
                    *out = total / share;                                                                          \
                }                                                                                                  \
            }                                                                                                      \
        }                                                                                                          \
    }                                                                                                              \
    static void spread_##SUFFIX(const struct edged *e, size item, REAL *room)                                      \
    {                                                                                                              \
        const size width = e->length[2];                                                                           \
        const REAL *g = (const REAL *)e->image + item * e->count;                                                  \
        REAL *out = (REAL *)e->out + item * e->area;                                                               \
        memset(out, 0, e->area * sizeof *out);                                                                     \
        EACH_ROW(e) {                                                                                              \
            const size rows = (TO(e, 0, item, d) - FROM(e, 0, item, d)) * (TO(e, 1, item, h) - FROM(e, 1, item, h)); \
            memset(room, 0, width * sizeof *room);                                                                 \
            for (size w = 0; w < e->windows[2]; w++, g++) {                                                        \
                const size from = FROM(e, 2, item, w), to = TO(e, 2, item, w);                                     \
                const REAL share = *g / (REAL)(rows * (to - from));                                                \
                for (size i = from; i < to; i++) room[i] += share;                                                 \
            }                                                                                                      \
            EACH_SEEN(e, item) kernels->add_##SUFFIX(out + row, room, width);                                      \
        }                                                                                                          \
    }                                                                                                              \
    static void edged_task_##SUFFIX(void *context, size begin, size end, int chunk)                                \
    {                                                                                                              \
        const struct edged *e = context;                                                                           \
        REAL *room = (REAL *)e->room + chunk * e->length[2];                                                       \
        for (size item = begin; item < end; item++) {                                                              \
            if (e->channels > 1) inside_##SUFFIX(e, item);                                                         \
            else if (e->work == LARGEST) largest_##SUFFIX(e, item);                                                \
            else if (e->work == MEAN) mean_##SUFFIX(e, item, room);                                                \
            else spread_##SUFFIX(e, item, room);                                                                   \
        }                                                                                                          \
    }
DEFINE_EDGED(float, f32)
DEFINE_EDGED(double, f64)

/* An array like `x`, (images, channels, *), with the last axes of these lengths, laid out as the job has it. */
static PyArrayObject *with_axes(const struct edged *e, PyArrayObject *x, int type, const size *lengths)
{
    const int ndim = PyArray_NDIM(x), axes = ndim - 2;
    npy_intp shape[2 + AXES] = {PyArray_DIM(x, 0), PyArray_DIM(x, 1)};
    for (int k = 0; k < axes; k++) shape[2 + k] = lengths[AXES - axes + k];
    return e->channels > 1 ? new_innermost(type, ndim, shape) : (PyArrayObject *)PyArray_SimpleNew(ndim, shape, type);
}

/* The array as it will be read, a new reference, and how many images it has: of one channel each, or of all that are innermost. */
static PyArrayObject *read_images(struct edged *e, PyObject *given, size *images)
{
    PyArrayObject *x = (PyArrayObject *)given;
    const int one = !e->next[0] && !e->next[1] && !e->next[2]; /* otherwise each channel has its own windows */
    e->channels = one && lies_innermost(x) ? PyArray_DIM(x, 1) : 1;
    *images = PyArray_DIM(x, 0) * (e->channels > 1 ? 1 : PyArray_DIM(x, 1));
    return e->channels > 1 ? innermost_of(given) : contiguous(given);
}

/* Whether these are images of as many axes as there are edges, which are read; `space` has the axes' lengths. */
static int are_images(struct edged *e, PyObject *given, PyObject *edges, const npy_intp *space)
{
    if (!is_real(given) || PyArray_NDIM((PyArrayObject *)given) < 3 || !PyArray_SIZE((PyArrayObject *)given)) return 0;
    PyArrayObject *x = (PyArrayObject *)given;
    return read_edges(e, edges, space ? space : PyArray_DIMS(x) + 2, PyArray_DIM(x, 0) * PyArray_DIM(x, 1)) == PyArray_NDIM(x) - 2;
}

/* The job's work on an array: a new one, whose places, for LARGEST, are left in `places`. */
static PyArrayObject *worked(struct edged *e, PyObject *given, enum edged_work work, PyArrayObject **places)
{
    size images;
    PyArrayObject *x = read_images(e, given, &images), *room = NULL, *out = NULL;
    e->work = work;
    if (x && (out = with_axes(e, x, PyArray_TYPE(x), work == SPREAD ? e->length : e->windows)) &&
        (!places || (*places = with_axes(e, x, NPY_INT64, e->windows)))) {
        const int chunks = pool_chunks(images, ((work == LARGEST ? 1.5 : 0.5) * e->area + 4 * e->count) * e->channels);
        if ((room = scratch(chunks * e->length[2], sizeof(double)))) {
            e->image = PyArray_BYTES(x), e->out = PyArray_BYTES(out), e->room = aligned(room);
            e->places = places ? PyArray_DATA(*places) : NULL;
            Py_BEGIN_ALLOW_THREADS
            pool_run(PyArray_TYPE(x) == NPY_FLOAT ? edged_task_f32 : edged_task_f64, e, images, chunks);
            Py_END_ALLOW_THREADS
        }
    }
    if (!room) {
        Py_CLEAR(out);
        if (places) Py_CLEAR(*places);
    }
    Py_XDECREF(x);
    Py_XDECREF(room);
    return out;
}

/* largest_between(x, edges) -> values, places */
static PyObject *largest_between(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct edged e = {0};
    PyArrayObject *places = NULL;
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    if (!are_images(&e, args[0], args[1], NULL)) NOT_HANDLED();
    PyArrayObject *out = worked(&e, args[0], LARGEST, &places);
    return out ? Py_BuildValue("NN", out, places) : NULL;
}

/* mean_between(x, edges) */
static PyObject *mean_between(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct edged e = {0};
    if (count != 2) return PyErr_Format(PyExc_TypeError, "expected 2 arguments");
    if (!are_images(&e, args[0], args[1], NULL) || e.next[0] || e.next[1] || e.next[2]) NOT_HANDLED();
    return (PyObject *)worked(&e, args[0], MEAN, NULL);
}

/* spread_between(g, edges, space): the adjoint, of images whose last axes are `space` */
static PyObject *spread_between(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct edged e = {0};
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    npy_intp space[AXES];
    const int axes = PyTuple_Check(args[2]) ? (int)PyTuple_GET_SIZE(args[2]) : 0;
    if (axes < 1 || axes > AXES) NOT_HANDLED();
    for (int k = 0; k < axes; k++) if (read_number(PyTuple_GET_ITEM(args[2], k), 1, &space[k]) < 0) NOT_HANDLED();
    if (!PyTuple_Check(args[1]) || PyTuple_GET_SIZE(args[1]) != axes || !are_images(&e, args[0], args[1], space) || e.next[0] || e.next[1] || e.next[2])
        NOT_HANDLED();
    for (int k = 0; k < axes; k++)
        if (PyArray_DIM((PyArrayObject *)args[0], 2 + k) != e.windows[AXES - axes + k]) NOT_HANDLED();
    return (PyObject *)worked(&e, args[0], SPREAD, NULL);
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef adaptive_methods[] = {METHOD(largest_between), METHOD(mean_between), METHOD(spread_between), {NULL, NULL, 0, NULL}};
