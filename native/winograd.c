/* Convolutions and their gradients by Winograd's products. Blocks of tiles are transformed for all channels, meet all filters, and are
 * transformed back while they are in the second cache. */
#include "winograd.h"

enum {
    BLOCK_BYTES = 1 << 22, /* of transformed images, and gradients */
    MOST_TILES = 64, LEAST_TILES = 16, /* of a block */
    MOST_SUMMED = 512,   /* the same for gradients in filters */
    FEW_BYTES = 700 << 10, /* of a block of few channels in gradients in filters, which the second cache is to have */
    LEAST_SIDE = 3,      /* of images and results */
    GROUP_VECTORS = 4096, /* of filters that are transformed together, for some channels */
    MANY = 1 << 16,      /* numbers of filters, that are not looked through */
};

struct job {
    const struct conv *v;
    struct plan plan;
    struct tiled in, out;
    const char *weight, *bias, *end;
    size filter, channel; /* numbers from filter to filter, and from channel to channel */
    size tiles, room, blocks, shares;  /* all tiles; room for those of a block; blocks, and parts that filters are shared out in */
    size lanes, depth, group, groups, panels;   /* depth: blocks of channels; group: such blocks whose filters are transformed together */
    size images_bytes, filters_bytes, sums_bytes, strip_bytes, work_bytes;
    char *filters, *work;
    int *lost;
};

static size bytes_of(const struct job *j, size vectors)
{
    return vectors * j->lanes * j->v->width;
}
/* Whether channels do not fill a vector: then vectors run over tiles. */
static int are_few(const struct job *j)
{
    return j->in.channels < j->lanes;
}
/* Of their transformed images. */
static size few_bytes(const struct job *j)
{
    return bytes_of(j, tiles_of(j->in.channels * j->plan.streams * (j->room + j->lanes), j->lanes));
}
/* Of the filters of a panel and a group. */
static size group_bytes(const struct job *j)
{
    return bytes_of(j, j->plan.streams * 2 * j->group * j->lanes + j->plan.sums);
}

static void transform_filters(const struct job *j, char *to, size panel, size group)
{
    const size wide = 2 * j->lanes, width = j->v->width, done = group * j->group, c = done * j->lanes, left = j->depth - done;
    const size filters = j->out.channels - panel * wide, blocks = left < j->group ? left : j->group;
    const char *from = j->weight + (panel * wide * j->filter + c * j->channel) * width;
    if (j->v->type == NPY_FLOAT)
        kernels->winograd_filters_f32((float *)to, &j->plan, (const float *)from, (const float *)j->end, j->filter, j->channel, filters, j->in.channels - c, blocks);
    else
        kernels->winograd_filters_f64((double *)to, &j->plan, (const double *)from, (const double *)j->end, j->filter, j->channel, filters, j->in.channels - c, blocks);
}
static void filters_task(void *context, size begin, size end, int chunk)
{
    const struct job *j = context;
    (void)chunk;
    for (size item = begin; item < end && !pool_stopped(); item++) transform_filters(j, j->filters + item * group_bytes(j), item / j->groups, item % j->groups);
}

static void transform(const struct job *j, const struct tiled *v, const struct plan *p, char *to, size first, size tiles, size depth, size block, char *strip)
{
    if (j->v->type == NPY_FLOAT) kernels->winograd_images_f32((float *)to, v, p, first, tiles, j->room, depth, block, (float *)strip);
    else kernels->winograd_images_f64((double *)to, v, p, first, tiles, j->room, depth, block, (double *)strip);
}

static void transform_few(const struct job *j, char *to, size first, size tiles, size channel, size channels, char *strip)
{
    const size pitch = j->room + j->lanes;
    if (j->v->type == NPY_FLOAT) kernels->winograd_few_f32((float *)to, &j->in, &j->plan, first, tiles, pitch, channel, channels, (float *)strip);
    else kernels->winograd_few_f64((double *)to, &j->in, &j->plan, first, tiles, pitch, channel, channels, (double *)strip);
}

/* The results of a block of tiles and a panel of filters. */
static void meet(const struct job *j, const char *images, char *filters, char *sums, char *strip, size first, size tiles, size panel, int *lost)
{
    const size channels = j->in.channels < j->lanes ? j->in.channels : j->lanes, filter = panel * 2 * j->lanes;
    const int narrow = filter + j->lanes >= j->out.channels;
    for (size g = 0; g < j->groups; g++) {
        const char *right = filters;
        if (j->filters) right = j->filters + (panel * j->groups + g) * group_bytes(j);
        else transform_filters(j, filters, panel, g);
        const size done = g * j->group, blocks = j->depth - done < j->group ? j->depth - done : j->group;
        if (j->v->type == NPY_FLOAT)
            kernels->winograd_products_f32((float *)sums, &j->plan, (const float *)images, (const float *)right, j->depth, done, blocks, channels, j->room, tiles, narrow);
        else
            kernels->winograd_products_f64((double *)sums, &j->plan, (const double *)images, (const double *)right, j->depth, done, blocks, channels, j->room, tiles, narrow);
    }
    if (j->v->type == NPY_FLOAT)
        kernels->winograd_results_f32(&j->out, &j->plan, first, tiles, j->room, filter, (const float *)sums, (const float *)j->bias, (float *)strip, lost);
    else
        kernels->winograd_results_f64(&j->out, &j->plan, first, tiles, j->room, filter, (const double *)sums, (const double *)j->bias, (double *)strip, lost);
}

/* The first tile of a block: blocks are whole tiles of the product. */
static size place(const struct job *j, size block)
{
    const size high = kernels->gemm_rows, first = tiles_of(j->tiles, high) * block / j->blocks * high;
    return first < j->tiles ? first : j->tiles;
}

static void blocks_task(void *context, size begin, size end, int chunk)
{
    const struct job *j = context;
    char *images = j->work + chunk * j->work_bytes, *filters = images + j->images_bytes, *sums = filters + j->filters_bytes, *strip = sums + j->sums_bytes;
    size ready = -1;
    memset(images, 0, j->images_bytes);
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size share = item % j->shares, block = item / j->shares, first = place(j, block), tiles = place(j, block + 1) - first;
        if (ready != block && are_few(j)) transform_few(j, images, first, tiles, 0, j->in.channels, strip);
        else
            for (size c = 0; c < j->depth && ready != block && !pool_stopped(); c++) transform(j, &j->in, &j->plan, images, first, tiles, j->depth, c, strip);
        ready = block;
        for (size panel = j->panels * share / j->shares; panel < j->panels * (share + 1) / j->shares && !pool_stopped(); panel++)
            meet(j, images, filters, sums, strip, first, tiles, panel, &j->lost[chunk]);
    }
}

/* Tiles of an image; cut into blocks of so many tiles as there is room for, `bytes` each, and at most so many. */
static void cut(struct job *j, size bytes, size there, size most)
{
    const struct pieces *y = &j->plan.axis[1], *x = &j->plan.axis[2];
    const size high = kernels->gemm_rows, fit = there / bytes;
    most = fit > most ? most : fit < LEAST_TILES ? LEAST_TILES : fit;
    j->tiles = j->v->images;
    for (int k = 0; k < AXES; k++) j->tiles *= j->in.tiles[k] = j->out.tiles[k] = tiles_of(j->out.size[k], j->plan.axis[k].results);
    j->blocks = tiles_of(j->tiles, most), j->room = tiles_of(tiles_of(j->tiles, high), j->blocks) * high;
    const size wide = j->room < j->out.tiles[2] ? j->room : j->out.tiles[2];
    const size read = ((wide - 1) * x->step + x->reach) * (y->reach + 1), written = 2 * (wide * x->results + j->lanes) + wide * 2 * x->sums;
    const size few = ((wide + x->reach / x->step + 1) * x->step / j->lanes + 1 + x->step) * (y->reach + 2);
    j->strip_bytes = bytes_of(j, (read > written ? read : written) + few + 2 * j->lanes);
}

/* Channels that are taken two vectors at a time, filled up to whole vectors: one alone takes little more than half the time. */
static double filled(const struct job *j, size channels)
{
    const size vectors = tiles_of(channels, j->lanes);
    return (double)(vectors * j->lanes) + (vectors % 2 ? 0.1 * (double)j->lanes : 0);
}

/* What tiles and filters take whose channels fill vectors, by products of two numbers: those of tiles filled up to whole vectors (`images`
 * and `filters` numbers wide), and the transforms. Constants, here and below: measured. */
static double cost_of(const struct job *j, double images, double filters)
{
    const struct plan *p = &j->plan;
    const double high = (double)kernels->gemm_rows, pairs = (double)j->in.channels * j->out.channels;
    const double products = ((double)tiles_of(j->tiles, (size)high) * high) * p->streams * images * filters * 1.15;
    return products + j->tiles * 6.0 * (p->streams * j->depth * j->lanes + p->sums * j->out.channels) + 12 * p->streams * pairs;
}

/* Transforms of few channels: vectors run over tiles of a row, which may leave a part of the last one empty, and rows are laid apart first. */
static double cost_of_rows(const struct job *j)
{
    const struct pieces *deep = &j->plan.axis[0], *high = &j->plan.axis[1], *wide = &j->plan.axis[2];
    const size row = j->out.tiles[2], vectors = tiles_of(row, j->lanes) * j->lanes, length = (vectors + (wide->reach - 1) / wide->step) * wide->step;
    const double lines = (double)(j->tiles / row) * j->in.channels * deep->streams * high->reach, empty = (double)vectors / row;
    return j->tiles * empty * j->plan.streams * j->in.channels * (kernels->gemm_columns_bytes > 64 ? 2.5 : 7) + lines * length * 35;
}
/* The same for few channels; and for the gradient in the filters, whose tiles are of channels. */
static double cost_of_few(const struct job *j)
{
    const struct plan *p = &j->plan;
    const double filters = filled(j, j->out.channels), each = kernels->gemm_columns_bytes > 64 ? 8 : 10;
    return j->tiles * filters * (1.03 * p->streams * j->in.channels + p->sums * each) + cost_of_rows(j) + 5.0 * p->streams * j->lanes * filters;
}
static double cost_of_few_sums(const struct job *j)
{
    const struct plan *p = &j->plan;
    const double filters = (double)(j->panels * 2 * j->lanes), each = kernels->gemm_columns_bytes > 64 ? 5 : 7;
    size rows = 0;
    for (int sum = 0; sum < p->sums; sum++) rows += tiles_of(p->count[sum] * j->in.channels, kernels->gemm_rows) * kernels->gemm_rows;
    return j->tiles * filters * (1.03 * rows + p->sums * each) + cost_of_rows(j);
}

/* Whether it takes less time than products of windows, which few filters make slower, and so do steps in gradients of images. Smaller
 * results than 3 x 3 see so few numbers that sums of windows are more exact. */
static int pays(const struct job *j, double cycles, int backward)
{
    const struct plan *p = &j->plan;
    const struct axis *a = j->v->axis;
    for (int k = 1; k < AXES; k++)
        if (p->axis[k].sums > 3 && (j->out.size[k] < LEAST_SIDE || j->in.size[k] < LEAST_SIDE)) return 0;
    const double places = backward ? (double)j->v->pixels / (a[0].stride * a[1].stride * a[2].stride) : (double)j->v->results;
    const double each = backward && p->axis[2].phases > 1 ? 1 : are_few(j) ? 0.98 : 0.93;
    const double windows = (double)j->v->images * places * j->v->kernel * j->in.channels * j->out.channels * each;
    const double folded = backward ? 0.8 * folded_cost(j->v) * (double)tile_columns(j->v) : windows; /* by products that wait for nothing */
    return conv_pays(BY_WINOGRAD, cycles, folded < windows ? folded : windows);
}

/* Whether no number stands out, so that sums that do not see it lose nothing to it. Results are made of no numbers of the image but those that
 * their windows see; but of all numbers of a filter, even where some lie beside the image; and a gradient of a filter's tap of all images and
 * gradients. */
static int are_even(const struct conv *v, const char *numbers, size count)
{
    int even = 1;
    if (v->type == NPY_FLOAT) kernels->winograd_even_f32((const float *)numbers, count, &even);
    else kernels->winograd_even_f64((const double *)numbers, count, &even);
    return even;
}

static int is_whole(const int *lost, int chunks)
{
    int whole = 1;
    for (int c = 0; c < chunks; c++) whole &= !lost[c];
    return whole;
}

static int run(struct job *j)
{
    const size threads = pool_get_threads();
    const double cost = (double)j->tiles * j->plan.streams * j->in.channels * j->out.channels * 0.01;
    int chunks = 1;
    j->shares = 1;
    if (pool_chunks(threads, cost / threads) > 1) {
        if (j->blocks < 2 * threads) j->shares = j->panels < threads ? j->panels : threads;
        chunks = (int)(j->blocks * j->shares < threads ? j->blocks * j->shares : threads);
    }
    const size filters = j->blocks > 1 ? j->panels * j->groups : 0;
    j->images_bytes = are_few(j) ? few_bytes(j) : bytes_of(j, j->depth * j->plan.streams * (j->room + 1));
    j->sums_bytes = bytes_of(j, j->plan.sums * (2 * j->room + 1));
    j->filters_bytes = filters ? 0 : group_bytes(j);
    j->work_bytes = tiles_of(j->images_bytes + j->sums_bytes + j->filters_bytes + j->strip_bytes, 64) * 64;
    PyArrayObject *left = scratch(filters * group_bytes(j) + 64, 1), *work = left ? scratch(chunks * j->work_bytes + 64, 1) : NULL;
    int result = -1, *lost = calloc(chunks, sizeof *lost);
    if (work && lost) {
        j->filters = filters ? aligned(left) : NULL, j->work = aligned(work), j->lost = lost;
        Py_BEGIN_ALLOW_THREADS
        result = filters ? pool_run_stoppable(filters_task, j, filters, pool_chunks(filters, 500.0 * j->group * j->lanes)) : 0;
        if (!result) result = pool_run_stoppable(blocks_task, j, j->blocks * j->shares, chunks);
        Py_END_ALLOW_THREADS
        if (!result) result = is_whole(lost, chunks);
    } else if (work) PyErr_NoMemory();
    free(lost);
    Py_XDECREF(left);
    Py_XDECREF(work);
    return result;
}

/* Vectors of channels, panels of filters, groups of channels. */
static void count_vectors(struct job *j)
{
    j->lanes = tile_columns(j->v) / 2;
    j->depth = tiles_of(j->in.channels, j->lanes), j->panels = tiles_of(j->out.channels, 2 * j->lanes);
    j->group = GROUP_VECTORS / (2 * j->plan.streams) / j->lanes;
    if (j->group < 1) j->group = 1;
    j->groups = tiles_of(j->depth, j->group);
}

static struct tiled images_of(const struct conv *v, const char *from)
{
    const struct axis *a = v->axis;
    return (struct tiled){.from = from, .end = from + v->images * v->channels * v->pixels * v->width, .image = v->channels * v->pixels, .plane = v->pixels,
                          .size = {a[0].size, a[1].size, a[2].size}, .channels = v->channels};
}
static struct tiled results_of(const struct conv *v, const char *from)
{
    const struct axis *a = v->axis;
    return (struct tiled){.from = from, .end = from + v->images * v->filters * v->results * v->width, .image = v->filters * v->results, .plane = v->results,
                          .size = {a[0].count, a[1].count, a[2].count}, .channels = v->filters};
}

/* All but the filters: 1, or 0 if it does not pay. */
static int prepare(struct job *j, int backward)
{
    const struct conv *v = j->v;
    const size taps = v->kernel;
    if (winograd_plan(&j->plan, v, backward) < 0) return 0;
    j->in = backward ? results_of(v, v->from) : images_of(v, v->from), j->out = backward ? images_of(v, v->out) : results_of(v, v->out);
    j->out.to = v->out;
    j->filter = backward ? taps : v->channels * taps, j->channel = backward ? v->channels * taps : taps;
    count_vectors(j);
    cut(j, j->plan.streams * (are_few(j) ? j->in.channels : j->depth * j->lanes) * v->width, BLOCK_BYTES, MOST_TILES);
    return pays(j, are_few(j) ? cost_of_few(j) : cost_of(j, (double)(j->depth * j->lanes), filled(j, j->out.channels)), backward);
}

int winograd_suits(struct conv *v)
{
    struct job j = {.v = v};
    return prepare(&j, 0);
}

int winograd_run(struct conv *v, int backward)
{
    struct job j = {.v = v, .weight = v->weight, .bias = v->bias, .end = v->weight + v->filters * v->channels * v->kernel * v->width};
    if (!prepare(&j, backward)) return 0;
    const size filters = v->filters * v->channels * v->kernel;
    return filters > MANY || are_even(v, v->weight, filters) ? run(&j) : 0;
}

/* ---- the gradient in the filters ---- */

/* Transformed images and gradients of a block of tiles, each by blocks of channels; sums for two blocks of channels and one of
 * filters at a time: kept in memory until the last tiles are added, if there are more than one block of these. */
struct sums_job {
    struct job j;
    struct plan spread;
    char *images, *grads, *sums, *out;
    size first, tiles, block, pairs, filters; /* of the block at work; pairs of blocks of channels, blocks of filters */
};

static void transforms_task(void *context, size begin, size end, int chunk)
{
    const struct sums_job *s = context;
    const struct job *j = &s->j;
    char *strip = j->work + chunk * j->work_bytes;
    const size depth = j->depth;
    for (size c = begin; c < end && !pool_stopped(); c++)
        if (c < depth) transform(j, &j->in, &j->plan, s->images, s->first, s->tiles, depth, c, strip);
        else transform(j, &j->out, &s->spread, s->grads, s->first, s->tiles, s->filters, c - depth, strip);
}

static void sums_task(void *context, size begin, size end, int chunk)
{
    const struct sums_job *s = context;
    const struct job *j = &s->j;
    const struct plan *p = &j->plan;
    const size width = j->v->width, filter_step = j->in.channels * j->v->kernel, depth = j->depth;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size pair = item / s->filters, block = item % s->filters, filter = block * j->lanes, channel = pair * 2 * j->lanes;
        char *sums = j->blocks > 1 ? s->sums + item * j->sums_bytes : j->work + chunk * j->work_bytes;
        char *to = s->out + (filter * filter_step + channel * j->v->kernel) * width;
        const size filters = j->out.channels - filter < j->lanes ? j->out.channels - filter : j->lanes, channels = j->in.channels - channel;
        const int narrow = channel + j->lanes >= j->in.channels, add = s->block > 0, last = s->block + 1 == j->blocks;
        if (j->v->type == NPY_FLOAT) {
            kernels->winograd_sums_f32((float *)sums, p, (const float *)s->grads, s->filters, block, (const float *)s->images, depth, 2 * pair, j->room, s->tiles, narrow, add);
            if (last) kernels->winograd_close_f32((float *)to, p, filter_step, (const float *)sums, filters, channels, &j->lost[chunk]);
        } else {
            kernels->winograd_sums_f64((double *)sums, p, (const double *)s->grads, s->filters, block, (const double *)s->images, depth, 2 * pair, j->room, s->tiles, narrow, add);
            if (last) kernels->winograd_close_f64((double *)to, p, filter_step, (const double *)sums, filters, channels, &j->lost[chunk]);
        }
    }
}

static int run_sums(struct sums_job *s)
{
    struct job *j = &s->j;
    const size items = s->pairs * s->filters, turns = j->depth + s->filters, streams = j->plan.streams;
    const size images_bytes = bytes_of(j, j->depth * streams * (j->room + 1)), grads_bytes = bytes_of(j, s->filters * j->plan.sums * (j->room + 1));
    j->sums_bytes = bytes_of(j, streams * (2 * j->lanes + 1));
    j->work_bytes = tiles_of(j->strip_bytes > j->sums_bytes ? j->strip_bytes : j->sums_bytes, 64) * 64;
    const int turners = pool_chunks(turns, 6.0 * streams * j->room), adders = pool_chunks(items, 0.01 * streams * 2 * j->lanes * j->lanes * j->room);
    const int chunks = turners > adders ? turners : adders;
    PyArrayObject *all = scratch(images_bytes + grads_bytes + (j->blocks > 1 ? items * j->sums_bytes : 0) + chunks * j->work_bytes + 64, 1);
    int result = -1, *lost = calloc(chunks, sizeof *lost);
    if (all && lost) {
        s->images = aligned(all), s->grads = s->images + images_bytes, j->work = s->grads + grads_bytes;
        s->sums = j->work + chunks * j->work_bytes, j->lost = lost, result = 0;
        Py_BEGIN_ALLOW_THREADS
        for (s->block = 0; s->block < j->blocks && !result; s->block++) {
            s->first = place(j, s->block), s->tiles = place(j, s->block + 1) - s->first;
            result = pool_run_stoppable(transforms_task, s, turns, turners);
            if (!result) result = pool_run_stoppable(sums_task, s, items, adders);
        }
        Py_END_ALLOW_THREADS
        if (!result) result = is_whole(lost, chunks);
    } else if (all) PyErr_NoMemory();
    free(lost);
    Py_XDECREF(all);
    return result;
}

/* ---- the same for few channels ---- */

/* Items: channels of the images, and vectors of filters. */
static void few_transforms_task(void *context, size begin, size end, int chunk)
{
    const struct sums_job *s = context;
    const struct job *j = &s->j;
    char *strip = j->work + chunk * j->work_bytes;
    for (size c = begin; c < end && !pool_stopped(); c++)
        if (c < j->in.channels) transform_few(j, s->images, s->first, s->tiles, c, 1, strip);
        else transform(j, &j->out, &s->spread, s->grads, s->first, s->tiles, s->filters, c - j->in.channels, strip);
}

/* Items: sums, of two vectors of filters each. */
static void few_sums_task(void *context, size begin, size end, int chunk)
{
    const struct sums_job *s = context;
    const struct job *j = &s->j;
    const struct plan *p = &j->plan;
    const size second = (j->room + 1) * j->lanes, pitch = j->room + j->lanes, channels = j->in.channels, width = j->v->width;
    (void)chunk;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const int sum = (int)(item % p->sums);
        const size pair = item / p->sums;
        char *sums = s->sums + pair * j->sums_bytes;
        const char *grads = s->grads + (sum * s->filters + 2 * pair) * second * width, *images = s->images + p->first[sum] * channels * pitch * width;
        if (j->v->type == NPY_FLOAT)
            kernels->winograd_few_sums_f32((float *)sums, p, sum, (const float *)grads, second, (const float *)images, channels, pitch, s->tiles, s->block > 0);
        else
            kernels->winograd_few_sums_f64((double *)sums, p, sum, (const double *)grads, second, (const double *)images, channels, pitch, s->tiles, s->block > 0);
    }
}

static void few_close_task(void *context, size begin, size end, int chunk)
{
    const struct sums_job *s = context;
    const struct job *j = &s->j;
    const size width = j->v->width, filter_step = j->in.channels * j->v->kernel;
    for (size pair = begin; pair < end && !pool_stopped(); pair++) {
        const char *sums = s->sums + pair * j->sums_bytes;
        char *to = s->out + pair * 2 * j->lanes * filter_step * width;
        const size left = j->out.channels - pair * 2 * j->lanes;
        if (j->v->type == NPY_FLOAT)
            kernels->winograd_few_close_f32((float *)to, &j->plan, filter_step, (const float *)sums, left, j->in.channels, &j->lost[chunk]);
        else kernels->winograd_few_close_f64((double *)to, &j->plan, filter_step, (const double *)sums, left, j->in.channels, &j->lost[chunk]);
    }
}

static int run_few_sums(struct sums_job *s)
{
    struct job *j = &s->j;
    const size pairs = s->filters / 2, turns = j->in.channels + s->filters, rows = j->plan.streams * j->in.channels;
    const size images_bytes = few_bytes(j), grads_bytes = bytes_of(j, s->filters * j->plan.sums * (j->room + 1));
    j->sums_bytes = bytes_of(j, 2 * rows), j->work_bytes = tiles_of(j->strip_bytes, 64) * 64;
    const int turners = pool_chunks(turns, 6.0 * j->plan.streams * j->room), closers = pool_chunks(pairs, 10.0 * rows);
    const int adders = pool_chunks(pairs * j->plan.sums, 0.02 * rows * j->lanes * j->room / j->plan.sums);
    PyArrayObject *all = scratch(images_bytes + grads_bytes + pairs * j->sums_bytes + turners * j->work_bytes + 64, 1);
    int result = -1, *lost = calloc(closers, sizeof *lost);
    if (all && lost) {
        s->images = aligned(all), s->grads = s->images + images_bytes, s->sums = s->grads + grads_bytes;
        j->work = s->sums + pairs * j->sums_bytes, j->lost = lost, result = 0;
        Py_BEGIN_ALLOW_THREADS
        for (s->block = 0; s->block < j->blocks && !result; s->block++) {
            s->first = place(j, s->block), s->tiles = place(j, s->block + 1) - s->first;
            result = pool_run_stoppable(few_transforms_task, s, turns, turners);
            if (!result) result = pool_run_stoppable(few_sums_task, s, pairs * j->plan.sums, adders);
        }
        if (!result) result = pool_run_stoppable(few_close_task, s, pairs, closers);
        Py_END_ALLOW_THREADS
        if (!result) result = is_whole(lost, closers);
    } else if (all) PyErr_NoMemory();
    free(lost);
    Py_XDECREF(all);
    return result;
}

int winograd_weights(struct conv *v, const char *grad, char *out)
{
    struct sums_job s = {.out = out};
    struct job *j = &s.j;
    if (winograd_plan(&j->plan, v, 0) < 0 || winograd_spread(&s.spread, &j->plan) < 0) return 0;
    j->v = v, j->in = images_of(v, v->from), j->out = results_of(v, grad);
    count_vectors(j);
    const int few = are_few(j);
    s.pairs = tiles_of(j->depth, 2), s.filters = few ? j->panels * 2 : tiles_of(v->filters, j->lanes);
    const size bytes = ((few ? v->channels : j->depth * j->lanes) * j->plan.streams + s.filters * j->lanes * j->plan.sums) * v->width;
    cut(j, bytes, few ? FEW_BYTES : BLOCK_BYTES, MOST_SUMMED);
    if (!pays(j, few ? cost_of_few_sums(j) : cost_of(j, filled(j, v->channels), (double)(s.filters * j->lanes)), 0)) return 0;
    if (!are_even(v, v->from, v->images * j->in.image) || !are_even(v, grad, v->images * j->out.image)) return 0;
    return few ? run_few_sums(&s) : run_sums(&s);
}
