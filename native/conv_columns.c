/* Gradients of convolutions that few windows see, by columns (conv_columns.inc.h). */
#include "conv.h"

enum { CHANNELS_AT_ONCE = 32 }; /* whose columns fill whole panels */

struct columns_job {
    struct conv v;
    const char *left, *images;
    char *out;
    const size *place;
    size windows, image, work_bytes, padded_bytes; /* image: numbers of CHANNELS_AT_ONCE channels */
    int straight; /* images have no padding: sums are added where they belong */
};

static struct columns columns_of(const struct columns_job *job, size channels, const char *source, char *out, char *work)
{
    const struct conv *v = &job->v;
    return (struct columns){
        .left = job->left, .source = source, .offset = v->lattice->offset, .seen = v->lattice->tap,
        .count = v->lattice->depth / v->channels * channels, .place = job->place, .windows = job->windows, .results = v->results,
        .filters = v->filters, .columns = channels * v->kernel, .row = v->channels * v->kernel, .grad_image = v->filters * v->results,
        .out = out, .work = work,
    };
}

/* The sums of some channels lie in padded images of their own, and go to where they belong from there. */
static void unpad(const struct conv *v, const char *padded, size image, char *out, size channels)
{
    const struct source *s = &v->source;
    const size row = s->size[2] * v->width;
    for (size n = 0; n < v->images; n++)
        for (size c = 0; c < channels; c++)
            for (size z = 0; z < s->size[0]; z++)
                for (size y = 0; y < s->size[1]; y++) {
                    const size from = n * image + c * s->plane + ((z + s->before[0]) * s->padded[1] + y + s->before[1]) * s->padded[2] + s->before[2];
                    const size to = n * v->channels * v->pixels + c * v->pixels + (z * s->size[1] + y) * s->size[2];
                    memcpy(out + to * v->width, padded + from * v->width, row);
                }
}

static void images_task(void *context, size begin, size end, int chunk)
{
    const struct columns_job *job = context;
    const struct conv *v = &job->v;
    char *padded = job->v.work + chunk * job->work_bytes, *work = padded + job->padded_bytes;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size first = item * CHANNELS_AT_ONCE, left = v->channels - first, channels = left < CHANNELS_AT_ONCE ? left : CHANNELS_AT_ONCE;
        char *out = job->out + first * v->pixels * v->width;
        const struct columns w = columns_of(job, channels, v->weight + first * v->kernel * v->width, job->straight ? out : padded, work);
        if (!job->straight) memset(padded, 0, job->padded_bytes);
        else for (size n = 0; n < v->images; n++) memset(out + n * v->channels * v->pixels * v->width, 0, channels * v->pixels * v->width);
        (v->type == NPY_FLOAT ? kernels->conv_columns_images_f32 : kernels->conv_columns_images_f64)(&w);
        if (!job->straight) unpad(v, padded, job->image, out, channels);
    }
}

static void weights_task(void *context, size begin, size end, int chunk)
{
    const struct columns_job *job = context;
    const struct conv *v = &job->v;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size first = item * CHANNELS_AT_ONCE, left = v->channels - first, channels = left < CHANNELS_AT_ONCE ? left : CHANNELS_AT_ONCE;
        const struct columns w = columns_of(job, channels, job->images + first * v->source.plane * v->width, job->out + first * v->kernel * v->width,
                                      v->work + chunk * job->work_bytes);
        (v->type == NPY_FLOAT ? kernels->conv_columns_weights_f32 : kernels->conv_columns_weights_f64)(&w);
    }
}

/* Padded images of all channels if there is a gradient of filters to be made, and work for each chunk; then the task. */
static int run(struct columns_job *job, const char *grad, int backward)
{
    struct conv *v = &job->v;
    const size width = v->width, high = kernels->gemm_rows, wide = tile_columns(v), items = tiles_of(v->channels, CHANNELS_AT_ONCE);
    const size channels = v->channels < CHANNELS_AT_ONCE ? v->channels : CHANNELS_AT_ONCE, rows = tiles_of(job->windows, high) * high;
    job->image = channels * v->source.plane;
    const int chunks = pool_chunks(items, 0.01 * (v->type == NPY_FLOAT ? 1 : 2) * CHANNELS_AT_ONCE * v->kernel * job->windows * v->filters);
    job->straight = backward && v->source.plane == v->pixels;
    job->padded_bytes = backward && !job->straight ? tiles_of(v->images * job->image * width, 64) * 64 : 0;
    const size panel = backward ? CONV_DEPTH + rows : job->windows;
    job->work_bytes = tiles_of(job->padded_bytes + COLUMN_PANELS * panel * wide * width, 64) * 64;
    v->together = v->images;
    const size left_numbers = backward ? rows * v->filters : tiles_of(v->filters, high) * high * job->windows;
    PyArrayObject *left = scratch(left_numbers, width), *work = left ? scratch(chunks * job->work_bytes + (backward ? 0 : conv_batch_bytes(v)), 1) : NULL;
    PyArrayObject *lists = work ? scratch(job->windows + SPARE, sizeof(size)) : NULL;
    int result = -1;
    if (lists) {
        size *place = (size *)aligned(lists);
        job->place = place, job->left = aligned(left), v->work = aligned(work);
        const size all = v->source.channels;
        if (backward && !job->straight) v->source.channels = channels; /* of padded images */
        conv_list_places(v, place);
        v->source.channels = all;
        const struct columns w = columns_of(job, channels, NULL, NULL, NULL);
        Py_BEGIN_ALLOW_THREADS
        if (v->type == NPY_FLOAT) kernels->conv_columns_left_f32((float *)job->left, (const float *)grad, &w, !backward);
        else kernels->conv_columns_left_f64((double *)job->left, (const double *)grad, &w, !backward);
        if (!backward) {
            char *images = v->work + chunks * job->work_bytes;
            memset(images, 0, conv_batch_bytes(v));
            conv_pad_batch(v, images, 0, 0, v->images);
            job->images = images;
        }
        result = pool_run_stoppable(backward ? images_task : weights_task, job, items, chunks);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(left);
    Py_XDECREF(work);
    Py_XDECREF(lists);
    return result < 0 ? -1 : 1;
}

/* Whether it takes less time than what else there is, by cycles: products of whole tiles, of columns or of windows; for every number of the
 * filters that it is packed, or turned, by runs of what windows see; and for every window of a column that it is read, or added. Constants: measured. */
static int images_pay(const struct conv *v, double windows)
{
    const double high = (double)kernels->gemm_rows, wide = (double)tile_columns(v), filters = (double)v->filters;
    const size seen = conv_seen(v), run = conv_seen_along(&v->axis[2]) < v->axis[2].kernel ? conv_seen_along(&v->axis[2]) : conv_seen_along(&v->axis[1]) < v->axis[1].kernel ? v->axis[2].kernel * conv_seen_along(&v->axis[1]) : seen;
    const double taps = (double)v->channels * (are_narrow() ? seen : v->kernel), moving = 0.6 + (are_narrow() && seen < v->kernel ? 2 / (double)run : 0);
    const double tiles = (double)tiles_of((size)windows, kernels->gemm_rows) * high / wide, rows = (double)tiles_of(v->channels, kernels->gemm_rows) * high;
    const double packing = are_narrow() && v->lattices > 1 ? 1.8 : 0.9; /* each lattice takes some taps of all filters */
    double other = 0;
    for (int k = 0; k < v->lattices; k++) {
        const struct lattice *l = &v->lattice[k];
        const double panels = (double)tiles_of(v->images * l->count[0] * l->count[1] * l->count[2], tile_columns(v)), runs = wide / (double)l->count[2] + 1;
        other += (double)l->depth * (panels * (rows + 1 + 1.3 * runs) + packing * rows);
    }
    const double folded = folded_cost(v);
    return conv_pays(BY_COLUMNS, taps * (filters * (tiles + moving) + 1.6 * windows), other < folded ? other : folded);
}
static int weights_pay(const struct conv *v, double windows)
{
    enum { SUMS_IN_CACHE = 1 << 18 }; /* of a core, in numbers */
    const double wide = (double)tile_columns(v), filters = (double)v->filters, taps = (double)v->channels * v->kernel;
    const double reading = 1 + 4 / (double)v->kernel; /* taps of a channel lie close together */
    const double seen = (double)v->lattice->depth, spread = seen < taps ? 0.1 * taps * filters : 0;
    const double turning = taps * filters > SUMS_IN_CACHE && v->channels > v->filters ? 1.8 : 1; /* sums that lie by taps */
    return seen > 0 && conv_pays(BY_COLUMNS, seen * (filters * (windows / wide + 0.1) + reading * windows) + spread,
                                 filters * seen * ((are_narrow() ? 1.12 : 1.05) * windows / wide + turning));
}

int columns_run(const struct conv *given)
{
    struct columns_job job = {.v = *given, .out = given->out, .windows = given->images * given->results};
    struct conv *v = &job.v;
    if (v->groups > 1 || job.windows > CONV_WINDOWS || !images_pay(v, (double)job.windows)) return 0;
    v->index = NULL, v->lattice = NULL;
    int result = -1;
    if (conv_has_memory(v, 2 * v->channels * v->kernel + SPARE, 1)) {
        conv_pad_images(v, 0);
        conv_lattice(v);
        result = run(&job, v->from, 1);
    }
    conv_release(v);
    return result;
}

int columns_weights(struct conv *v, const char *grad, char *out, size most)
{
    struct columns_job job = {.v = *v, .out = out, .windows = v->images * v->results};
    if (v->groups > 1 || job.windows > most || !weights_pay(v, (double)job.windows)) return 0;
    return run(&job, grad, 0);
}
