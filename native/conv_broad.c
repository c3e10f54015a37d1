/* Results of convolutions by vectors of filters (conv_broad.inc.h): for windows that lie in steps, or in short rows. */
#include "conv.h"

#include <limits.h>
#include <math.h>

struct broad_job {
    struct conv v;
    char *filters;
    size *place, *offset, *where, panels, panel_numbers;
    struct reach *reach; /* NULL: all windows see all taps */
    size seen[AXES];     /* taps along each axis that see something */
    int bare; /* whether images have no padding, so that they are read where they are */
    int pixels; /* whether channels lie innermost, in images and in results */
};

/* The share of products with padding along an axis, and whether that of all is enough to leave some out. */
static double in_padding(const struct axis *a)
{
    double lost = 0, seen = 0;
    for (size tap = 0; tap < a->kernel; tap++) {
        if (!conv_sees(a, tap)) continue;
        for (size o = 0; o < a->count; o++) {
            const size at = o * a->stride + tap * a->dilation - a->pad;
            lost += at < 0 || at >= a->size, seen++;
        }
    }
    return seen > 0 ? lost / seen : 0;
}
static int is_cut(const struct conv *v)
{
    return in_padding(&v->axis[0]) + in_padding(&v->axis[1]) > 0.02;
}

/* Which of an axis' taps see more than padding from a window, of those that do from some. */
static void reach_along(const struct axis *a, size window, int range[2])
{
    int index = 0;
    range[0] = -1, range[1] = 0;
    for (size tap = 0; tap < a->kernel; tap++) {
        if (!conv_sees(a, tap)) continue;
        const size at = window * a->stride + tap * a->dilation - a->pad;
        if (at >= 0 && at < a->size) {
            if (range[0] < 0) range[0] = index;
            range[1] = index + 1;
        }
        index++;
    }
    if (range[0] < 0) range[0] = 0;
}

/* What each tile of windows sees, of all its windows together: of the lines from its first to its last. `range`: memory for what those of
 * each depth and each line see. */
static void list_reach(struct broad_job *job, int (*range)[2])
{
    const struct conv *v = &job->v;
    const struct axis *a = v->axis;
    const size high = kernels->gemm_rows, total = v->together * v->results;
    int(*const lines)[2] = range + a[0].count;
    for (size z = 0; z < a[0].count; z++) reach_along(&a[0], z, range[z]);
    for (size y = 0; y < a[1].count; y++) reach_along(&a[1], y, lines[y]);
    for (size n = 0; n < total; n += high) {
        const size first = n / a[2].count, last = (n + high < total ? n + high - 1 : total - 1) / a[2].count;
        int depth[2] = {INT_MAX, 0}, line[2] = {INT_MAX, 0};
        for (size k = first; k <= last; k++) {
            const int *z = range[k / a[1].count % a[0].count], *y = lines[k % a[1].count];
            depth[0] = z[0] < depth[0] ? z[0] : depth[0], depth[1] = z[1] > depth[1] ? z[1] : depth[1];
            line[0] = y[0] < line[0] ? y[0] : line[0], line[1] = y[1] > line[1] ? y[1] : line[1];
        }
        job->reach[n / high] = (struct reach){{depth[0], depth[1]}, {line[0], line[1]}, line[0] == 0 && line[1] == job->seen[1]};
    }
}

/* Where taps lie; so that what a window sees of an image follows each other where some see less: depths, then lines, then channels. Or
 * as pixels lie. */
static void order_taps(struct broad_job *job)
{
    const struct conv *v = &job->v;
    const struct lattice *l = v->lattice;
    const size *n = job->seen;
    for (size k = 0; k < l->depth; k++) {
        const size x = k % n[2], y = k / n[2] % n[1], z = k / (n[1] * n[2]) % n[0], c = k / (n[0] * n[1] * n[2]);
        job->where[k] = job->pixels ? ((z * n[1] + y) * n[2] + x) * v->channels + c : job->reach ? ((z * n[1] + y) * v->channels + c) * n[2] + x : k;
        job->offset[job->where[k]] = job->pixels ? (l->offset[k] - c * v->source.plane) * v->channels + c : l->offset[k];
    }
}

static void list_pixels(const struct conv *v, size *place)
{
    const size image = v->channels * v->source.plane;
    conv_list_places(v, place);
    for (size k = 0; k < v->together * v->results; k++) {
        const size first = k / v->results * image;
        place[k] = first + (place[k] - first) * v->channels;
    }
}

/* Images between zeros, which are there, or some others of the same shape. */
static void pad_batch(const struct broad_job *job, char *to, size group, size first, size images)
{
    const struct conv *v = &job->v;
    const struct source *s = &v->source;
    const size pixel = v->channels * v->width, row = s->size[2] * pixel;
    if (!job->pixels) {
        conv_pad_batch(v, to, group, first, images);
        return;
    }
    const char *from = v->from + first * v->from_image * v->width;
    for (size n = 0; n < images; n++, to += s->plane * pixel)
        for (size z = 0; z < s->size[0]; z++)
            for (size y = 0; y < s->size[1]; y++, from += row)
                memcpy(to + (((z + s->before[0]) * s->padded[1] + y + s->before[1]) * s->padded[2] + s->before[2]) * pixel, from, row);
}

static void filters_task(void *context, size begin, size end, int chunk)
{
    const struct broad_job *job = context;
    const struct conv *v = &job->v;
    const size width = v->width, wide = tile_columns(v);
    (void)chunk;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size group = item / job->panels, f = item % job->panels * wide, left = v->filters - f, count = left < wide ? left : wide;
        char *to = job->filters + item * job->panel_numbers * width;
        const char *weight = v->weight + (group * v->bundle + f * v->filter_step) * width, *bias = v->bias ? v->bias + (group * v->filters + f) * width : NULL;
        if (v->type == NPY_FLOAT)
            kernels->conv_broad_filters_f32((float *)to, (const float *)weight, v->filter_step, v->lattice->tap, job->where, v->lattice->depth, (const float *)bias, count);
        else
            kernels->conv_broad_filters_f64((double *)to, (const double *)weight, v->filter_step, v->lattice->tap, job->where, v->lattice->depth, (const double *)bias, count);
    }
}

static void windows_task(void *context, size begin, size end, int chunk)
{
    const struct broad_job *job = context;
    const struct conv *v = &job->v;
    char *padded = v->work + chunk * v->work_bytes, *work = padded + (job->bare ? 0 : conv_batch_bytes(v));
    size ready = -1;
    if (!job->bare) memset(padded, 0, conv_batch_bytes(v));
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size share = item % v->shares, batch = item / v->shares, group = batch % v->groups, first = batch / v->groups * v->together;
        const size images = v->images - first < v->together ? v->images - first : v->together;
        if (ready != batch && !job->bare) pad_batch(job, padded, group, first, images), ready = batch;
        const size from = job->panels * share / v->shares * tile_columns(v), to = job->panels * (share + 1) / v->shares * tile_columns(v);
        const struct broad w = {
            .source = job->bare ? v->from + first * v->from_image * v->width : padded, .filters = job->filters + group * job->panels * job->panel_numbers * v->width, .offset = job->offset, .place = job->place,
            .reach = job->reach, .deep = job->seen[1] * v->channels * job->seen[2], .high = v->channels * job->seen[2],
            .depth = v->lattice->depth, .windows = images * v->results, .results = v->results, .first = from, .last = to < v->filters ? to : v->filters,
            .out = v->out + (first * v->out_image + group * v->filters * v->out_filter) * v->width, .work = work,
            .out_image = v->out_image, .out_filter = v->out_filter,
        };
        if (v->type == NPY_FLOAT) kernels->conv_broad_f32(&w);
        else kernels->conv_broad_f64(&w);
        for (size n = 0; n < images; n++) conv_map(v, first + n, group * v->filters + w.first, w.last - w.first);
    }
}

/* Whether it takes less time than what else there is, by cycles for a tap; turning results takes some for every filter, and so does
 * turning filters, once. Half a panel takes little more than half the time. Else windows come in whole panels. Numbers of windows come
 * from the second cache, which shorter tiles wait for where few taps share a line of it, or few windows a number of an image that is not there.
 * Constants: measured. */
static double cost(const struct conv *v)
{
    const size wide = tile_columns(v), left = v->filters % wide;
    const double taps = (double)v->lattice->depth, filters = (double)(tiles_of(v->filters, wide) * wide) - (left && left <= wide / 2 ? 0.4 * (double)wide : 0);
    const double shared = conv_is_near(v) ? (double)v->kernel : (double)(v->kernel * v->results) / (double)v->pixels;
    const double reading = are_narrow() ? 0.16 / sqrt(shared > 1 ? shared : 1) : 0;
    return filters * ((1.03 + reading + 12 / taps) * (double)(v->images * v->results) / (double)wide + 0.56);
}
static int pays(const struct conv *v)
{
    const double panels = (double)tiles_of(v->images * v->results, tile_columns(v) / 2) / 2;
    return v->lattice->depth > 0 && conv_pays(BY_BROAD, cost(v), conv_cost(v) * panels);
}

/* The same for images whose channels lie innermost, of which the other ways take planes: turning images and results takes them some
 * cycles for every number. */
int broad_suits_pixels(const struct conv *v)
{
    const double turning = 0.6 * (double)(v->images * (v->channels * v->pixels + v->filters * v->results)), taps = (double)v->lattice->depth;
    const double panels = (double)tiles_of(v->images * v->results, tile_columns(v) / 2) / 2, others = conv_cost(v) * panels, broad = cost(v);
    return taps > 0 && conv_pays(BY_BROAD, broad, (others < broad ? others : broad) + turning / taps);
}

static int run(struct broad_job *job)
{
    struct conv *v = &job->v;
    const size high = kernels->gemm_rows, panels = job->panels = tiles_of(v->filters, tile_columns(v));
    conv_pad_images(v, 0);
    conv_lattice(v);
    job->bare = v->groups == 1 && v->source.plane == v->pixels;
    job->panel_numbers = (v->lattice->depth + 1) * tile_columns(v);
    const int chunks = conv_share_out(v, v->results, panels);
    v->work_bytes = ((job->bare ? 0 : conv_batch_bytes(v)) + BROAD_TILES * high * tile_columns(v) * v->width + 63) / 64 * 64;
    PyArrayObject *left = scratch(v->groups * panels * job->panel_numbers, v->width), *work = left ? scratch(chunks * v->work_bytes, 1) : NULL;
    const size windows = v->together * v->results, tiles = tiles_of(windows, high), depth = v->lattice->depth;
    PyArrayObject *places = work ? scratch(windows + SPARE + 2 * depth, sizeof(size)) : NULL;
    const int cut = is_cut(v);
    PyArrayObject *reaches = places ? scratch(cut ? tiles + v->axis[0].count + v->axis[1].count : 0, sizeof(struct reach)) : NULL;
    int result = -1;
    if (reaches) {
        job->filters = aligned(left), v->work = aligned(work), job->place = (size *)aligned(places);
        job->offset = job->place + windows + SPARE, job->where = job->offset + depth;
        for (int k = 0; k < AXES; k++)
            for (size tap = 0; tap < v->axis[k].kernel; tap++) job->seen[k] += conv_sees(&v->axis[k], tap);
        job->reach = cut ? (struct reach *)aligned(reaches) : NULL;
        (job->pixels ? list_pixels : conv_list_places)(v, job->place);
        if (job->reach) list_reach(job, (int(*)[2])(job->reach + tiles));
        order_taps(job);
        Py_BEGIN_ALLOW_THREADS
        result = pool_run_stoppable(filters_task, job, v->groups * panels, pool_chunks(v->groups * panels, 0.3 * job->panel_numbers));
        if (!result) result = pool_run_stoppable(windows_task, job, v->batches * v->groups * v->shares, chunks);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(left);
    Py_XDECREF(work);
    Py_XDECREF(places);
    Py_XDECREF(reaches);
    return result < 0 ? -1 : 1;
}

int broad_run(const struct conv *given)
{
    struct broad_job job = {.v = *given};
    return pays(given) ? run(&job) : 0;
}

int broad_pixels(const struct conv *given)
{
    struct broad_job job = {.v = *given, .pixels = 1};
    job.v.out_filter = 1;
    return run(&job);
}
