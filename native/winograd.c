/* Convolutions with filters of 3 x 3 whose windows are neighbours, and their gradients, by Winograd's products. Blocks of tiles are
 * transformed for all channels, meet all filters, and are transformed back while they are in the second cache. */
#include "conv.h"

enum {
    NUMBERS = 16,        /* of a transformed tile */
    BLOCK_BYTES = 1 << 22, /* of transformed images, and gradients */
    MOST_TILES = 64, LEAST_TILES = 16, /* of a block */
    MOST_SUMMED = 512,   /* the same for gradients in filters */
    LEAST_SIDE = 3,      /* of images and results */
    GROUP = 128,         /* channels whose filters are transformed together */
    MANY = 1 << 16,      /* numbers of filters, that are not looked through */
};

struct job {
    const struct conv *v;
    struct tiled in, out;
    const char *weight, *bias, *end;
    size filter, channel; /* numbers from filter to filter, and from channel to channel */
    int turned;
    size tiles, room, blocks, shares;  /* all tiles; room for those of a block; blocks, and parts that filters are shared out in */
    size lanes, depth, groups, panels;          /* depth: blocks of channels */
    size images_bytes, filters_bytes, sums_bytes, strip_bytes, work_bytes;
    char *filters, *work;
    int *lost;
};

static size bytes_of(const struct job *j, size vectors)
{
    return vectors * j->lanes * j->v->width;
}
/* Of the filters of a panel and a group. */
static size group_bytes(const struct job *j)
{
    return bytes_of(j, NUMBERS * (2 * GROUP + 1));
}

static void transform_filters(const struct job *j, char *to, size panel, size group)
{
    const size wide = 2 * j->lanes, width = j->v->width, c = group * GROUP, blocks = j->depth - c / j->lanes;
    const size most = GROUP / j->lanes, filters = j->out.channels - panel * wide;
    const char *from = j->weight + (panel * wide * j->filter + c * j->channel) * width;
    if (j->v->type == NPY_FLOAT)
        kernels->winograd_filters_f32((float *)to, (const float *)from, (const float *)j->end, j->filter, j->channel, j->turned, filters,
                                      j->in.channels - c, blocks < most ? blocks : most);
    else
        kernels->winograd_filters_f64((double *)to, (const double *)from, (const double *)j->end, j->filter, j->channel, j->turned, filters,
                                      j->in.channels - c, blocks < most ? blocks : most);
}
static void filters_task(void *context, size begin, size end, int chunk)
{
    const struct job *j = context;
    (void)chunk;
    for (size item = begin; item < end && !pool_stopped(); item++) transform_filters(j, j->filters + item * group_bytes(j), item / j->groups, item % j->groups);
}

static void transform_images(const struct job *j, char *to, size first, size tiles, char *strip)
{
    const size block = bytes_of(j, NUMBERS * (j->room + 1));
    for (size c = 0; c < j->depth && !pool_stopped(); c++, to += block)
        if (j->v->type == NPY_FLOAT) kernels->winograd_images_f32((float *)to, &j->in, first, tiles, j->room, c, (float *)strip);
        else kernels->winograd_images_f64((double *)to, &j->in, first, tiles, j->room, c, (double *)strip);
}

/* The results of a block of tiles and a panel of filters. */
static void meet(const struct job *j, const char *images, char *filters, char *sums, char *strip, size first, size tiles, size panel, int *lost)
{
    const size most = GROUP / j->lanes, block = bytes_of(j, NUMBERS * (j->room + 1));
    for (size g = 0; g < j->groups; g++, images += most * block) {
        const char *right = filters;
        if (j->filters) right = j->filters + (panel * j->groups + g) * group_bytes(j);
        else transform_filters(j, filters, panel, g);
        const size blocks = j->depth - g * most < most ? j->depth - g * most : most;
        if (j->v->type == NPY_FLOAT)
            kernels->winograd_products_f32((float *)sums, (const float *)images, (const float *)right, blocks, j->room, tiles, g > 0);
        else
            kernels->winograd_products_f64((double *)sums, (const double *)images, (const double *)right, blocks, j->room, tiles, g > 0);
    }
    if (j->v->type == NPY_FLOAT)
        kernels->winograd_results_f32(&j->out, first, tiles, j->room, panel * 2 * j->lanes, (const float *)sums, (const float *)j->bias, (float *)strip, lost);
    else
        kernels->winograd_results_f64(&j->out, first, tiles, j->room, panel * 2 * j->lanes, (const double *)sums, (const double *)j->bias, (double *)strip, lost);
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
        if (ready != block) transform_images(j, images, first, tiles, strip), ready = block;
        for (size panel = j->panels * share / j->shares; panel < j->panels * (share + 1) / j->shares && !pool_stopped(); panel++)
            meet(j, images, filters, sums, strip, first, tiles, panel, &j->lost[chunk]);
    }
}

/* How the tiles are cut into blocks of so many bytes a tile, and at most so many tiles. */
static void cut(struct job *j, size bytes, size most)
{
    const size high = kernels->gemm_rows, fit = BLOCK_BYTES / bytes;
    most = fit > most ? most : fit < LEAST_TILES ? LEAST_TILES : fit;
    j->tiles = j->v->images * j->out.down * j->out.across;
    j->blocks = tiles_of(j->tiles, most), j->room = tiles_of(tiles_of(j->tiles, high), j->blocks) * high;
    const size wide = j->room < j->out.across ? j->room : j->out.across;
    j->strip_bytes = bytes_of(j, 4 * (2 * wide + 2) + j->lanes);
}

/* Whether it takes less time, by products of two numbers: those of tiles filled up to whole vectors (`images` and `filters` numbers
 * wide), and what the transforms take, of tiles and of filters; against those of windows, which few filters make slower. Smaller
 * results than 3 x 3 see so few numbers that sums of windows are more exact. Constants: measured. */
static int pays(const struct job *j, size images, size filters)
{
    const struct tiled *in = &j->in, *out = &j->out;
    if (out->height < LEAST_SIDE || out->width < LEAST_SIDE || in->height < LEAST_SIDE || in->width < LEAST_SIDE) return 0;
    const double tiles = (double)j->tiles, high = (double)kernels->gemm_rows, pairs = (double)in->channels * out->channels;
    const double products = ((double)tiles_of(j->tiles, (size)high) * high) * NUMBERS * images * filters * 1.15;
    const double transforms = tiles * 90 * (in->channels + out->channels) + 200 * pairs;
    const double windows = (double)j->v->images * out->height * out->width * 9 * pairs;
    return products + transforms < 0.85 * windows;
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

static char *aligned(PyArrayObject *memory)
{
    return (char *)(((uintptr_t)PyArray_BYTES(memory) + 63) / 64 * 64);
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
    const double cost = (double)j->tiles * NUMBERS * j->in.channels * j->out.channels * 0.01;
    int chunks = 1;
    j->shares = 1;
    if (pool_chunks(threads, cost / threads) > 1) {
        if (j->blocks < 2 * threads) j->shares = j->panels < threads ? j->panels : threads;
        chunks = (int)(j->blocks * j->shares < threads ? j->blocks * j->shares : threads);
    }
    const size filters = j->blocks > 1 ? j->panels * j->groups : 0;
    j->images_bytes = bytes_of(j, j->depth * NUMBERS * (j->room + 1)), j->sums_bytes = bytes_of(j, NUMBERS * (2 * j->room + 1));
    j->filters_bytes = filters ? 0 : group_bytes(j);
    j->work_bytes = tiles_of(j->images_bytes + j->sums_bytes + j->filters_bytes + j->strip_bytes, 64) * 64;
    PyArrayObject *left = scratch(filters * group_bytes(j) + 64, 1), *work = left ? scratch(chunks * j->work_bytes + 64, 1) : NULL;
    int result = -1, *lost = calloc(chunks, sizeof *lost);
    if (work && lost) {
        j->filters = filters ? aligned(left) : NULL, j->work = aligned(work), j->lost = lost;
        Py_BEGIN_ALLOW_THREADS
        result = filters ? pool_run_stoppable(filters_task, j, filters, pool_chunks(filters, 500.0 * GROUP)) : 0;
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
    j->depth = tiles_of(j->in.channels, j->lanes), j->panels = tiles_of(j->out.channels, 2 * j->lanes), j->groups = tiles_of(j->depth * j->lanes, GROUP);
}

static int is_square(const struct conv *v)
{
    const struct axis *a = v->axis;
    int same = v->groups == 1 && a[0].size == 1 && a[0].kernel == 1 && a[0].pad == 0 && a[0].stride == 1;
    for (int k = 1; k < AXES; k++) same &= a[k].kernel == 3 && a[k].stride == 1 && a[k].dilation == 1;
    return same;
}

int winograd_run(struct conv *v, int backward)
{
    if (!is_square(v)) return 0;
    const struct axis *y = &v->axis[1], *x = &v->axis[2];
    const size taps = 9, image = v->channels * v->pixels, result = v->filters * v->results;
    struct job j = {.v = v, .weight = v->weight, .bias = v->bias, .end = v->weight + v->filters * v->channels * taps * v->width};
    struct tiled images = {.image = image, .plane = v->pixels, .height = y->size, .width = x->size, .channels = v->channels};
    struct tiled results = {.image = result, .plane = v->results, .height = y->count, .width = x->count, .channels = v->filters};
    j.in = backward ? results : images, j.out = backward ? images : results;
    j.filter = backward ? taps : v->channels * taps, j.channel = backward ? v->channels * taps : taps, j.turned = backward;
    j.in.top = backward ? 2 - y->pad : y->pad, j.in.left = backward ? 2 - x->pad : x->pad;
    if (j.in.top < 0 || j.in.left < 0) return 0;
    j.in.from = v->from, j.in.end = v->from + v->images * j.in.image * v->width, j.out.to = v->out;
    j.in.down = j.out.down = (j.out.height + 1) / 2, j.in.across = j.out.across = (j.out.width + 1) / 2;
    count_vectors(&j);
    cut(&j, NUMBERS * j.depth * j.lanes * v->width, MOST_TILES);
    if (!pays(&j, j.depth * j.lanes, j.panels * 2 * j.lanes)) return 0;
    const size filters = v->filters * v->channels * taps;
    return filters > MANY || are_even(v, v->weight, filters) ? run(&j) : 0;
}

/* ---- the gradient in the filters ---- */

/* Transformed images and gradients of a block of tiles, each by blocks of channels; sums for two blocks of channels and one of
 * filters at a time: kept in memory until the last tiles are added, if there are more than one block of these. */
struct sums_job {
    struct job j;
    char *images, *grads, *sums, *out;
    size first, tiles, block, pairs, filters; /* of the block at work; pairs of blocks of channels, blocks of filters */
};

static void transforms_task(void *context, size begin, size end, int chunk)
{
    const struct sums_job *s = context;
    const struct job *j = &s->j;
    char *strip = j->work + chunk * j->work_bytes;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size c = item < 2 * s->pairs ? item : item - 2 * s->pairs;
        char *to = (item < 2 * s->pairs ? s->images : s->grads) + c * j->images_bytes;
        if (j->v->type == NPY_FLOAT)
            (item < 2 * s->pairs ? kernels->winograd_images_f32 : kernels->winograd_gradients_f32)((float *)to, item < 2 * s->pairs ? &j->in : &j->out, s->first, s->tiles, j->room, c, (float *)strip);
        else
            (item < 2 * s->pairs ? kernels->winograd_images_f64 : kernels->winograd_gradients_f64)((double *)to, item < 2 * s->pairs ? &j->in : &j->out, s->first, s->tiles, j->room, c, (double *)strip);
    }
}

static void sums_task(void *context, size begin, size end, int chunk)
{
    const struct sums_job *s = context;
    const struct job *j = &s->j;
    const size width = j->v->width, taps = 9;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size pair = item / s->filters, block = item % s->filters, filter = block * j->lanes, channel = pair * 2 * j->lanes;
        const char *images = s->images + 2 * pair * j->images_bytes, *grads = s->grads + block * j->images_bytes;
        char *sums = j->blocks > 1 ? s->sums + item * j->sums_bytes : j->work + chunk * j->work_bytes;
        char *to = s->out + (filter * j->in.channels + channel) * taps * width;
        const size filters = j->out.channels - filter < j->lanes ? j->out.channels - filter : j->lanes, channels = j->in.channels - channel;
        if (j->v->type == NPY_FLOAT) kernels->winograd_sums_f32((float *)sums, (const float *)grads, (const float *)images, j->room, s->tiles, s->block > 0);
        else kernels->winograd_sums_f64((double *)sums, (const double *)grads, (const double *)images, j->room, s->tiles, s->block > 0);
        if (s->block + 1 < j->blocks) continue;
        if (j->v->type == NPY_FLOAT) kernels->winograd_close_f32((float *)to, j->in.channels * taps, (const float *)sums, filters, channels, &j->lost[chunk]);
        else kernels->winograd_close_f64((double *)to, j->in.channels * taps, (const double *)sums, filters, channels, &j->lost[chunk]);
    }
}

static int run_sums(struct sums_job *s)
{
    struct job *j = &s->j;
    const size items = s->pairs * s->filters, turns = 2 * s->pairs + s->filters;
    j->images_bytes = bytes_of(j, NUMBERS * (j->room + 1)), j->sums_bytes = bytes_of(j, NUMBERS * (2 * j->lanes + 1));
    j->work_bytes = tiles_of(j->strip_bytes > j->sums_bytes ? j->strip_bytes : j->sums_bytes, 64) * 64;
    const int turners = pool_chunks(turns, 100.0 * j->room), adders = pool_chunks(items, 0.01 * NUMBERS * 2 * j->lanes * j->lanes * j->room);
    const int chunks = turners > adders ? turners : adders;
    PyArrayObject *all = scratch(turns * j->images_bytes + (j->blocks > 1 ? items * j->sums_bytes : 0) + chunks * j->work_bytes + 64, 1);
    int result = -1, *lost = calloc(chunks, sizeof *lost);
    if (all && lost) {
        s->images = aligned(all), s->grads = s->images + 2 * s->pairs * j->images_bytes, j->work = s->grads + s->filters * j->images_bytes;
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

int winograd_weights(struct conv *v, const char *grad, char *out)
{
    if (!is_square(v)) return 0;
    const struct axis *y = &v->axis[1], *x = &v->axis[2];
    struct sums_job s = {.out = out};
    struct job *j = &s.j;
    j->v = v;
    j->in = (struct tiled){.from = v->from, .image = v->channels * v->pixels, .plane = v->pixels, .height = y->size, .width = x->size, .channels = v->channels,
                           .top = y->pad, .left = x->pad};
    j->out = (struct tiled){.from = grad, .image = v->filters * v->results, .plane = v->results, .height = y->count, .width = x->count, .channels = v->filters};
    j->in.end = v->from + v->images * j->in.image * v->width, j->out.end = grad + v->images * j->out.image * v->width;
    j->in.down = j->out.down = (y->count + 1) / 2, j->in.across = j->out.across = (x->count + 1) / 2;
    count_vectors(j);
    s.pairs = tiles_of(j->depth, 2), s.filters = tiles_of(v->filters, j->lanes);
    cut(j, NUMBERS * (2 * s.pairs + s.filters) * j->lanes * v->width, MOST_SUMMED);
    if (!pays(j, 2 * s.pairs * j->lanes, s.filters * j->lanes)) return 0;
    return are_even(v, v->from, v->images * j->in.image) && are_even(v, grad, v->images * j->out.image) ? run_sums(&s) : 0;
}
