/* Depthwise convolutions with small filters: results, and gradients in images and filters (depthwise.inc.h). */
#include "conv.h"

enum {
    MOST_FILTERS = 8,       /* of an image */
    MOST_COLUMNS = 1 << 16, /* masks take some times the memory of a row */
    GROUPS_AT_ONCE = 8,     /* neighbours in memory, for one image after the other */
};

static int is_depthwise(const struct conv *v)
{
    const struct axis *y = &v->axis[1], *x = &v->axis[2];
    if (v->channels > 1 || v->filters > MOST_FILTERS || (v->groups == 1 && v->filters > 1) || x->size > MOST_COLUMNS) return 0;
    if (v->axis[0].size > 1 || v->axis[0].kernel > 1 || v->axis[0].pad || y->dilation > 1 || x->dilation > 1) return 0;
    return (x->kernel == 3 || x->kernel == 5 || x->kernel == 7 || x->kernel == 9) && x->stride <= (x->kernel < 9 ? 2 : 1) && y->kernel == x->kernel && y->stride == x->stride &&
           y->pad < y->kernel && x->pad < x->kernel;
}

/* What reads planes: `lead` numbers before and `tail` behind them must be readable, so those at the ends of memory are copied. */
struct planes {
    const char *from, *end;
    size plane, lead, tail, width; /* numbers; width: bytes of one */
};
static const char *readable(const struct planes *p, char *work, size first, size count)
{
    const size numbers = count * p->plane;
    const char *at = p->from + first * p->plane * p->width;
    if ((at - p->from) / p->width >= p->lead && (p->end - at) / p->width >= numbers + p->tail) return at;
    memcpy(work + p->lead * p->width, at, numbers * p->width);
    return work + p->lead * p->width;
}

struct depthwise_job {
    const struct conv *v;
    struct depthwise d;
    struct planes image, grad;
    const char *weight, *bias;
    char *out, *work;
    size work_bytes, copy_bytes;  /* of a chunk; of a place for a copy, two of which come first in it */
    size more_bytes;              /* of what else a chunk needs */
    size items, results, filters; /* images of all groups; results of an image; filters for each */
};

static double number(const char *from, size index, int type)
{
    return type == NPY_FLOAT ? ((const float *)from)[index] : ((const double *)from)[index];
}

static void results_task(void *context, size begin, size end, int chunk)
{
    const struct depthwise_job *job = context;
    const struct conv *v = job->v;
    void (*const kernel)(void *const *, const void *const *, const void *const *, const double *, const struct depthwise *) =
        v->type == NPY_FLOAT ? kernels->depthwise_f32 : kernels->depthwise_f64;
    char *work = job->work + chunk * job->work_bytes;
    const size width = v->width, at_once = 1 + job->d.paired;
    for (size k = begin; k < end && (k % BETWEEN || !pool_stopped()); k++) {
        const void *image[2], *weight[2];
        void *out[2];
        double start[2] = {0};
        size item[2];
        for (size half = 0; half < at_once; half++) {
            item[half] = k * at_once + half < job->items ? k * at_once + half : k * at_once; /* the last one twice */
            image[half] = readable(&job->image, work + half * job->copy_bytes, item[half] * job->d.planes, job->d.planes);
        }
        for (size f = 0; f < job->filters; f++) {
            for (size half = 0; half < at_once; half++) {
                const size filter = item[half] % v->groups * job->filters + f;
                if (job->bias) start[half] = number(job->bias, filter, v->type);
                weight[half] = job->weight + filter * job->d.planes * v->kernel * width;
                out[half] = job->out + (item[half] * job->filters + f) * job->results * width;
            }
            kernel(out, image, weight, start, &job->d);
        }
        for (size half = 0; v->map && half < at_once && item[half] == k * at_once + half; half++)
            conv_map(v, item[half] / v->groups, item[half] % v->groups * job->filters, job->filters);
    }
}

/* The masks, zeros, and places for copies; then the task. */
static int run(struct depthwise_job *job, pool_task task, size items, double cost, size columns, size stride, size first, size taps, size length)
{
    const struct conv *v = job->v;
    const size lanes = tile_columns(v) / 2, round = tiles_of(columns, lanes) * lanes;
    const size line = round * stride + 2 * taps + lanes, masks = round * (taps + 1), zeros = line + taps + (job->d.paired ? v->pixels + v->results : 0);
    job->image.width = v->width, job->image.lead = taps, job->image.tail = line;
    const int chunks = pool_chunks(items, cost);
    job->copy_bytes = ((job->image.plane * job->d.planes + taps + line) * v->width + 63) / 64 * 64;
    job->work_bytes = (2 * job->copy_bytes + job->more_bytes + 63) / 64 * 64;
    PyArrayObject *work = scratch(chunks * job->work_bytes + (masks + zeros) * v->width, 1);
    if (!work) return -1;
    char *at = PyArray_BYTES(work);
    memset(at, 0, chunks * job->work_bytes + (masks + zeros) * v->width);
    job->work = at, job->d.masks = at + chunks * job->work_bytes, job->d.zeros = (const char *)job->d.masks + (masks + taps) * v->width;
    (v->type == NPY_FLOAT ? kernels->depthwise_masks_f32 : kernels->depthwise_masks_f64)((void *)job->d.masks, columns, stride, first, taps, length, job->d.paired);
    int result;
    Py_BEGIN_ALLOW_THREADS
    result = pool_run_stoppable(task, job, items, chunks);
    Py_END_ALLOW_THREADS
    Py_DECREF(work);
    return result;
}

/* Whether two images are taken at a time, as a row of results is no longer than half a vector. */
static int is_paired(const struct conv *v, size columns)
{
#ifdef __GNUC__
    return columns <= tile_columns(v) / 4;
#else
    return 0; /* vectors are numbers there */
#endif
}

static int run_results(struct depthwise_job *job, double cost, size columns, size stride, size first, size taps, size length)
{
    job->d.paired = is_paired(job->v, columns);
    const size at_once = 1 + job->d.paired;
    return run(job, results_task, tiles_of(job->items, at_once), cost * at_once, columns, stride, first, taps, length);
}

static int run_forward(struct conv *v)
{
    const struct axis *y = &v->axis[1], *x = &v->axis[2];
    const size items = v->images * v->groups;
    struct depthwise_job job = {
        .v = v, .weight = v->weight, .bias = v->bias, .out = v->out, .items = items, .results = v->results, .filters = v->filters,
        .d = {.height = y->size, .width = x->size, .rows = y->count, .columns = x->count, .before = {y->pad, x->pad},
              .kernel = x->kernel, .stride = x->stride, .planes = 1},
        .image = {.from = v->from, .end = v->from + items * v->pixels * v->width, .plane = v->pixels},
    };
    return run_results(&job, 0.03 * v->results * v->filters * v->kernel, x->count, x->stride, -x->pad, x->kernel, x->size);
}

static void spread_task(void *context, size begin, size end, int chunk)
{
    const struct depthwise_job *job = context;
    const struct conv *v = job->v;
    void (*const kernel)(void *, const void *, const void *, const struct depthwise *) = v->type == NPY_FLOAT ? kernels->depthwise_spread_f32 : kernels->depthwise_spread_f64;
    for (size item = begin; item < end && (item % BETWEEN || !pool_stopped()); item++) {
        const char *grad = readable(&job->image, job->work + chunk * job->work_bytes, item * v->filters, v->filters);
        kernel(job->out + item * v->pixels * v->width, grad, job->weight + item % v->groups * v->filters * v->kernel * v->width, &job->d);
    }
}

/* The gradient in the images: for steps of one a convolution with the filters turned around. */
static int run_backward(struct conv *v)
{
    const struct axis *y = &v->axis[1], *x = &v->axis[2];
    const size items = v->images * v->groups, count = v->groups * v->filters;
    struct depthwise_job job = {
        .v = v, .weight = v->weight, .out = v->out, .items = items, .results = v->pixels, .filters = 1,
        .d = {.height = y->count, .width = x->count, .rows = y->size, .columns = x->size, .before = {y->kernel - 1 - y->pad, x->kernel - 1 - x->pad},
              .kernel = x->kernel, .stride = 1, .planes = v->filters, .plane_step = v->results},
        .image = {.from = v->from, .end = v->from + items * v->filters * v->results * v->width, .plane = v->results},
    };
    const double cost = 0.03 * v->results * v->filters * v->kernel;
    if (x->stride == 2) return run(&job, spread_task, items, cost, (x->size + 1) / 2, 1, -((x->kernel - 1) / 4), (x->kernel + 1) / 2, x->count);
    PyArrayObject *turned = scratch(count * v->kernel, v->width);
    if (!turned) return -1;
    char *to = PyArray_BYTES(turned);
    for (size f = 0; f < count; f++)
        for (size k = 0; k < v->kernel; k++)
            memcpy(to + (f * v->kernel + k) * v->width, v->weight + (f * v->kernel + v->kernel - 1 - k) * v->width, v->width);
    job.weight = to;
    const int result = run_results(&job, cost, x->size, 1, -job.d.before[1], x->kernel, x->count);
    Py_DECREF(turned);
    return result;
}

static void filters_task(void *context, size begin, size end, int chunk)
{
    const struct depthwise_job *job = context;
    const struct conv *v = job->v;
    const int single = v->type == NPY_FLOAT, paired = job->d.paired;
    void (*const add)(void *, const void *const *, const void *const *, const struct depthwise *) = single ? kernels->depthwise_sums_f32 : kernels->depthwise_sums_f64;
    void (*const totals)(void *, const void *, size) = single ? kernels->depthwise_totals_f32 : kernels->depthwise_totals_f64;
    const size lanes = tile_columns(v) / 2, bundle = v->filters * v->kernel, grad_bytes = (v->results + lanes) * v->width;
    char *work = job->work + chunk * job->work_bytes, *more = work + 2 * job->copy_bytes, *sums = more + 2 * grad_bytes;
    for (size first = begin * GROUPS_AT_ONCE; first < end * GROUPS_AT_ONCE && first < v->groups && !pool_stopped(); first += GROUPS_AT_ONCE) {
        const size last = first + GROUPS_AT_ONCE < v->groups ? first + GROUPS_AT_ONCE : v->groups;
        memset(sums, 0, GROUPS_AT_ONCE * bundle * lanes * v->width);
        for (size n = 0; n < v->images; n += 1 + paired)
            for (size group = first; group < last; group++)
                for (size f = 0; f < v->filters; f++) {
                    const void *image[2] = {0, job->d.zeros}, *grad[2] = {0, job->d.zeros};
                    for (size half = 0; half <= paired && n + half < v->images; half++) {
                        const size item = (n + half) * v->groups + group;
                        image[half] = readable(&job->image, work + half * job->copy_bytes, item, 1);
                        grad[half] = readable(&job->grad, more + half * grad_bytes, item * v->filters + f, 1);
                    }
                    add(sums + ((group - first) * v->filters + f) * v->kernel * lanes * v->width, image, grad, &job->d);
                }
        totals(job->out + first * bundle * v->width, sums, (last - first) * bundle);
    }
}

int depthwise_run(struct conv *v, int backward)
{
    const struct axis *y = &v->axis[1], *x = &v->axis[2];
    if (!is_depthwise(v) || (backward && x->stride == 2 && (y->pad != y->kernel / 2 || x->pad != x->kernel / 2))) return 0;
    return (backward ? run_backward(v) : run_forward(v)) < 0 ? -1 : 1;
}

int depthwise_weights(struct conv *v, const char *grad, char *out)
{
    if (!is_depthwise(v)) return 0;
    const struct axis *y = &v->axis[1], *x = &v->axis[2];
    const size items = v->images * v->groups, lanes = tile_columns(v) / 2;
    struct depthwise_job job = {
        .v = v, .out = out,
        .d = {.height = y->size, .width = x->size, .rows = y->count, .columns = x->count, .before = {y->pad, x->pad},
              .kernel = x->kernel, .stride = x->stride, .planes = 1},
        .image = {.from = v->from, .end = v->from + items * v->pixels * v->width, .plane = v->pixels},
        .grad = {.from = grad, .end = grad + items * v->filters * v->results * v->width, .plane = v->results, .tail = lanes, .width = v->width},
        .more_bytes = (2 * (v->results + lanes) + GROUPS_AT_ONCE * v->filters * v->kernel * lanes) * v->width,
    };
    job.d.paired = is_paired(v, x->count) && v->images > 1;
    const double cost = 0.03 * v->images * v->results * v->filters * v->kernel;
    return run(&job, filters_task, tiles_of(v->groups, GROUPS_AT_ONCE), cost * GROUPS_AT_ONCE, x->count, x->stride, -x->pad, x->kernel, x->size) < 0 ? -1 : 1;
}
