/* Pooling over windows of one to three dimensions: maxima with their places, averages, and their gradients. */
#include "operation.h"

#include "pool.h"

enum { AXES = 3, TABLE = 16, BLOCK = 1024, ROUND = 16 }; /* numbers that stay in the first cache; of whole vectors */

/* Axes are depth, height and width; those that there are not have length one. */
struct pooling {
    size length[AXES], windows[AXES], kernel[AXES], stride[AXES], padding[AXES], dilation[AXES];
    size area, count, planes; /* of the image, and of the windows; how many images there are */
    int include;      /* whether padding counts in an average */
    double divisor;   /* or 0 */
    int tiles;        /* whether windows lie side by side, none of padding, and are wide */
    int lines;        /* whether rows that windows see are added up before columns are */
    const char *image;
    char *out;
    int64_t *index;
    size channels; /* that are innermost in memory; otherwise 0 */
    int work;
    int failed;
    size columns[2], first[TABLE], last[TABLE]; /* of the last axis: the places of windows that see the image, and which windows do */
};

/* `tuple` has a number for each of the last axes, no less than `missing`, which the others get. */
static int read_axes(PyObject *tuple, size *to, int axes, size missing)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != axes) return -1;
    for (int k = 0; k < AXES; k++) to[k] = missing;
    for (int k = 0; k < axes; k++)
        if (read_number(PyTuple_GET_ITEM(tuple, k), missing, &to[AXES - axes + k]) < 0) return -1;
    return 0;
}

/* Of the places of a window along an axis, the first and the one after the last that see an image of this length: the place
 * a is at `start` + a * dilation. */
static void inside(const struct pooling *p, int axis, size start, size room, size *from, size *to)
{
    const size dilation = p->dilation[axis], length = p->length[axis];
    *from = start + room >= 0 ? 0 : (-start - room + dilation - 1) / dilation;
    *to = start >= length ? 0 : (length - start + dilation - 1) / dilation;
    if (*to > p->kernel[axis]) *to = p->kernel[axis];
}

/* Which windows of a row (first <= j < last) see the image at this place of the window. */
static void seen(size offset, size stride, size length, size windows, size *first, size *last)
{
    *first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    *last = offset >= length ? 0 : (length - offset + stride - 1) / stride;
    if (*last > windows) *last = windows;
    if (*first > *last) *first = *last;
}

/* How many of an array's axes are those of an image: as many as the tuple has numbers; one or two others come before. -1 if not. */
static int axes_of(PyArrayObject *x, PyObject *tuple)
{
    const int axes = PyTuple_Check(tuple) ? (int)PyTuple_GET_SIZE(tuple) : 0, others = PyArray_NDIM(x) - axes;
    return axes >= 1 && axes <= AXES && (others == 1 || others == 2) ? axes : -1;
}

/* How many images there are in an array whose last `axes` axes are those of an image. */
static size planes_of(PyArrayObject *x, int axes)
{
    return PyArray_DIM(x, 0) * (PyArray_NDIM(x) - axes == 2 ? PyArray_DIM(x, 1) : 1);
}

/* How many windows there are along the last `axes` axes, by PyTorch's rule where the last one need not fit (`ceil`); 0, or -1 for none. */
static int count_windows(struct pooling *p, int axes, int ceil)
{
    for (int k = 0; k < AXES; k++) p->windows[k] = 1;
    for (int k = AXES - axes; k < AXES; k++) {
        const size n = p->length[k], stride = p->stride[k], room = n + 2 * p->padding[k] - p->dilation[k] * (p->kernel[k] - 1) - 1;
        if (room < 0) return -1;
        p->windows[k] = (ceil ? room + stride - 1 : room) / stride + 1;
        if (ceil && (p->windows[k] - 1) * stride >= n + p->padding[k]) p->windows[k]--; /* it must start inside */
        if (p->windows[k] < 1) return -1;
    }
    return 0;
}

/* (array of images, windows, kernel, stride, padding, dilation); how many axes an image has, or -1. `windows`: how many along
 * each axis, or whether the last of an axis may be incomplete. */
static int read_pooling(struct pooling *p, PyArrayObject *x, PyObject *const *args, PyObject *dilation)
{
    const int axes = axes_of(x, args[1]);
    const npy_intp *shape = PyArray_DIMS(x) + PyArray_NDIM(x) - axes;
    if (axes < 0) return -1;
    if ((!PyBool_Check(args[0]) && read_axes(args[0], p->windows, axes, 1) < 0) || read_axes(args[1], p->kernel, axes, 1) < 0 ||
        read_axes(args[2], p->stride, axes, 1) < 0 || read_axes(args[3], p->padding, axes, 0) < 0)
        return -1;
    for (int k = 0; k < AXES; k++) p->dilation[k] = 1;
    if (dilation && read_axes(dilation, p->dilation, axes, 1) < 0) return -1;
    p->area = p->count = 1;
    for (int k = 0; k < AXES; k++) p->length[k] = k < AXES - axes ? 1 : shape[k - (AXES - axes)];
    if (PyBool_Check(args[0]) && count_windows(p, axes, args[0] == Py_True) < 0) return -1;
    for (int k = 0; k < AXES; k++) {
        p->area *= p->length[k], p->count *= p->windows[k];
    }
    const size counts[] = {planes_of(x, axes), p->windows[0], p->windows[1], p->windows[2]};
    return p->area < INT32_MAX && is_countable(counts, 1 + AXES) ? axes : -1;
}

/* ACTION for the places of windows along the last axis: at `offset`, in the windows from `first` to `last`. */
#define FOR_COLUMNS_SEEN(p, ACTION)                                                                \
    for (size c = (p)->columns[0]; c < (p)->columns[1]; c++) {                                     \
        const size offset = c * (p)->dilation[2] - (p)->padding[2];                                \
        size first = (p)->first[c % TABLE], last = (p)->last[c % TABLE];                           \
        if (c >= TABLE) seen(offset, (p)->stride[2], (p)->length[2], (p)->windows[2], &first, &last); \
        if (first < last) { ACTION; }                                                              \
    }

/* For the row of windows (z, y): ACTION for each row of the image that it sees, at `row`, moved by `offset`, in the windows
 * from `first` to `last`. */
#define FOR_ROWS_SEEN(p, z, y, ACTION)                                                             \
    size a0, a1, b0, b1;                                                                           \
    const size front = (z) * (p)->stride[0] - (p)->padding[0], top = (y) * (p)->stride[1] - (p)->padding[1]; \
    inside(p, 0, front, 0, &a0, &a1);                                                              \
    inside(p, 1, top, 0, &b0, &b1);                                                                \
    for (size a = a0; a < a1; a++) {                                                               \
        const size depth = front + a * (p)->dilation[0];                                           \
        for (size b = b0; b < b1; b++) {                                                           \
            const size height = top + b * (p)->dilation[1];                                        \
            const size row = (depth * (p)->length[1] + height) * (p)->length[2];                   \
            FOR_COLUMNS_SEEN(p, ACTION)                                                            \
        }                                                                                          \
    }

/* How many elements the window at `at` averages over along an axis. */
static double extent(const struct pooling *p, int axis, size at)
{
    size start = at * p->stride[axis] - p->padding[axis], stop = start + p->kernel[axis];
    if (stop > p->length[axis] + p->padding[axis]) stop = p->length[axis] + p->padding[axis];
    if (!p->include) {
        if (start < 0) start = 0;
        if (stop > p->length[axis]) stop = p->length[axis];
    }
    return (double)(stop - start);
}

/* The rows of the image that a row of windows sees. */
struct seen_rows {
    size first, taps[2], steps[2];
};
static struct seen_rows rows_of(const struct pooling *p, size z, size y)
{
    size a0, a1, b0, b1;
    const size front = z * p->stride[0] - p->padding[0], top = y * p->stride[1] - p->padding[1];
    inside(p, 0, front, 0, &a0, &a1);
    inside(p, 1, top, 0, &b0, &b1);
    const size row = (front + a0 * p->dilation[0]) * p->length[1] + top + b0 * p->dilation[1];
    return (struct seen_rows){row * p->length[2], {a1 - a0, b1 - b0}, {p->dilation[0] * p->length[1] * p->length[2], p->dilation[1] * p->length[2]}};
}

/* A row of the image with its padding, so that windows of rows that follow each other are a multiple of the stride apart. */
static size pitch_of(const struct pooling *p)
{
    const size image = p->padding[2] + p->length[2], windows = (p->windows[2] - 1) * p->stride[2] + (p->kernel[2] - 1) * p->dilation[2] + 1;
    return ((image > windows ? image : windows) + p->stride[2] - 1) / p->stride[2] * p->stride[2];
}

#define DEFINE_POOLS(REAL, SUFFIX)                                                                             \
    static void max_task_##SUFFIX(void *context, size begin, size end, int chunk)                              \
    {                                                                                                          \
        struct pooling *p = context;                                                                           \
        const size columns = p->windows[2], rows = p->windows[0] * p->windows[1], stride = p->stride[2];       \
        const size pitch = pitch_of(p), high = rows < BLOCK / pitch ? rows : BLOCK < pitch ? 1 : BLOCK / pitch; \
        const size room = high * pitch + pitch + ROUND * (stride + 1);                                               \
        REAL *best = malloc(4 * room * sizeof *best), *most = best + 2 * room;                                  \
        (void)chunk;                                                                                           \
        if (!best) {                                                                                           \
            p->failed = 1;                                                                                     \
            return;                                                                                            \
        }                                                                                                      \
        kernels->pool_nothing_##SUFFIX(best, best + room, room);                                               \
        for (size plane = begin; plane < end; plane++) {                                                       \
            const REAL *image = (const REAL *)p->image + plane * p->area;                                      \
            for (size row = 0, n; row < rows && !pool_stopped(); row += n) {                                   \
                n = rows - row < high ? rows - row : high;                                                     \
                for (size k = 0; k < n; k++) {                                                                 \
                    const struct seen_rows s = rows_of(p, (row + k) / p->windows[1], (row + k) % p->windows[1]); \
                    REAL *to = best + k * pitch + p->padding[2];                                               \
                    if (s.taps[0] > 0 && s.taps[1] > 0)                                                        \
                        kernels->pool_down_##SUFFIX(to, to + room, image, (p->planes - plane) * p->area, s.first, s.taps, s.steps, p->length[2]); \
                    else kernels->pool_nothing_##SUFFIX(to, to + room, p->length[2]);                          \
                }                                                                                              \
                kernels->pool_across_##SUFFIX(most, most + room, best, best + room, stride, p->kernel[2], p->dilation[2], \
                                              ((n - 1) * pitch / stride + columns + ROUND - 1) / ROUND * ROUND); \
                const size at = plane * p->count + row * columns;                                              \
                kernels->pool_leave_##SUFFIX((REAL *)p->out + at, p->index + at, most, most + room, n, pitch / stride, columns); \
            }                                                                                                  \
        }                                                                                                      \
        free(best);                                                                                            \
    }                                                                                                          \
    static void max_grad_task_##SUFFIX(void *context, size begin, size end, int chunk)                         \
    {                                                                                                          \
        struct pooling *p = context;                                                                           \
        (void)chunk;                                                                                           \
        for (size plane = begin; plane < end; plane++) {                                                       \
            REAL *image = (REAL *)p->out + plane * p->area;                                                    \
            const REAL *g = (const REAL *)p->image + plane * p->count;                                         \
            const int64_t *index = p->index + plane * p->count;                                                \
            memset(image, 0, p->area * sizeof(REAL));                                                          \
            for (size k = 0; k < p->count; k++) {                                                              \
                if (index[k] < 0 || index[k] >= p->area) p->failed = 1;                                        \
                else image[index[k]] += g[k];                                                                  \
            }                                                                                                  \
        }                                                                                                      \
    }                                                                                                          \
    static void values_task_##SUFFIX(void *context, size begin, size end, int chunk)                           \
    {                                                                                                          \
        const struct pooling *p = context;                                                                     \
        const size columns = p->windows[2];                                                                    \
        (void)chunk;                                                                                           \
        for (size plane = begin; plane < end; plane++) {                                                       \
            const REAL *image = (const REAL *)p->image + plane * p->area;                                      \
            REAL *out = (REAL *)p->out + plane * p->count;                                                     \
            for (size z = 0; z < p->windows[0]; z++)                                                           \
                for (size y = 0; y < p->windows[1]; y++, out += columns) {                                     \
                    if (pool_stopped()) break;                                                                 \
                    for (size k = 0; k < columns; k++) out[k] = (REAL)-INFINITY;                               \
                    FOR_ROWS_SEEN(p, z, y, kernels->pool_raise_##SUFFIX(out + first, image + row + offset + first * p->stride[2], p->stride[2], last - first)) \
                }                                                                                              \
        }                                                                                                      \
    }                                                                                                          \
    /* A row of sums, or of gradients, over the numbers of elements: `whole` along the other axes. */           \
    static void divide_##SUFFIX(const struct pooling *p, REAL *to, const REAL *from, double whole)             \
    {                                                                                                          \
        const size n = p->windows[2];                                                                          \
        const int even = p->divisor || (!p->padding[2] && (n - 1) * p->stride[2] + p->kernel[2] <= p->length[2]); \
        const REAL all = (REAL)(p->divisor ? p->divisor : whole * (double)p->kernel[2]);                       \
        if (even)                                                                                              \
            for (size k = 0; k < n; k++) to[k] = from[k] / all;                                                \
        else                                                                                                   \
            for (size k = 0; k < n; k++) to[k] = from[k] / (REAL)(whole * extent(p, 2, k));                    \
    }                                                                                                          \
    /* The rows of windows side by side: lines of the image are added up, then what each window has of the sum. */ \
    static void sum_tiles_##SUFFIX(const struct pooling *p, REAL *out, const REAL *image, size z, size y)      \
    {                                                                                                          \
        const size step = p->kernel[2], width = p->windows[2] * step, most = BLOCK / step * step;              \
        REAL line[BLOCK];                                                                                      \
        for (size at = 0; at < width; at += most) {                                                            \
            const size n = width - at < most ? width - at : most;                                              \
            for (size i = 0; i < n; i++) line[i] = 0;                                                          \
            for (size a = z * p->kernel[0]; a < (z + 1) * p->kernel[0]; a++)                                   \
                for (size b = y * p->kernel[1]; b < (y + 1) * p->kernel[1]; b++)                               \
                    kernels->add_##SUFFIX(line, image + (a * p->length[1] + b) * p->length[2] + at, n);        \
            for (size i = 0; i < n; i += step) {                                                               \
                REAL sum = line[i];                                                                            \
                for (size k = 1; k < step; k++) sum += line[i + k];                                            \
                *out++ = sum;                                                                                  \
            }                                                                                                  \
        }                                                                                                      \
    }                                                                                                          \
    static void spread_tiles_##SUFFIX(const struct pooling *p, REAL *image, const REAL *share, size z, size y) \
    {                                                                                                          \
        const size step = p->kernel[2], width = p->windows[2] * step, most = BLOCK / step * step;              \
        REAL line[BLOCK];                                                                                      \
        for (size at = 0; at < width; at += most) {                                                            \
            const size n = width - at < most ? width - at : most;                                              \
            for (size i = 0; i < n; i += step, share++)                                                        \
                for (size k = 0; k < step; k++) line[i + k] = *share;                                          \
            for (size a = z * p->kernel[0]; a < (z + 1) * p->kernel[0]; a++)                                   \
                for (size b = y * p->kernel[1]; b < (y + 1) * p->kernel[1]; b++)                               \
                    memcpy(image + (a * p->length[1] + b) * p->length[2] + at, line, n * sizeof(REAL));        \
        }                                                                                                      \
    }                                                                                                          \
    /* What windows have of a row at one place of theirs; and what they give to it. */                         \
    static void add_seen_##SUFFIX(REAL *out, const REAL *from, size step, size first, size last)               \
    {                                                                                                          \
        if (step == 1) kernels->add_##SUFFIX(out + first, from + first, last - first);                         \
        else if (step == 2)                                                                                    \
            for (size k = first; k < last; k++) out[k] += from[k * 2];                                         \
        else                                                                                                   \
            for (size k = first; k < last; k++) out[k] += from[k * step];                                      \
    }                                                                                                          \
    static void spread_seen_##SUFFIX(REAL *to, const REAL *share, size step, size first, size last)            \
    {                                                                                                          \
        if (step == 1) kernels->add_##SUFFIX(to + first, share + first, last - first);                         \
        else                                                                                                   \
            for (size k = first; k < last; k++) to[k * step] += share[k];                                      \
    }                                                                                                          \
    /* The rows that a row of windows sees, added up; and what each of them gets of a line. */                 \
    static void sum_lines_##SUFFIX(const struct pooling *p, REAL *line, const REAL *image, struct seen_rows s) \
    {                                                                                                          \
        memset(line, 0, p->length[2] * sizeof(REAL));                                                          \
        for (size a = 0; a < s.taps[0]; a++)                                                                   \
            for (size b = 0; b < s.taps[1]; b++)                                                               \
                kernels->add_##SUFFIX(line, image + s.first + a * s.steps[0] + b * s.steps[1], p->length[2]);  \
    }                                                                                                          \
    static void spread_lines_##SUFFIX(const struct pooling *p, REAL *image, const REAL *line, struct seen_rows s)\
    {                                                                                                          \
        for (size a = 0; a < s.taps[0]; a++)                                                                   \
            for (size b = 0; b < s.taps[1]; b++)                                                               \
                kernels->add_##SUFFIX(image + s.first + a * s.steps[0] + b * s.steps[1], line, p->length[2]);  \
    }                                                                                                          \
    static void average_task_##SUFFIX(void *context, size begin, size end, int chunk)                          \
    {                                                                                                          \
        const struct pooling *p = context;                                                                     \
        const size columns = p->windows[2], step = p->stride[2];                                               \
        REAL line[BLOCK];                                                                                      \
        (void)chunk;                                                                                           \
        for (size plane = begin; plane < end; plane++) {                                                       \
            const REAL *image = (const REAL *)p->image + plane * p->area;                                      \
            REAL *out = (REAL *)p->out + plane * p->count;                                                     \
            for (size z = 0; z < p->windows[0]; z++)                                                           \
                for (size y = 0; y < p->windows[1]; y++, out += columns) {                                     \
                    if (pool_stopped()) break;                                                                 \
                    if (p->tiles) {                                                                            \
                        sum_tiles_##SUFFIX(p, out, image, z, y);                                               \
                        divide_##SUFFIX(p, out, out, extent(p, 0, z) * extent(p, 1, y));                       \
                        continue;                                                                              \
                    }                                                                                          \
                    memset(out, 0, columns * sizeof(REAL));                                                    \
                    if (p->lines) {                                                                            \
                        sum_lines_##SUFFIX(p, line, image, rows_of(p, z, y));                                  \
                        FOR_COLUMNS_SEEN(p, add_seen_##SUFFIX(out, line + offset, step, first, last))          \
                    } else {                                                                                   \
                        FOR_ROWS_SEEN(p, z, y, add_seen_##SUFFIX(out, image + row + offset, step, first, last))\
                    }                                                                                          \
                    divide_##SUFFIX(p, out, out, extent(p, 0, z) * extent(p, 1, y));                           \
                }                                                                                              \
        }                                                                                                      \
    }                                                                                                          \
    static void average_grad_task_##SUFFIX(void *context, size begin, size end, int chunk)                     \
    {                                                                                                          \
        struct pooling *p = context;                                                                           \
        const size columns = p->windows[2], step = p->stride[2];                                               \
        REAL line[BLOCK];                                                                                      \
        REAL few[256], *share = columns <= 256 ? few : malloc(columns * sizeof *share);                        \
        (void)chunk;                                                                                           \
        if (!share) p->failed = 1;                                                                             \
        for (size plane = begin; plane < end && share; plane++) {                                              \
            REAL *image = (REAL *)p->out + plane * p->area;                                                    \
            const REAL *g = (const REAL *)p->image + plane * p->count;                                         \
            memset(image, 0, p->area * sizeof(REAL));                                                          \
            for (size z = 0; z < p->windows[0]; z++)                                                           \
                for (size y = 0; y < p->windows[1]; y++, g += columns) {                                       \
                    if (pool_stopped()) break;                                                                 \
                    divide_##SUFFIX(p, share, g, extent(p, 0, z) * extent(p, 1, y));                           \
                    if (p->tiles) {                                                                            \
                        spread_tiles_##SUFFIX(p, image, share, z, y);                                          \
                        continue;                                                                              \
                    }                                                                                          \
                    if (p->lines) {                                                                            \
                        memset(line, 0, p->length[2] * sizeof(REAL));                                          \
                        FOR_COLUMNS_SEEN(p, spread_seen_##SUFFIX(line + offset, share, step, first, last))     \
                        spread_lines_##SUFFIX(p, image, line, rows_of(p, z, y));                               \
                    } else {                                                                                   \
                        FOR_ROWS_SEEN(p, z, y, spread_seen_##SUFFIX(image + row + offset, share, step, first, last))\
                    }                                                                                          \
                }                                                                                              \
        }                                                                                                      \
        if (share != few) free(share);                                                                         \
    }
DEFINE_POOLS(float, f32)
DEFINE_POOLS(double, f64)

/* ---- channels innermost in memory: rows of windows, or images of gradients, one after another ---- */

enum inside_work { LARGEST, AVERAGE, SPREAD };

#define DEFINE_INSIDE(REAL, SUFFIX)                                                                            \
    /* Results: REAL *out, of gradients that of the image; the other one is read. */                            \
    static void inside_row_##SUFFIX(struct pooling *p, size plane, size z, size y)                             \
    {                                                                                                          \
        const size n = p->channels;                                                                            \
        const struct seen_rows s = rows_of(p, z, y);                                                           \
        const double whole = extent(p, 0, z) * extent(p, 1, y);                                                \
        struct pixel_window w = {0, {s.taps[0], s.taps[1], 0}, {s.steps[0], s.steps[1], p->dilation[2]}};      \
        for (size x = 0; x < p->windows[2]; x++) {                                                             \
            const size at = (plane * p->count + (z * p->windows[1] + y) * p->windows[2] + x) * n;              \
            const size start = x * p->stride[2] - p->padding[2];                                               \
            const double count = p->divisor ? p->divisor : whole * extent(p, 2, x);                            \
            size from = 0, to = p->kernel[2];                                                                  \
            if (start < 0 || start + (to - 1) * p->dilation[2] >= p->length[2]) inside(p, 2, start, 0, &from, &to); \
            w.first = s.first + start + from * p->dilation[2], w.taps[2] = to - from;                          \
            const int seen = w.taps[0] > 0 && w.taps[1] > 0 && w.taps[2] > 0;                                  \
            const REAL *image = (const REAL *)p->image + plane * p->area * n;                                  \
            REAL *out = (REAL *)p->out + at;                                                                   \
            if (p->work == SPREAD)                                                                             \
                kernels->pixel_spread_##SUFFIX((REAL *)p->out + plane * p->area * n, (const REAL *)p->image + at, &w, (REAL)count, n); \
            else if (p->work == AVERAGE) kernels->pixel_total_##SUFFIX(out, image, &w, (REAL)count, n);        \
            else if (seen) kernels->pixel_most_##SUFFIX(out, p->index ? p->index + at : NULL, image, &w, n);   \
            else                                                                                               \
                for (size c = 0; c < n; c++) {                                                                 \
                    out[c] = (REAL)-INFINITY;                                                                  \
                    if (p->index) p->index[at + c] = -1;                                                       \
                }                                                                                              \
        }                                                                                                      \
    }                                                                                                          \
    static void inside_task_##SUFFIX(void *context, size begin, size end, int chunk)                           \
    {                                                                                                          \
        struct pooling *p = context;                                                                           \
        const size rows = p->windows[0] * p->windows[1];                                                       \
        (void)chunk;                                                                                           \
        for (size item = begin; item < end && !pool_stopped(); item++) {                                       \
            if (p->work != SPREAD) {                                                                           \
                inside_row_##SUFFIX(p, item / rows, item % rows / p->windows[1], item % p->windows[1]);        \
                continue;                                                                                      \
            }                                                                                                  \
            memset((REAL *)p->out + item * p->area * p->channels, 0, p->area * p->channels * sizeof(REAL));    \
            for (size row = 0; row < rows && !pool_stopped(); row++)                                           \
                inside_row_##SUFFIX(p, item, row / p->windows[1], row % p->windows[1]);                        \
        }                                                                                                      \
    }                                                                                                          \
    static void inside_scatter_##SUFFIX(void *context, size begin, size end, int chunk)                        \
    {                                                                                                          \
        struct pooling *p = context;                                                                           \
        const size n = p->channels;                                                                            \
        (void)chunk;                                                                                           \
        for (size plane = begin; plane < end; plane++) {                                                       \
            REAL *image = (REAL *)p->out + plane * p->area * n;                                                \
            const REAL *g = (const REAL *)p->image + plane * p->count * n;                                     \
            const int64_t *index = p->index + plane * p->count * n;                                            \
            memset(image, 0, p->area * n * sizeof(REAL));                                                      \
            for (size k = 0; k < p->count; k++, g += n, index += n)                                            \
                for (size c = 0; c < n; c++) {                                                                 \
                    if (index[c] < 0 || index[c] >= p->area) p->failed = 1;                                    \
                    else image[index[c] * n + c] += g[c];                                                      \
                }                                                                                              \
        }                                                                                                      \
    }
DEFINE_INSIDE(float, f32)
DEFINE_INSIDE(double, f64)

static int run_pooling(pool_task task, struct pooling *p, size planes, double cost)
{
    if (p->windows[2]) { /* otherwise it is not about windows, but about places */
        inside(p, 2, -p->padding[2], (p->windows[2] - 1) * p->stride[2], &p->columns[0], &p->columns[1]);
        for (size c = 0; c < TABLE; c++)
            seen(c * p->dilation[2] - p->padding[2], p->stride[2], p->length[2], p->windows[2], &p->first[c], &p->last[c]);
    }
    int result;
    p->planes = planes;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)fmin(planes * cost, MOST));
    const int chunks = planes ? pool_chunks(planes, cost) : 1;
    result = pool_run_stoppable(task, p, planes, chunks);
    NPY_END_THREADS
    return result;
}

/* Of a plane: what lies outside of the image costs nothing, short rows little less than others. */
static double cost_of(const struct pooling *p)
{
    double taps = 1;
    for (int k = 0; k < AXES; k++) taps *= p->kernel[k] < p->length[k] ? p->kernel[k] : p->length[k];
    return (double)(p->windows[0] * p->windows[1]) * (5 + taps * (4 + 0.3 * p->windows[2]));
}

static PyArrayObject *planes_like(PyArrayObject *x, int axes, const size *lengths)
{
    const int others = PyArray_NDIM(x) - axes;
    npy_intp shape[2 + AXES] = {PyArray_DIM(x, 0), PyArray_DIM(x, others - 1)};
    for (int k = 0; k < axes; k++) shape[others + k] = lengths[AXES - axes + k];
    return new_like(x, PyArray_NDIM(x), shape);
}

/* Whether a batch of pictures has its channels innermost, and shall be pooled so. */
static int pooled_inside(struct pooling *p, PyArrayObject *x, int axes)
{
    if (axes != 2 || PyArray_NDIM(x) != 4 || !lies_innermost(x) || !PyArray_SIZE(x)) return 0;
    p->channels = PyArray_DIM(x, 1);
    return 1;
}

static PyArrayObject *contiguous_or(int inner, PyObject *array) { return inner ? innermost_of(array) : contiguous(array); }

/* A new array of that kind with pictures of these lengths. */
static PyArrayObject *pictures_like(PyArrayObject *x, int type, const size *lengths)
{
    const npy_intp shape[4] = {PyArray_DIM(x, 0), PyArray_DIM(x, 1), lengths[1], lengths[2]};
    return new_innermost(type, 4, shape);
}

/* The work on each row of windows of all images, or, of gradients, on each image. */
static int run_inside(struct pooling *p, int work, int type, size images)
{
    const size taps = p->kernel[1] * p->kernel[2], items = work == SPREAD ? images : images * p->windows[1];
    const double cost = p->windows[2] * (work == SPREAD ? p->windows[1] : 1) * (5.0 + 0.2 * taps * p->channels);
    p->work = work;
    NPY_BEGIN_THREADS_DEF
    NPY_BEGIN_THREADS_THRESHOLDED((size)fmin(items * cost, MOST));
    const int result = pool_run_stoppable(type == NPY_FLOAT ? inside_task_f32 : inside_task_f64, p, items, pool_chunks(items, cost));
    NPY_END_THREADS
    return result;
}

/* What max_pool gives, of such images; the values alone, if `placed` is 0. */
static PyObject *max_inside(struct pooling *p, PyArrayObject *x, int placed)
{
    const int type = PyArray_TYPE(x);
    PyArrayObject *out = pictures_like(x, type, p->windows), *index = out && placed ? pictures_like(x, NPY_INT64, p->windows) : NULL;
    if (out && (index || !placed)) {
        p->image = PyArray_BYTES(x), p->out = PyArray_BYTES(out), p->index = index ? PyArray_DATA(index) : NULL;
        if (run_inside(p, LARGEST, type, PyArray_DIM(x, 0)) == 0) return placed ? Py_BuildValue("NN", out, index) : (PyObject *)out;
    }
    Py_XDECREF(out);
    Py_XDECREF(index);
    return NULL;
}

/* max_pool(x, windows, kernel, stride, padding, dilation) -> (values, places) */
PyObject *max_pool(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct pooling p = {0};
    if (count != 6) return PyErr_Format(PyExc_TypeError, "expected 6 arguments");
    const int axes = is_real(args[0]) ? read_pooling(&p, (PyArrayObject *)args[0], args + 1, args[5]) : -1;
    if (axes < 0) NOT_HANDLED();
    if (pooled_inside(&p, (PyArrayObject *)args[0], axes)) return max_inside(&p, (PyArrayObject *)args[0], 1);
    if (pitch_of(&p) > 4 * p.length[2] + BLOCK) NOT_HANDLED(); /* of which most is padding */
    PyArrayObject *x = contiguous(args[0]);
    if (!x) return NULL;
    PyArrayObject *out = planes_like(x, axes, p.windows), *index = NULL;
    if (out) index = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(out), PyArray_DIMS(out), NPY_INT64);
    if (index) {
        p.image = PyArray_BYTES(x), p.out = PyArray_BYTES(out), p.index = PyArray_DATA(index);
        const double cost = p.count * (0.5 + 0.15 * (double)(p.kernel[0] * p.kernel[1] + p.kernel[2]));
        if (run_pooling(PyArray_TYPE(x) == NPY_FLOAT ? max_task_f32 : max_task_f64, &p, planes_of(x, axes), cost) < 0)
            p.failed = 1;
        else if (p.failed) PyErr_NoMemory();
    }
    Py_DECREF(x);
    if (!index || p.failed) {
        Py_XDECREF(out);
        Py_XDECREF(index);
        return NULL;
    }
    return Py_BuildValue("NN", out, index);
}

/* max_pool_values(x, windows, kernel, stride, padding, dilation) */
PyObject *max_pool_values(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct pooling p = {0};
    if (count != 6) return PyErr_Format(PyExc_TypeError, "expected 6 arguments");
    const int axes = is_real(args[0]) ? read_pooling(&p, (PyArrayObject *)args[0], args + 1, args[5]) : -1;
    if (axes < 0) NOT_HANDLED();
    if (pooled_inside(&p, (PyArrayObject *)args[0], axes)) return max_inside(&p, (PyArrayObject *)args[0], 0);
    PyArrayObject *x = contiguous(args[0]), *out = x ? planes_like(x, axes, p.windows) : NULL;
    if (out) {
        p.image = PyArray_BYTES(x), p.out = PyArray_BYTES(out);
        if (run_pooling(PyArray_TYPE(x) == NPY_FLOAT ? values_task_f32 : values_task_f64, &p, planes_of(x, axes), cost_of(&p)) < 0)
            Py_CLEAR(out);
    }
    Py_XDECREF(x);
    return (PyObject *)out;
}

/* max_pool_grad(g, index, size) -> gradient of the shape of `g` but for its last axes, then size */
static PyObject *max_pool_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct pooling p = {0};
    if (count != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments");
    if (!is_real(args[0]) || !PyArray_Check(args[1]) || PyArray_TYPE((PyArrayObject *)args[1]) != NPY_INT64 ||
        !PyArray_SAMESHAPE((PyArrayObject *)args[0], (PyArrayObject *)args[1]))
        NOT_HANDLED();
    const int axes = axes_of((PyArrayObject *)args[0], args[2]);
    if (axes < 0 || read_axes(args[2], p.length, axes, 0) < 0) NOT_HANDLED();
    for (int k = 0; k < AXES - axes; k++) p.length[k] = 1;
    const size counts[] = {planes_of((PyArrayObject *)args[0], axes), p.length[0], p.length[1], p.length[2]};
    if (!is_countable(counts, 1 + AXES)) NOT_HANDLED();
    const int inner = pooled_inside(&p, (PyArrayObject *)args[0], axes);
    PyArrayObject *g = contiguous_or(inner, args[0]), *index = contiguous_or(inner, args[1]);
    PyArrayObject *out = !g || !index ? NULL : inner ? pictures_like(g, PyArray_TYPE(g), p.length) : planes_like(g, axes, p.length);
    if (out) {
        p.area = p.length[0] * p.length[1] * p.length[2], p.count = 1;
        for (int k = 0; k < axes; k++) p.count *= PyArray_DIM(g, PyArray_NDIM(g) - axes + k);
        p.image = PyArray_BYTES(g), p.out = PyArray_BYTES(out), p.index = PyArray_DATA(index);
        const int single = PyArray_TYPE(g) == NPY_FLOAT;
        const double cost = 0.1 * p.area + 0.8 * p.count;
        const pool_task whole = single ? inside_scatter_f32 : inside_scatter_f64, task = single ? max_grad_task_f32 : max_grad_task_f64;
        if ((inner ? run_pooling(whole, &p, PyArray_DIM(g, 0), cost * p.channels) : run_pooling(task, &p, planes_of(g, axes), cost)) < 0)
            Py_CLEAR(out);
        else if (p.failed) {
            PyErr_SetString(PyExc_IndexError, "max_pool_grad: an index lies outside the image");
            Py_CLEAR(out);
        }
    }
    Py_XDECREF(g);
    Py_XDECREF(index);
    return (PyObject *)out;
}

static int read_average(struct pooling *p, PyObject *include, PyObject *divisor)
{
    p->include = PyObject_IsTrue(include);
    p->divisor = divisor == Py_None ? 0 : PyFloat_AsDouble(divisor);
    p->tiles = p->kernel[2] > 2 && p->kernel[2] <= BLOCK;
    p->lines = p->kernel[0] * p->kernel[1] > 1 && p->length[2] <= BLOCK;
    for (int k = 0; k < AXES; k++)
        p->tiles &= !p->padding[k] && p->kernel[k] == p->stride[k] && p->windows[k] * p->kernel[k] <= p->length[k];
    return PyErr_Occurred() ? -1 : 0;
}

/* avg_pool(x, windows, kernel, stride, padding, include, divisor) */
PyObject *avg_pool(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct pooling p = {0};
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    const int axes = is_real(args[0]) ? read_pooling(&p, (PyArrayObject *)args[0], args + 1, NULL) : -1;
    if (axes < 0) NOT_HANDLED();
    if (read_average(&p, args[5], args[6]) < 0) return NULL;
    const int inner = pooled_inside(&p, (PyArrayObject *)args[0], axes);
    PyArrayObject *x = contiguous_or(inner, args[0]);
    PyArrayObject *out = !x ? NULL : inner ? pictures_like(x, PyArray_TYPE(x), p.windows) : planes_like(x, axes, p.windows);
    if (out) {
        p.image = PyArray_BYTES(x), p.out = PyArray_BYTES(out);
        if (inner ? run_inside(&p, AVERAGE, PyArray_TYPE(x), PyArray_DIM(x, 0)) < 0
            : run_pooling(PyArray_TYPE(x) == NPY_FLOAT ? average_task_f32 : average_task_f64, &p, planes_of(x, axes),
                        cost_of(&p)) < 0)
            Py_CLEAR(out);
    }
    Py_XDECREF(x);
    return (PyObject *)out;
}

/* avg_pool_grad(g, size, kernel, stride, padding, include, divisor) -> gradient of the shape of `g` but for its last axes, then size */
static PyObject *avg_pool_grad(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    struct pooling p = {0};
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    const int axes = is_real(args[0]) ? read_pooling(&p, (PyArrayObject *)args[0], args + 1, NULL) : -1;
    if (axes < 0) NOT_HANDLED();
    for (int k = 0; k < AXES; k++) { /* the array has the windows, the argument the image */
        const size windows = p.length[k];
        p.length[k] = p.windows[k], p.windows[k] = windows;
    }
    const size area = p.count;
    p.count = p.area, p.area = area;
    if (read_average(&p, args[5], args[6]) < 0) return NULL;
    const int inner = pooled_inside(&p, (PyArrayObject *)args[0], axes);
    PyArrayObject *g = contiguous_or(inner, args[0]);
    PyArrayObject *out = !g ? NULL : inner ? pictures_like(g, PyArray_TYPE(g), p.length) : planes_like(g, axes, p.length);
    if (out) {
        p.image = PyArray_BYTES(g), p.out = PyArray_BYTES(out);
        if (inner ? run_inside(&p, SPREAD, PyArray_TYPE(g), PyArray_DIM(g, 0)) < 0
            : run_pooling(PyArray_TYPE(g) == NPY_FLOAT ? average_grad_task_f32 : average_grad_task_f64, &p,
                        planes_of(g, axes), cost_of(&p)) < 0)
            Py_CLEAR(out);
        else if (p.failed) {
            PyErr_NoMemory();
            Py_CLEAR(out);
        }
    }
    Py_XDECREF(g);
    return (PyObject *)out;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef pools_methods[] = {METHOD(max_pool), METHOD(max_pool_values), METHOD(max_pool_grad), METHOD(avg_pool), METHOD(avg_pool_grad), {NULL, NULL, 0, NULL}};
