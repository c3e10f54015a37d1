/* Gradients of convolutions in their images by one product for all taps (conv_folded.inc.h). */
#include "conv.h"

#include <float.h>

enum {
    BLOCK_TAPS = 96,            /* of channels that are taken together */
    BLOCK_NUMBERS = 1 << 16,    /* of their padded images */
    RIGHT_NUMBERS = 3 << 15,    /* of gradients that are packed together */
    LEAST_WINDOWS = 64,
};

struct folded_job {
    struct conv v;
    char *left;
    size taps, block, blocks, windows, block_numbers; /* taps of a channel that see something; channels of a block; windows at a time */
};

/* How many channels are taken together. */
static size block_of(const struct conv *v, size taps, size images, size plane)
{
    const size some = (BLOCK_TAPS + taps / 2) / taps, fit = BLOCK_NUMBERS / (images * plane), most = some < fit ? some : fit;
    return tiles_of(v->channels, tiles_of(v->channels, most < 1 ? 1 : most));
}

/* How the work is cut, after images are put together. */
static void cut(struct folded_job *job)
{
    const struct conv *v = &job->v;
    const size wide = tile_columns(v), high = kernels->gemm_rows, total = v->together * v->results, fit = RIGHT_NUMBERS / v->filters;
    const size most = fit > FOLDED_WINDOWS ? FOLDED_WINDOWS : fit < LEAST_WINDOWS ? LEAST_WINDOWS : fit;
    job->windows = tiles_of(tiles_of(total, tiles_of(total, most)), wide) * wide;
    if (job->windows > FOLDED_WINDOWS) job->windows = FOLDED_WINDOWS;
    job->block = block_of(v, job->taps, v->together, v->source.plane), job->blocks = tiles_of(v->channels, job->block);
    job->block_numbers = tiles_of(job->block * job->taps, high) * high * v->filters;
}

static void filters_task(void *context, size begin, size end, int chunk)
{
    const struct folded_job *job = context;
    const struct conv *v = &job->v;
    (void)chunk;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size group = item / job->blocks, c = item % job->blocks * job->block, left = v->channels - c, channels = left < job->block ? left : job->block;
        char *to = job->left + item * job->block_numbers * v->width;
        const char *weight = v->weight + group * v->bundle * v->width;
        const size *tap = v->lattice->tap + c * job->taps, row = v->channels * v->kernel;
        if (v->type == NPY_FLOAT) kernels->conv_folded_filters_f32((float *)to, (const float *)weight, row, tap, channels * job->taps, v->filters);
        else kernels->conv_folded_filters_f64((double *)to, (const double *)weight, row, tap, channels * job->taps, v->filters);
    }
}

static void images_task(void *context, size begin, size end, int chunk)
{
    const struct folded_job *job = context;
    const struct conv *v = &job->v;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size share = item % v->shares, batch = item / v->shares, group = batch % v->groups, first = batch / v->groups * v->together;
        const struct folded w = {
            .source = v->from + (first * v->groups + group) * v->from_image * v->width, .left = job->left + group * job->blocks * job->block_numbers * v->width,
            .lattice = v->lattice, .padded = &v->source, .images = v->images - first < v->together ? v->images - first : v->together,
            .results = v->results, .grad_image = v->groups * v->from_image, .filters = v->filters, .taps = job->taps, .channels = v->channels,
            .block = job->block, .first = job->blocks * share / v->shares, .last = job->blocks * (share + 1) / v->shares, .windows = job->windows,
            .out = v->out + (first * v->out_image + group * v->channels * v->out_filter) * v->width, .work = v->work + chunk * v->work_bytes,
            .out_image = v->out_image, .out_channel = v->out_filter,
        };
        (v->type == NPY_FLOAT ? kernels->conv_folded_f32 : kernels->conv_folded_f64)(&w);
    }
}

static int run(struct folded_job *job)
{
    struct conv *v = &job->v;
    int chunks = conv_share_out(v, v->results, v->channels);
    cut(job);
    if (v->shares > job->blocks) v->shares = job->blocks;
    if (chunks > v->batches * v->groups * v->shares) chunks = (int)(v->batches * v->groups * v->shares);
    const size high = kernels->gemm_rows, rows = tiles_of(job->block * job->taps, high) * high + 1;
    v->work_bytes = tiles_of((job->windows * (v->filters + rows) + v->together * job->block * v->source.plane + tile_columns(v)) * v->width, 64) * 64;
    PyArrayObject *left = scratch(v->groups * job->blocks * job->block_numbers, v->width), *work = left ? scratch(chunks * v->work_bytes, 1) : NULL;
    int result = -1;
    if (work) {
        job->left = aligned(left), v->work = aligned(work);
        const size blocks = v->groups * job->blocks;
        Py_BEGIN_ALLOW_THREADS
        result = pool_run_stoppable(filters_task, job, blocks, pool_chunks(blocks, 0.3 * job->block_numbers));
        if (!result) result = pool_run_stoppable(images_task, job, v->batches * v->groups * v->shares, chunks);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(left);
    Py_XDECREF(work);
    return result < 0 ? -1 : 1;
}

/* Cycles, as of conv_cost: for each panel of windows that of products of whole tiles, and of packing gradients for each block of channels;
 * for a tap that its sums are written and added to images; for numbers of filters that they are packed, and of images that they are taken
 * out of the padded ones. Constants: measured. */
double folded_cost(const struct conv *v)
{
    const size seen = conv_seen(v), wide = tile_columns(v), high = kernels->gemm_rows;
    if (!are_narrow() || !seen) return DBL_MAX; /* not measured */
    const size block = block_of(v, seen, tiles_of(FOLDED_WINDOWS, v->results), v->pixels), whole = v->channels / block, left = v->channels % block;
    const double blocks = (double)tiles_of(v->channels, block), rows = (double)((whole * tiles_of(block * seen, high) + tiles_of(left * seen, high)) * high);
    const double panels = (double)tiles_of(v->images * v->results, wide), runs = (double)wide / (double)v->axis[2].count + 1, filters = (double)v->filters;
    const double each = filters * (rows + 3 * blocks) + rows * (4 + 4 * runs);
    return (double)v->groups * (panels * each + 0.9 * filters * rows + 0.7 * (double)(v->images * v->channels * v->pixels));
}

/* The same of all panels and taps of windows. */
static double windows_cost(const struct conv *given)
{
    struct conv v = *given;
    const double packing = v.lattices > 1 ? 1.8 : 0.9; /* each lattice takes some taps of all filters */
    double sum = 0;
    for (int k = 0; k < given->lattices; k++) {
        const struct lattice *l = v.lattice = &given->lattice[k];
        const double panels = (double)tiles_of(v.images * l->count[0] * l->count[1] * l->count[2], tile_columns(&v));
        sum += (double)l->depth * (panels * conv_cost(&v) + packing * (double)v.rows);
    }
    return sum * (double)v.groups;
}

int folded_run(const struct conv *given)
{
    if (!conv_pays(BY_FOLDED, folded_cost(given), windows_cost(given))) return 0;
    struct folded_job job = {.v = *given};
    struct conv *v = &job.v;
    v->index = NULL, v->lattice = NULL;
    int result = -1;
    if (conv_has_memory(v, 2 * v->channels * v->kernel + SPARE, 1)) {
        conv_pad_images(v, 1);
        conv_lattice(v);
        job.taps = v->lattice->depth / v->channels;
        result = job.taps ? run(&job) : 0;
    }
    conv_release(v);
    return result;
}
