/* Convolutions of images whose channels lie innermost: depthwise ones by whole pixels (pixels.inc.h); for others, images are turned to
 * planes and results back. */
#include "conv.h"

enum {
    MOST_TAPS_OF_AXIS = 32,
    PIXELS_TOGETHER = 64, /* of an image, turned at a time */
    ROWS_KEPT = 64,       /* of gradients that go into one sum */
    MOST_RUNS = 16,
    MOST_OFFSETS = MOST_TAPS_OF_AXIS * MOST_TAPS_OF_AXIS,
};

/* ---- pixels to planes and back ---- */

struct turning {
    const char *from;
    char *to;
    size pixels, channels, parts, width;
    int type, back;
};
static void turn_task(void *context, size begin, size end, int chunk)
{
    const struct turning *t = context;
    (void)chunk;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size image = item / t->parts * t->pixels * t->channels, part = item % t->parts, first = part * PIXELS_TOGETHER;
        const size count = part + 1 < t->parts ? PIXELS_TOGETHER : t->pixels - first;
        const size pixel = image + first * t->channels, plane = image + first;
        const char *from = t->from + (t->back ? plane : pixel) * t->width;
        char *to = t->to + (t->back ? pixel : plane) * t->width;
        const size rows = t->back ? t->channels : count, columns = t->back ? count : t->channels;
        const size to_row = t->back ? t->channels : t->pixels, from_row = t->back ? t->pixels : t->channels;
        if (t->type == NPY_FLOAT) kernels->pixels_turned_f32((float *)to, to_row, (const float *)from, from_row, rows, columns);
        else kernels->pixels_turned_f64((double *)to, to_row, (const double *)from, from_row, rows, columns);
    }
}
static int turn(const char *from, char *to, size images, size channels, size pixels, int type, int back)
{
    if (!images || !channels || !pixels) return 0;
    struct turning t = {from, to, pixels, channels, pixels < PIXELS_TOGETHER ? 1 : pixels / PIXELS_TOGETHER, type == NPY_FLOAT ? 4 : 8, type, back};
    const size items = images * t.parts;
    int result;
    Py_BEGIN_ALLOW_THREADS
    result = pool_run_stoppable(turn_task, &t, items, pool_chunks(items, 0.2 * (double)(pixels * channels) / (double)t.parts));
    Py_END_ALLOW_THREADS
    return result;
}
static PyArrayObject *turned(PyArrayObject *x, PyArrayObject *out, int back)
{
    if (!out || !PyArray_SIZE(x)) return out;
    const size images = PyArray_DIM(x, 0), channels = PyArray_DIM(x, 1), pixels = PyArray_SIZE(x) / (images * channels);
    if (turn(PyArray_BYTES(x), PyArray_BYTES(out), images, channels, pixels, PyArray_TYPE(x), back) < 0) Py_CLEAR(out);
    return out;
}

/* Whether a transposed array is one of images whose channels are its last axis, and lie as planes. */
static int lies_as_planes(PyArrayObject *x)
{
    const int last = PyArray_NDIM(x) - 1;
    npy_intp step = PyArray_ITEMSIZE(x);
    for (int k = last; k >= 0; k--) { /* the last but one to the second, the channels, the images */
        const int axis = k > 1 ? k - 1 : k == 1 ? last : 0;
        if (PyArray_DIM(x, axis) != 1 && PyArray_STRIDE(x, axis) != step) return 0;
        step *= PyArray_DIM(x, axis);
    }
    return 1;
}

/* Whether an array is one of matrices that are transposed, without gaps, and turned more quickly by squares: not by those of few numbers,
 * whose lines drive each other out of the first cache where they are a large power of two apart. */
static int lies_transposed(PyArrayObject *x)
{
    enum { LEAST_SIDE = 16, STEP = 2048 }; /* rows or columns; bytes */
    const int last = PyArray_NDIM(x) - 1;
    if (last < 1 || PyArray_DIM(x, last) < LEAST_SIDE || PyArray_DIM(x, last - 1) < LEAST_SIDE || !strcmp(kernels->name, "baseline")) return 0;
    if (PyArray_TYPE(x) == NPY_DOUBLE && strcmp(kernels->name, "avx512"))
        for (int k = last - 1; k <= last; k++)
            if (PyArray_DIM(x, k) * PyArray_ITEMSIZE(x) % STEP == 0) return 0;
    npy_intp step = PyArray_ITEMSIZE(x);
    for (int k = last; k >= 0; k--) {
        const int axis = k == last ? last - 1 : k == last - 1 ? last : k;
        if (PyArray_DIM(x, axis) != 1 && PyArray_STRIDE(x, axis) != step) return 0;
        step *= PyArray_DIM(x, axis);
    }
    return 1;
}

int turn_in_order(PyArrayObject *x, char *to)
{
    enum { FEWEST = 4 }; /* channels or pixels that squares are worth while for */
    const int last = PyArray_NDIM(x) - 1, back = last > 1 && !lies_innermost(x);
    if (is_real((PyObject *)x) && lies_transposed(x)) {
        const size rows = PyArray_DIM(x, last - 1), columns = PyArray_DIM(x, last);
        return turn(PyArray_BYTES(x), to, PyArray_SIZE(x) / (rows * columns), rows, columns, PyArray_TYPE(x), 0) < 0 ? -1 : 1;
    }
    if (!is_real((PyObject *)x) || last < 2 || (back && !lies_as_planes(x))) return 0;
    const size images = PyArray_DIM(x, 0), channels = PyArray_DIM(x, back ? last : 1);
    const size pixels = images && channels ? PyArray_SIZE(x) / (images * channels) : 0;
    if (channels < FEWEST || pixels < FEWEST) return 0;
    return turn(PyArray_BYTES(x), to, images, channels, pixels, PyArray_TYPE(x), back) < 0 ? -1 : 1;
}

PyArrayObject *conv_planes(PyObject *array)
{
    PyArrayObject *x = (PyArrayObject *)array;
    if (!lies_innermost(x)) return contiguous(array);
    return turned(x, new_like(x, PyArray_NDIM(x), PyArray_DIMS(x)), 0);
}

int conv_by_pixels(PyArrayObject *given)
{
    return PyArray_NDIM(given) > 3 && lies_innermost(given);
}
PyArrayObject *conv_pixels(PyArrayObject *planes)
{
    if (!planes) return NULL;
    PyArrayObject *out = turned(planes, new_innermost(PyArray_TYPE(planes), PyArray_NDIM(planes), PyArray_DIMS(planes)), 1);
    Py_DECREF(planes);
    return out;
}

/* ---- depthwise ---- */

/* Of an axis, the results `first`, `first` + `jump` ...: those see the image by the same taps, each `step` further than the one before;
 * tap k of the first one at `shift`, inside where it is one of `length`. */
struct lane {
    size first, jump, count, step, length;
    int taps;
    size shift[MOST_TAPS_OF_AXIS], tap[MOST_TAPS_OF_AXIS];
};
static struct lane forward_lane(const struct axis *a)
{
    struct lane l = {.first = 0, .jump = 1, .count = a->count, .step = a->stride, .length = a->size, .taps = (int)a->kernel};
    for (int k = 0; k < l.taps; k++) l.shift[k] = k * a->dilation - a->pad, l.tap[k] = k;
    return l;
}
/* Of gradients: the places of an image that have this remainder by the stride. */
static struct lane backward_lane(const struct axis *a, size remainder)
{
    struct lane l = {.first = remainder, .jump = a->stride, .step = 1, .length = a->count, .taps = 0};
    l.count = remainder < a->size ? (a->size - remainder - 1) / a->stride + 1 : 0;
    for (size k = 0; k < a->kernel; k++) {
        const size reach = remainder + a->pad - k * a->dilation;
        if (reach % a->stride) continue;
        l.shift[l.taps] = reach / a->stride, l.tap[l.taps++] = k;
    }
    return l;
}
static int sees(const struct lane *l, int k, size at)
{
    const size place = at * l->step + l->shift[k];
    return place >= 0 && place < l->length;
}
/* The results that all taps see the image of: from `*low` to before `*high`. */
static void inner_part(const struct lane *l, size *low, size *high)
{
    size first = 0, last = l->count;
    for (int k = 0; k < l->taps; k++) {
        const size left = l->length - l->shift[k];
        if (l->shift[k] < 0 && (-l->shift[k] + l->step - 1) / l->step > first) first = (-l->shift[k] + l->step - 1) / l->step;
        if ((left > 0 ? (left + l->step - 1) / l->step : 0) < last) last = left > 0 ? (left + l->step - 1) / l->step : 0;
    }
    *low = first < last ? first : 0, *high = first < last ? last : 0;
}

struct pixels_job {
    const struct conv *v;
    const char *image, *bias; /* or gradients of the results; the other array of a product is `out` */
    char *weight, *out, *sums; /* sums: memory of the chunks */
    size channels, vectors, height, width, rows; /* of `image`; rows of results */
    size room, sums_bytes, out_width;
    int backward;
};

typedef void run_task(const struct pixels_job *job, const struct pixels *p, const char *image, size place, char *sums);

/* The runs of rows that see the image by the same taps: results in the inner part together, others one by one; where the windows of the
 * first row would lie. */
struct runs {
    struct lane across;
    int known, first_tap, last_tap, count; /* which of the taps down see it; runs, as long as there is room for them */
    size low, high, x[MOST_RUNS];
    struct pixels run[MOST_RUNS];
    size offset[MOST_OFFSETS], tap[MOST_OFFSETS];
};
static void begin_runs(struct runs *r, const struct lane *across)
{
    r->across = *across, r->known = 0;
    inner_part(across, &r->low, &r->high);
}

/* A run from x on: its offsets are put at `at`. */
static size set_run(const struct pixels_job *job, struct runs *r, const struct lane *down, int first_tap, int last_tap, size x, struct pixels *p,
                    size *offset, size *tap)
{
    const struct lane *across = &r->across;
    p->step = across->step * job->channels, p->out_step = across->jump * job->channels, p->offset = offset, p->tap = tap;
    p->count = x == r->low && r->high > r->low ? r->high - r->low : 1, p->taps = 0;
    for (int k = 0; k < across->taps; k++) {
        if (!sees(across, k, x)) continue;
        for (int i = first_tap; i < last_tap; i++) {
            offset[p->taps] = (down->shift[i] * job->width + x * across->step + across->shift[k]) * job->channels;
            tap[p->taps++] = down->tap[i] * job->v->axis[2].kernel + across->tap[k];
        }
    }
    return p->count;
}

/* The runs of row y of those that `down` is of, which is `row` of all. */
static void each_run(const struct pixels_job *job, const struct lane *down, size y, struct runs *r, const struct pixels *model, const char *image,
                     size row, run_task *task, char *sums)
{
    const struct lane *across = &r->across;
    int first = 0, last = down->taps; /* those that see the image are neighbours */
    while (first < last && !sees(down, first, y)) first++;
    while (last > first && !sees(down, last - 1, y)) last--;
    const size width = job->v->width, line = y * down->step * job->width * job->channels * width;
    const size place = (row * job->out_width + across->first) * job->channels * width, apart = across->jump * job->channels * width;
    if (!r->known || r->first_tap != first || r->last_tap != last) {
        size used = 0, x = 0;
        r->count = 0, r->known = 1, r->first_tap = first, r->last_tap = last;
        for (; x < across->count && r->count < MOST_RUNS && used + (last - first) * across->taps <= MOST_OFFSETS; r->count++) {
            struct pixels *p = &r->run[r->count];
            *p = *model, r->x[r->count] = x;
            x += set_run(job, r, down, first, last, x, p, r->offset + used, r->tap + used), used += p->taps;
        }
        if (x < across->count) r->known = 0;
    }
    if (r->known) {
        for (int k = 0; k < r->count; k++) task(job, &r->run[k], image + line, place + r->x[k] * apart, sums);
        return;
    }
    struct pixels p = *model; /* too many */
    for (size x = 0; x < across->count; x += p.count) {
        set_run(job, r, down, first, last, x, &p, r->offset, r->tap);
        task(job, &p, image + line, place + x * apart, sums);
    }
}

static void leave_sums(const struct pixels_job *job, const struct pixels *p, const char *image, size place, char *unused)
{
    (void)unused;
    if (job->v->type == NPY_FLOAT)
        kernels->pixels_sums_f32((float *)(job->out + place), (const float *)image, (const float *)job->weight, (const float *)job->bias, p);
    else kernels->pixels_sums_f64((double *)(job->out + place), (const double *)image, (const double *)job->weight, (const double *)job->bias, p);
}
static void add_products(const struct pixels_job *job, const struct pixels *p, const char *image, size place, char *sums)
{
    if (job->v->type == NPY_FLOAT) kernels->pixels_products_f32((float *)sums, (const float *)image, (const float *)(job->out + place), p);
    else kernels->pixels_products_f64((double *)sums, (const double *)image, (const double *)(job->out + place), p);
}

static const char *image_of(const struct pixels_job *job, size n)
{
    return job->image + n * job->height * job->width * job->channels * job->v->width;
}

static void rows_task(void *context, size begin, size end, int chunk)
{
    const struct pixels_job *job = context;
    const struct axis *a = job->v->axis;
    const struct pixels model = {.channels = job->channels, .first = 0, .last = job->vectors};
    const size strides = job->backward ? a[1].stride * a[2].stride : 1, stride = job->backward ? a[1].stride : 1;
    struct runs *runs = (struct runs *)job->sums + chunk;
    for (size kind = 0; kind < strides; kind++) { /* rows and columns with the same remainders */
        const size remainder = kind % stride;
        const struct lane down = job->backward ? backward_lane(&a[1], remainder) : forward_lane(&a[1]);
        const struct lane across = job->backward ? backward_lane(&a[2], kind / stride) : forward_lane(&a[2]);
        begin_runs(runs, &across);
        for (size item = begin; item < end && !pool_stopped(); item++) {
            const size row = item % job->rows;
            if (row % stride == remainder) each_run(job, &down, row / stride, runs, &model, image_of(job, item / job->rows), item, leave_sums, NULL);
        }
    }
}

/* Some vectors of channels of all filters; sums of some rows are added up, and then to those of all. */
static void products_task(void *context, size begin, size end, int chunk)
{
    const struct pixels_job *job = context;
    const struct conv *v = job->v;
    const struct lane down = forward_lane(&v->axis[1]), across = forward_lane(&v->axis[2]);
    const struct pixels p = {.channels = job->channels, .first = begin, .last = end, .room = job->room};
    char *sums = job->sums + chunk * (2 * job->sums_bytes + (size)sizeof(struct runs)), *all = sums + job->sums_bytes;
    struct runs *runs = (struct runs *)(all + job->sums_bytes);
    const size numbers = v->kernel * job->room;
    begin_runs(runs, &across);
    memset(sums, 0, 2 * job->sums_bytes);
    for (size row = 0; row < v->images * job->rows && !pool_stopped(); row++) {
        each_run(job, &down, row % job->rows, runs, &p, image_of(job, row / job->rows), row, add_products, sums);
        if ((row + 1) % ROWS_KEPT && row + 1 < v->images * job->rows) continue;
        if (v->type == NPY_FLOAT) kernels->add_f32((float *)all, (const float *)sums, numbers);
        else kernels->add_f64((double *)all, (const double *)sums, numbers);
        memset(sums, 0, job->sums_bytes);
    }
    if (v->type == NPY_FLOAT) kernels->pixels_leave_f32((float *)job->weight, (const float *)all, &p, v->kernel);
    else kernels->pixels_leave_f64((double *)job->weight, (const double *)all, &p, v->kernel);
}

int pixels_fit(const struct conv *v, PyArrayObject *given)
{
    const struct axis *a = v->axis;
    if (PyArray_NDIM(given) != 4 || v->channels > 1 || v->filters > 1 || !lies_innermost(given) || v->groups < tile_columns(v) / 2) return 0;
    return a[1].kernel <= MOST_TAPS_OF_AXIS && a[2].kernel <= MOST_TAPS_OF_AXIS;
}

static struct pixels_job job_of(const struct conv *v, int backward)
{
    const struct axis *y = &v->axis[1], *x = &v->axis[2];
    const size lanes = kernels->gemm_columns_bytes / 2 / v->width;
    return (struct pixels_job){
        .v = v, .channels = v->groups, .vectors = tiles_of(v->groups, lanes), .room = tiles_of(v->groups, lanes) * lanes, .backward = backward,
        .height = backward ? y->count : y->size, .width = backward ? x->count : x->size, .rows = backward ? y->size : y->count,
        .out_width = backward ? x->size : x->count,
    };
}

PyArrayObject *pixels_run(const struct conv *v, PyArrayObject *given, PyObject *weight, PyObject *bias, const npy_intp *shape, int backward)
{
    struct pixels_job job = job_of(v, backward);
    conv_forget();
    conv_took(BY_DEPTHWISE, 1);
    PyArrayObject *filters = contiguous(weight), *start = bias && bias != Py_None ? contiguous(bias) : NULL;
    PyArrayObject *work = scratch(v->kernel * v->groups, v->width);
    const size items = v->images * job.rows;
    const double cost = 0.03 * (double)(v->results * v->kernel * v->groups) / (double)job.rows;
    const int chunks = pool_chunks(items, cost);
    PyArrayObject *memory = scratch(chunks, sizeof(struct runs));
    PyArrayObject *out = filters && work && memory && (start || !bias || bias == Py_None) ? new_innermost(v->type, 4, shape) : NULL;
    if (out) {
        job.image = PyArray_BYTES(given), job.bias = start ? PyArray_BYTES(start) : NULL, job.weight = aligned(work), job.out = PyArray_BYTES(out);
        if (v->type == NPY_FLOAT) kernels->pixels_turned_f32((float *)job.weight, v->groups, PyArray_DATA(filters), v->kernel, v->groups, v->kernel);
        else kernels->pixels_turned_f64((double *)job.weight, v->groups, PyArray_DATA(filters), v->kernel, v->groups, v->kernel);
        job.sums = aligned(memory);
        int result;
        Py_BEGIN_ALLOW_THREADS
        result = pool_run_stoppable(rows_task, &job, items, chunks);
        Py_END_ALLOW_THREADS
        if (result < 0) Py_CLEAR(out);
    }
    Py_XDECREF(filters);
    Py_XDECREF(start);
    Py_XDECREF(work);
    Py_XDECREF(memory);
    return out;
}

PyArrayObject *pixels_weights(const struct conv *v, PyArrayObject *given, PyObject *grad, int ndim, const npy_intp *shape)
{
    struct pixels_job job = job_of(v, 0);
    conv_forget();
    conv_took(BY_DEPTHWISE, 1);
    const size cost = v->images * v->results * v->kernel; /* of a vector */
    const int chunks = pool_chunks(job.vectors, 0.5 * (double)cost);
    job.sums_bytes = (v->kernel * job.room * v->width + 63) / 64 * 64;
    PyArrayObject *g = innermost_of(grad), *work = scratch(chunks * (2 * job.sums_bytes + (size)sizeof(struct runs)), 1);
    PyArrayObject *out = g && work ? new_like(given, ndim, shape) : NULL;
    if (out) {
        job.image = PyArray_BYTES(given), job.out = PyArray_BYTES(g), job.weight = PyArray_BYTES(out), job.sums = aligned(work);
        int result;
        Py_BEGIN_ALLOW_THREADS
        result = pool_run_stoppable(products_task, &job, job.vectors, chunks);
        Py_END_ALLOW_THREADS
        if (result < 0) Py_CLEAR(out);
    }
    Py_XDECREF(g);
    Py_XDECREF(work);
    return out;
}
