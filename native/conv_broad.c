/* Results of convolutions by vectors of filters (conv_broad.inc.h): for windows that lie in steps, or in short rows. */
#include "conv.h"

struct broad_job {
    struct conv v;
    char *filters;
    size *place, panels, panel_numbers;
    int bare; /* whether images have no padding, so that they are read where they are */
};

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
            kernels->conv_broad_filters_f32((float *)to, (const float *)weight, v->filter_step, v->lattice->tap, v->lattice->depth, (const float *)bias, count);
        else
            kernels->conv_broad_filters_f64((double *)to, (const double *)weight, v->filter_step, v->lattice->tap, v->lattice->depth, (const double *)bias, count);
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
        if (ready != batch && !job->bare) conv_pad_batch(v, padded, group, first, images), ready = batch;
        const size from = job->panels * share / v->shares * tile_columns(v), to = job->panels * (share + 1) / v->shares * tile_columns(v);
        const struct broad w = {
            .source = job->bare ? v->from + first * v->from_image * v->width : padded, .filters = job->filters + group * job->panels * job->panel_numbers * v->width, .offset = v->lattice->offset, .place = job->place,
            .depth = v->lattice->depth, .windows = images * v->results, .results = v->results, .first = from, .last = to < v->filters ? to : v->filters,
            .out = v->out + (first * v->out_image + group * v->filters * v->out_filter) * v->width, .work = work,
            .out_image = v->out_image, .out_filter = v->out_filter,
        };
        if (v->type == NPY_FLOAT) kernels->conv_broad_f32(&w);
        else kernels->conv_broad_f64(&w);
    }
}

/* Whether it takes less time than what else there is, by cycles for a tap; turning results takes some for every filter, and so does
 * turning filters, once. Half a panel takes little more than half the time. Else windows come in whole panels. Constants: measured. */
static int pays(const struct conv *v)
{
    const size wide = tile_columns(v), left = v->filters % wide;
    const double taps = (double)v->lattice->depth, filters = (double)(tiles_of(v->filters, wide) * wide) - (left && left <= wide / 2 ? 0.4 * (double)wide : 0);
    const double windows = (double)(v->images * v->results), panels = (double)tiles_of(v->images * v->results, wide / 2) / 2;
    return taps > 0 && conv_pays(BY_BROAD, filters * ((1.03 + 12 / taps) * windows / (double)wide + 0.56), conv_cost(v) * panels);
}

int broad_run(const struct conv *given)
{
    struct broad_job job = {.v = *given};
    struct conv *v = &job.v;
    if (!pays(v)) return 0;
    const size high = kernels->gemm_rows, panels = job.panels = tiles_of(v->filters, tile_columns(v));
    conv_pad_images(v, 0);
    conv_lattice(v);
    job.bare = v->groups == 1 && v->source.plane == v->pixels;
    job.panel_numbers = (v->lattice->depth + 1) * tile_columns(v);
    const int chunks = conv_share_out(v, v->results, panels);
    v->work_bytes = ((job.bare ? 0 : conv_batch_bytes(v)) + BROAD_TILES * high * tile_columns(v) * v->width + 63) / 64 * 64;
    PyArrayObject *left = scratch(v->groups * panels * job.panel_numbers, v->width), *work = left ? scratch(chunks * v->work_bytes, 1) : NULL;
    PyArrayObject *places = work ? scratch(v->together * v->results + SPARE, sizeof(size)) : NULL;
    int result = -1;
    if (places) {
        job.filters = PyArray_BYTES(left), v->work = PyArray_BYTES(work), job.place = (size *)PyArray_BYTES(places);
        conv_list_places(v, job.place);
        Py_BEGIN_ALLOW_THREADS
        result = pool_run_stoppable(filters_task, &job, v->groups * panels, pool_chunks(v->groups * panels, 0.3 * job.panel_numbers));
        if (!result) result = pool_run_stoppable(windows_task, &job, v->batches * v->groups * v->shares, chunks);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(left);
    Py_XDECREF(work);
    Py_XDECREF(places);
    return result < 0 ? -1 : 1;
}
