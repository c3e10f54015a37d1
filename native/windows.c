/* Two-dimensional sliding windows (im2col, col2im), and scattered addition. */
#include "operation.h"

#include "pool.h"

struct geometry {
    size height, width, rows, columns; /* of the image; of the windows */
    size kernel[2], stride[2], padding[2], dilation[2];
};

/* Read kernel, stride, padding and dilation, each a pair, from tuples; 0 on success. */
static int read_geometry(PyObject *const *args, struct geometry *geometry)
{
    size *pairs[] = {geometry->kernel, geometry->stride, geometry->padding, geometry->dilation};
    const size least[] = {1, 1, 0, 1};
    for (int k = 0; k < 4; k++) {
        if (!PyTuple_Check(args[k]) || PyTuple_GET_SIZE(args[k]) != 2) return -1;
        for (int j = 0; j < 2; j++)
            if (read_number(PyTuple_GET_ITEM(args[k], j), least[k], &pairs[k][j]) < 0) return -1;
    }
    return 0;
}

static int are_windows_countable(const struct geometry *w, size images, size channels)
{
    const size numbers[] = {images, channels, w->kernel[0], w->kernel[1], w->rows, w->columns};
    return is_countable(numbers, 6);
}

static size window_count(size length, const struct geometry *geometry, int axis)
{
    const size room = length + 2 * geometry->padding[axis] - geometry->dilation[axis] * (geometry->kernel[axis] - 1) - 1;
    return room < 0 ? 0 : room / geometry->stride[axis] + 1;
}

/* Which windows of a row (first <= j < last) see the image at this place of the window. */
static void seen(size offset, size stride, size length, size windows, size *first, size *last)
{
    *first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    *last = offset >= length ? 0 : (length - offset + stride - 1) / stride;
    if (*last > windows) *last = windows;
    if (*first > *last) *first = *last;
}

struct window_job {
    struct geometry geometry;
    size itemsize, channels;
    char *image, *columns;
};

#define FOR_EACH_TAP(geometry)                                  \
    for (size i = 0; i < (geometry)->kernel[0]; i++)            \
        for (size j = 0; j < (geometry)->kernel[1] && !pool_stopped(); j++)

/* One item is one channel of one image. */
static void im2col_task(void *context, size begin, size end, int chunk)
{
    const struct window_job *job = context;
    const struct geometry *w = &job->geometry;
    const size item = job->itemsize, step = w->stride[1];
    (void)chunk;
    for (size plane = begin; plane < end; plane++) {
        const char *image = job->image + plane * w->height * w->width * item;
        char *to = job->columns + plane * w->kernel[0] * w->kernel[1] * w->rows * w->columns * item;
        FOR_EACH_TAP(w) {
            const size offset = j * w->dilation[1] - w->padding[1];
            size row = i * w->dilation[0] - w->padding[0], begins, ends;
            seen(offset, step, w->width, w->columns, &begins, &ends);
            for (size y = 0; y < w->rows; y++, row += w->stride[0], to += w->columns * item) {
                const int inside = row >= 0 && row < w->height;
                const size first = inside ? begins : 0, last = inside ? ends : 0;
                const char *from = image + (row * w->width + offset) * item;
                if (first) memset(to, 0, first * item);
                if (step == 1) memcpy(to + first * item, from + first * item, (last - first) * item);
                else if (item == 4)
                    for (size k = first; k < last; k++) ((uint32_t *)to)[k] = ((const uint32_t *)from)[k * step];
                else if (item == 8)
                    for (size k = first; k < last; k++) ((uint64_t *)to)[k] = ((const uint64_t *)from)[k * step];
                else
                    for (size k = first; k < last; k++) memcpy(to + k * item, from + k * step * item, item);
                if (last < w->columns) memset(to + last * item, 0, (w->columns - last) * item);
            }
        }
    }
}

#define DEFINE_COL2IM(REAL, SUFFIX)                                                                     \
    static void col2im_task_##SUFFIX(void *context, size begin, size end, int chunk)                    \
    {                                                                                                   \
        const struct window_job *job = context;                                                         \
        const struct geometry *w = &job->geometry;                                                      \
        const size step = w->stride[1], area = w->height * w->width;                                    \
        (void)chunk;                                                                                    \
        for (size plane = begin; plane < end; plane++) {                                                \
            REAL *image = (REAL *)job->image + plane * area;                                            \
            const REAL *from = (const REAL *)job->columns +                                             \
                               plane * w->kernel[0] * w->kernel[1] * w->rows * w->columns;              \
            memset(image, 0, area * sizeof(REAL));                                                      \
            FOR_EACH_TAP(w) {                                                                           \
                const size offset = j * w->dilation[1] - w->padding[1];                                 \
                size row = i * w->dilation[0] - w->padding[0], first, last;                             \
                seen(offset, step, w->width, w->columns, &first, &last);                                \
                for (size y = 0; y < w->rows; y++, row += w->stride[0], from += w->columns) {           \
                    if (row < 0 || row >= w->height) continue;                                          \
                    REAL *to = image + row * w->width + offset;                                         \
                    if (step == 1) kernels->add_##SUFFIX(to + first, from + first, last - first);       \
                    else                                                                                \
                        for (size k = first; k < last; k++) to[k * step] += from[k];                    \
                }                                                                                       \
            }                                                                                           \
        }                                                                                               \
    }
DEFINE_COL2IM(float, f32)
DEFINE_COL2IM(double, f64)

/* The same of windows that lie one after another, each (channels, kernel): what a row of a window sees is added in one piece. */
#define DEFINE_ADD_WINDOWS(REAL, SUFFIX)                                                                \
    static void add_windows_task_##SUFFIX(void *context, size begin, size end, int chunk)               \
    {                                                                                                   \
        const struct window_job *job = context;                                                         \
        const struct geometry *w = &job->geometry;                                                      \
        const size area = w->height * w->width, taps = w->kernel[0] * w->kernel[1];                     \
        const size channels = job->channels, windows = w->rows * w->columns;                            \
        (void)chunk;                                                                                    \
        for (size plane = begin; plane < end; plane++) {                                                \
            REAL *image = (REAL *)job->image + plane * area;                                            \
            const REAL *from = (const REAL *)job->columns +                                             \
                               (plane / channels * windows * channels + plane % channels) * taps;       \
            memset(image, 0, area * sizeof(REAL));                                                      \
            if (pool_stopped()) return;                                                                 \
            for (size y = 0; y < w->rows; y++)                                                          \
                for (size x = 0; x < w->columns; x++, from += channels * taps) {                        \
                    const size left = x * w->stride[1] - w->padding[1], room = w->width - left;         \
                    const size first = left < 0 ? -left : 0, last = w->kernel[1] < room ? w->kernel[1] : room; \
                    for (size i = 0; i < w->kernel[0]; i++) {                                           \
                        const size row = y * w->stride[0] - w->padding[0] + i * w->dilation[0];         \
                        if (row < 0 || row >= w->height) continue;                                      \
                        REAL *to = image + row * w->width + left;                                       \
                        const REAL *add = from + i * w->kernel[1];                                      \
                        for (size j = first; j < last; j++) to[j] += add[j];                            \
                    }                                                                                   \
                }                                                                                       \
        }                                                                                               \
    }
DEFINE_ADD_WINDOWS(float, f32)
DEFINE_ADD_WINDOWS(double, f64)

static int run_planes(pool_task task, struct window_job *job, size planes, double cost)
{
    const int chunks = pool_chunks(planes, cost);
    int result;
    Py_BEGIN_ALLOW_THREADS
    result = pool_run_stoppable(task, job, planes, chunks);
    Py_END_ALLOW_THREADS
    return result;
}

/* im2col(x, kernel, stride, padding, dilation) -> (N, C * kernel, windows) */
PyObject *im2col(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct window_job job = {0};
    struct geometry *w = &job.geometry;
    if (count != 5) return PyErr_Format(PyExc_TypeError, "expected 5 arguments");
    if (!PyArray_Check(args[0]) || PyArray_NDIM((PyArrayObject *)args[0]) != 4 || read_geometry(args + 1, w) < 0 ||
        PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)args[0])))
        NOT_HANDLED();
    PyArrayObject *x = contiguous(args[0]);
    if (!x) return NULL;
    w->height = PyArray_DIM(x, 2), w->width = PyArray_DIM(x, 3);
    w->rows = window_count(w->height, w, 0), w->columns = window_count(w->width, w, 1);
    if (!are_windows_countable(w, PyArray_DIM(x, 0), PyArray_DIM(x, 1))) {
        Py_DECREF(x);
        NOT_HANDLED();
    }
    const npy_intp shape[] = {PyArray_DIM(x, 0), PyArray_DIM(x, 1) * w->kernel[0] * w->kernel[1], w->rows * w->columns};
    Py_INCREF(PyArray_DESCR(x));
    PyArrayObject *out = (PyArrayObject *)PyArray_Empty(3, shape, PyArray_DESCR(x), 0);
    if (out) {
        job.itemsize = PyArray_ITEMSIZE(x), job.image = PyArray_BYTES(x), job.columns = PyArray_BYTES(out);
        if (run_planes(im2col_task, &job, PyArray_DIM(x, 0) * PyArray_DIM(x, 1),
                       0.15 * w->kernel[0] * w->kernel[1] * w->rows * w->columns) < 0)
            Py_CLEAR(out);
    }
    Py_DECREF(x);
    return (PyObject *)out;
}

/* The image that windows are added to, from (N, C * kernel, windows), or (N, windows, C * kernel) if `after` is 2. */
static PyObject *added(PyObject *const *args, Py_ssize_t count, int after)
{
    struct window_job job = {0};
    struct geometry *w = &job.geometry;
    if (count != 6) return PyErr_Format(PyExc_TypeError, "expected 6 arguments");
    if (!is_real(args[0]) || PyArray_NDIM((PyArrayObject *)args[0]) != 3 || read_geometry(args + 2, w) < 0 ||
        !PyTuple_Check(args[1]) || !PyArg_ParseTuple(args[1], "nn", &w->height, &w->width) || w->height < 0 || w->height > MOST ||
        w->width < 0 || w->width > MOST) {
        PyErr_Clear();
        NOT_HANDLED();
    }
    PyArrayObject *columns = contiguous(args[0]);
    if (!columns) return NULL;
    const size area = w->kernel[0] * w->kernel[1];
    w->rows = window_count(w->height, w, 0), w->columns = window_count(w->width, w, 1);
    if (!are_windows_countable(w, 1, 1) || PyArray_DIM(columns, after) % area ||
        PyArray_DIM(columns, 3 - after) != w->rows * w->columns || (after == 2 && w->dilation[1] != 1)) {
        Py_DECREF(columns);
        NOT_HANDLED();
    }
    const npy_intp shape[] = {PyArray_DIM(columns, 0), PyArray_DIM(columns, after) / area, w->height, w->width};
    PyArrayObject *out = new_like(columns, 4, shape);
    if (out) {
        job.image = PyArray_BYTES(out), job.columns = PyArray_BYTES(columns), job.channels = shape[1];
        const int single = PyArray_TYPE(columns) == NPY_FLOAT;
        const pool_task task = after == 2 ? (single ? add_windows_task_f32 : add_windows_task_f64) : single ? col2im_task_f32 : col2im_task_f64;
        if (run_planes(task, &job, shape[0] * shape[1], 0.15 * area * w->rows * w->columns) < 0)
            Py_CLEAR(out);
    }
    Py_DECREF(columns);
    return (PyObject *)out;
}

/* col2im(columns, (height, width), kernel, stride, padding, dilation) -> (N, C, height, width) */
static PyObject *col2im(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return added(args, count, 1);
}
/* add_windows(windows, (height, width), kernel, stride, padding, dilation) -> (N, C, height, width) */
static PyObject *add_windows(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    return added(args, count, 2);
}

/* ---- scattered addition ---- */

struct scatter_job {
    char *out;
    const char *values;
    const int64_t *index;
    size count, rows, width;
    int type, narrow; /* narrow: of 16 bits, as narrow_kind has it */
};

/* A row of 16 bits added to another, and rounded, COLUMNS numbers at a time. */
static void add_narrow(uint16_t *out, const uint16_t *values, size width, int narrow)
{
    float sum[COLUMNS], row[COLUMNS];
    for (size at = 0; at < width; at += COLUMNS) {
        const size n = width - at < COLUMNS ? width - at : COLUMNS;
        (narrow == 2 ? kernels->widen_brain : kernels->widen_half)(sum, out + at, n);
        (narrow == 2 ? kernels->widen_brain : kernels->widen_half)(row, values + at, n);
        kernels->add_f32(sum, row, n);
        (narrow == 2 ? kernels->narrow_brain : kernels->narrow_half)(out + at, sum, n);
    }
}

/* Each chunk owns a range of rows of `out`, and takes from the whole list what falls there: the order of additions to a
 * row, and so the result, does not depend on the number of threads. Rows of a few numbers are not worth a call. */
enum { FEW = 8 };
#define EVERY_ROW(job, begin, end)                                                                                 \
    for (size k = 0, row; k < (job)->count; k++)                                                                   \
        if ((row = (job)->index[k] < 0 ? (job)->index[k] + (job)->rows : (job)->index[k]) >= (begin) && row < (end))
#define DEFINE_SCATTER(REAL, SUFFIX)                                                                               \
    static void scatter_##SUFFIX(const struct scatter_job *job, size begin, size end)                              \
    {                                                                                                              \
        const size width = job->width;                                                                             \
        REAL *const out = (REAL *)job->out;                                                                        \
        const REAL *const values = (const REAL *)job->values;                                                      \
        if (width == 1) {                                                                                          \
            EVERY_ROW(job, begin, end) out[row] += values[k];                                                      \
        } else if (width <= FEW) {                                                                                 \
            EVERY_ROW(job, begin, end) for (size i = 0; i < width; i++) out[row * width + i] += values[k * width + i]; \
        } else {                                                                                                   \
            EVERY_ROW(job, begin, end) kernels->add_##SUFFIX(out + row * width, values + k * width, width);        \
        }                                                                                                          \
    }
DEFINE_SCATTER(float, f32)
DEFINE_SCATTER(double, f64)

static void scatter_task(void *context, size begin, size end, int chunk)
{
    const struct scatter_job *job = context;
    (void)chunk;
    if (job->narrow) {
        EVERY_ROW(job, begin, end) add_narrow((uint16_t *)job->out + row * job->width, (const uint16_t *)job->values + k * job->width, job->width, job->narrow);
    } else if (job->type == NPY_FLOAT) scatter_f32(job, begin, end);
    else scatter_f64(job, begin, end);
}

/* add_at(out, index, values) -> out */
static PyObject *add_at(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    PyArrayObject *out = (PyArrayObject *)args[0];
    const int narrow = narrow_kind(args[0]);
    if (narrow ? narrow_kind(args[2]) != narrow : !is_real(args[0]) || !is_like(args[2], args[0])) NOT_HANDLED();
    if (PyArray_NDIM(out) < 1 || !PyArray_ISCARRAY(out) || !PyArray_Check(args[1]) ||
        PyArray_TYPE((PyArrayObject *)args[1]) != NPY_INT64)
        NOT_HANDLED();
    PyArrayObject *index = contiguous(args[1]), *values = contiguous(args[2]);
    PyObject *result = NULL;
    if (!index || !values) goto done;
    struct scatter_job job = {PyArray_BYTES(out), PyArray_BYTES(values), PyArray_DATA(index), PyArray_SIZE(index),
                              PyArray_DIM(out, 0), 1, PyArray_TYPE(out), narrow};
    for (int k = 1; k < PyArray_NDIM(out); k++) job.width *= PyArray_DIM(out, k);
    if (PyArray_SIZE(values) != job.count * job.width) {
        PyErr_SetString(PyExc_ValueError, "add_at: values must have the shape of index followed by that of a row");
        goto done;
    }
    for (size k = 0; k < job.count; k++)
        if (job.index[k] < -job.rows || job.index[k] >= job.rows) {
            PyErr_SetString(PyExc_IndexError, "index out of range in self");
            goto done;
        }
    const double cost = job.count * (3 + 0.2 * job.width);
    const int chunks = job.width < 16 ? 1 : pool_chunks(job.rows, cost / (job.rows ? job.rows : 1));
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)cost);
    pool_run(scatter_task, &job, job.rows, chunks);
    NPY_END_THREADS
    Py_INCREF(out);
    result = (PyObject *)out;
done:
    Py_XDECREF(index);
    Py_XDECREF(values);
    return result;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef windows_methods[] = {
    METHOD(im2col), METHOD(col2im), METHOD(add_windows), METHOD(add_at), {NULL, NULL, 0, NULL},
};
