/* The gradient of a convolution in its filters: sums over windows of a number of the image times one of the gradient. */
#include "conv.h"

struct weights_job {
    struct conv v;
    const char *grad;
    char *out, *sums;   /* taps x filters, whole tiles of both; for each group, and each chunk where images are shared out */
    size taps, columns, sums_numbers, *place;
    int threes;         /* whether taps come in threes of neighbours */
    int few;            /* whether vectors run over windows, as there are few filters */
    int by_channels;    /* threads share out channels, or batches of images */
    int swapped;        /* whether images and gradients have changed places, so that sums lie as filters do */
    char *last;         /* swapped: sums of the taps that fill no tile, where the others are written to where they belong */
};

/* Whether a plane is taken as one line: less is computed in vain than when each row fills up vectors. */
static int is_one_line(const struct conv *v)
{
    const size lanes = tile_columns(v) / 2;
    return v->source.split == 1 && v->lattice->step[1] == v->source.padded[2] && v->source.padded[2] < CONV_PLACES &&
           v->source.padded[2] < tiles_of(v->lattice->count[2], lanes) * lanes;
}

static void weights_task(void *context, size begin, size end, int chunk)
{
    const struct weights_job *job = context;
    const struct conv *v = &job->v;
    const size width = v->width, batches = job->by_channels ? v->batches : 1;
    const int few = job->few;
    char *padded = v->work + chunk * v->work_bytes, *work = padded + conv_batch_bytes(v);
    size ready = -1, image;
    for (size item = begin; item < end; item++)
        for (size b = 0; b < batches && !pool_stopped(); b++) {
            const size part = job->by_channels ? item % v->shares : 0, group = job->by_channels ? item / v->shares : item % v->groups;
            const size batch = job->by_channels ? b : item / v->groups, first = batch * v->together;
            const size images = v->images - first < v->together ? v->images - first : v->together;
            const size high = job->threes ? 3 : kernels->gemm_rows, tiles = job->taps / high;
            const size from = tiles * part / v->shares * high, to = tiles * (part + 1) / v->shares * high;
            const char *source = conv_batch(v, padded, &ready, batch * v->groups + group, group, first, images, &image);
            char *sums = job->sums + (group + (job->by_channels ? 0 : chunk * v->groups)) * job->sums_numbers * width;
            const size whole = job->last ? v->lattice->depth / high * high - from : MOST; /* taps that fill tiles */
            const struct weights w = {
                .last = job->last, .whole = whole, .source = source, .grad = job->grad + (first * v->groups + group) * v->filters * v->results * width,
                .offset = v->index + from, .place = job->place, .images = images, .pixels = v->results, .filters = v->filters, .taps = (few && to > v->lattice->depth ? v->lattice->depth : to) - from,
                .grad_image = v->groups * v->filters * v->results, .sums_row = job->columns, .sums = sums + from * job->columns * width, .work = work,
                .lattice = v->lattice, .flat = is_one_line(v), .threes = job->threes, .image = image, .block = sum_block(v->images * v->results),
                .add = job->by_channels ? b > 0 : item >= begin + v->groups,
            };
            if (v->type == NPY_FLOAT) (few ? kernels->conv_dots_f32 : kernels->conv_weights_f32)(&w);
            else (few ? kernels->conv_dots_f64 : kernels->conv_weights_f64)(&w);
        }
}

void conv_list_places(const struct conv *v, size *place)
{
    const struct lattice *l = v->lattice;
    const size all = v->together * v->results, image = v->source.channels * v->source.plane;
    for (size k = 0, n = 0; n < v->together; n++)
        for (size z = 0; z < l->count[0]; z++)
            for (size y = 0; y < l->count[1]; y++)
                for (size x = 0; x < l->count[2]; x++) place[k++] = n * image + z * l->step[0] + y * l->step[1] + x * (v->source.split > 1 ? 1 : v->axis[2].stride);
    for (size k = all; k < all + SPARE; k++) place[k] = 0;
}

/* What was added up, to where it belongs: as many filters at a time as a vector has numbers. */
static void sums_task(void *context, size begin, size end, int chunk)
{
    const struct weights_job *job = context;
    const struct conv *v = &job->v;
    const struct lattice *l = v->lattice;
    const size lanes = tile_columns(v) / 2, parts = tiles_of(v->filters, lanes), taps = v->channels * v->kernel;
    (void)chunk;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size group = item / parts, f = item % parts * lanes, filters = v->filters - f < lanes ? v->filters - f : lanes;
        char *to = job->out + (group * v->filters + f) * taps * v->width;
        const char *from = job->sums + (group * job->sums_numbers + f) * v->width;
        if (l->depth < taps) memset(to, 0, filters * taps * v->width);
        if (v->type == NPY_FLOAT) kernels->conv_sums_f32((float *)to, taps, (const float *)from, job->columns, filters, l->tap, l->depth);
        else kernels->conv_sums_f64((double *)to, taps, (const double *)from, job->columns, filters, l->tap, l->depth);
    }
}

/* Whether filters fill vectors so badly that it takes less time to run over windows, by vectors for a window and a tap. Constants: measured. */
static int are_few(const struct conv *v)
{
    enum { MANY = 48 };
    const struct lattice *l = v->lattice;
    const double lanes = (double)tile_columns(v) / 2, filters = (double)v->filters;
    const size left = v->filters % tile_columns(v), whole = v->filters - left;
    const int threes = v->axis[2].kernel % 3 == 0 && v->axis[2].dilation == 1;
    const double tiles = (double)whole + (!left ? 0 : left > lanes ? 2 * lanes : threes ? (0.99 + 5 / (double)l->depth) * lanes : 1.5 * lanes);
    const double row = is_one_line(v) ? (double)l->step[1] : (double)tiles_of(l->count[2], (size)lanes) * lanes;
    const double taps = (double)l->depth, filled = tiles_of(l->depth, 3) * 3.0;
    const double dots = (filters < 3 ? 1.5 * filters : tiles_of(v->filters, 4) * 4.0) * row / (double)l->count[2] * filled / taps * 1.05;
    return filters < MANY && conv_pays(BY_DOTS, dots, tiles);
}

int conv_is_finite(const char *numbers, size count, int type)
{
    uint64_t found = 0;
    if (type == NPY_FLOAT)
        for (size k = 0; k < count; k++) found |= (((const uint32_t *)numbers)[k] & 0x7f800000u) == 0x7f800000u;
    else
        for (size k = 0; k < count; k++) found |= (((const uint64_t *)numbers)[k] & 0x7ff0000000000000u) == 0x7ff0000000000000u;
    return !found;
}

/* Whether all numbers are zeros: found out at once where they are not, as a rule. */
static int are_zeros(const char *numbers, size count, int type)
{
    enum { AT_ONCE = 64 };
    for (size k = 0; k < count; k += AT_ONCE) {
        const size last = k + AT_ONCE < count ? k + AT_ONCE : count;
        uint64_t found = 0;
        if (type == NPY_FLOAT)
            for (size i = k; i < last; i++) found |= ((const uint32_t *)numbers)[i] << 1;
        else
            for (size i = k; i < last; i++) found |= ((const uint64_t *)numbers)[i] << 1;
        if (found) return 0;
    }
    return 1;
}
int conv_vanishes(PyArrayObject *zeros, size count, PyArrayObject *others, size other_count, PyArrayObject *out)
{
    const int type = PyArray_TYPE(out);
    if (!are_zeros(PyArray_BYTES(zeros), count, type) || !conv_is_finite(PyArray_BYTES(others), other_count, type)) return 0;
    memset(PyArray_BYTES(out), 0, PyArray_NBYTES(out));
    return 1;
}

/* Whether taps come in threes of neighbours. */
static int are_threes(const struct lattice *l)
{
    const size *offset = l->offset;
    int threes = l->depth % 3 == 0;
    for (size t = 0; t + 2 < l->depth && threes; t += 3) threes = offset[t + 1] == offset[t] + 1 && offset[t + 2] == offset[t] + 2;
    return threes;
}

static int run_weights(struct weights_job *job, char *out)
{
    struct conv *v = &job->v;
    if (!job->few && v->source.split > 1) { /* tiles read single numbers, wherever they lie */
        conv_pad_images(v, 0);
        conv_lattice(v);
    }
    job->threes = !job->few && are_threes(v->lattice);
    const size high = job->threes ? 3 : kernels->gemm_rows, lanes = tile_columns(v) / 2, depth = v->lattice->depth, threads = pool_get_threads();
    job->taps = tiles_of(depth, high) * high, job->columns = tiles_of(v->filters, lanes) * lanes, job->sums_numbers = job->taps * job->columns;
    for (size t = depth; t < depth + SPARE; t++) v->index[t] = 0;
    int chunks = conv_share_out(v, v->results, threads);
    v->shares = 1;
    job->by_channels = chunks == 1 || v->groups > 1 || (double)job->sums_numbers * v->groups * v->width * threads > 2e6 || v->batches < threads;
    if (job->by_channels && chunks > 1 && v->groups < threads) v->shares = job->taps / high < threads ? job->taps / high : threads;
    const size items = job->by_channels ? v->groups * v->shares : v->batches * v->groups;
    if (chunks > items) chunks = (int)items;
    const size kept = depth <= CONV_KEPT ? (depth + SPARE) * 8 * lanes : 0; /* sums of few filters, a vector for each and a tap */
    const size line = 8 * (CONV_PLACES + lanes) + kept, windows = (CONV_WINDOWS + CONV_WINDOWS / 8) * (v->filters + 2 * lanes);
    v->work_bytes = (conv_batch_bytes(v) + (line > windows ? line : windows) * v->width + 127) / 64 * 64;
    const size numbers = job->sums_numbers * v->groups * (job->by_channels ? 1 : chunks);
    PyArrayObject *work = scratch(chunks * v->work_bytes, 1), *places = work ? scratch(v->together * v->results + SPARE, sizeof(size)) : NULL;
    int result = -1;
    const int direct = job->swapped && job->by_channels;
    PyArrayObject *sums = places ? scratch(direct ? high * job->columns : numbers, v->width) : NULL;
    if (sums) {
        job->last = direct ? aligned(sums) : NULL, job->sums = direct ? out : aligned(sums);
        v->work = aligned(work), job->place = (size *)aligned(places);
        if (!job->few) conv_list_places(v, job->place);
        v->behind = !job->few || v->lattice->count[2] % lanes == 0 || v->lattice->count[2] > CONV_PLACES ? 0 : tile_columns(v);
        Py_BEGIN_ALLOW_THREADS
        result = pool_run_stoppable(weights_task, job, items, chunks);
        if (!result) {
            for (int c = 1; c < chunks && !job->by_channels; c++) {
                char *more = job->sums + c * v->groups * job->sums_numbers * v->width;
                if (v->type == NPY_FLOAT) kernels->add_f32((float *)job->sums, (const float *)more, v->groups * job->sums_numbers);
                else kernels->add_f64((double *)job->sums, (const double *)more, v->groups * job->sums_numbers);
            }
            job->out = out;
            const size whole = depth / high * high, row = job->columns * v->width;
            if (direct) memcpy(out + whole * row, job->last, (depth - whole) * row);
            else if (job->swapped) memcpy(out, job->sums, depth * row);
            else result = pool_run_stoppable(sums_task, job, v->groups * tiles_of(v->filters, lanes), pool_chunks(v->groups * tiles_of(v->filters, lanes), 0.5 * lanes * depth));
        }
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(sums);
    Py_XDECREF(work);
    Py_XDECREF(places);
    return result;
}

/* Filters of one tap, no fewer than channels: gradients are read in place of images, and images, which have fewer numbers, are packed, so
 * that sums lie as filters do and are not turned. */
static int can_swap(const struct conv *v)
{
    const size wide = tile_columns(v);
    return are_narrow() && v->kernel == 1 && v->groups == 1 && v->channels <= v->filters && v->pixels == v->results && v->results >= wide && v->channels % wide == 0 && v->source.plane == v->pixels;
}
static int run_swapped(struct weights_job *given, char *out)
{
    struct weights_job job = *given;
    struct conv *v = &job.v;
    v->channels = given->v.filters, v->filters = given->v.channels, v->from = given->grad, job.grad = given->v.from;
    v->from_image = v->channels * v->pixels, v->spare = 0, job.swapped = 1;
    v->index = NULL, v->lattice = NULL;
    int result = -1;
    if (conv_has_memory(v, 2 * v->channels + SPARE, 1)) {
        conv_pad_images(v, 1);
        conv_lattice(v);
        result = run_weights(&job, out);
    }
    conv_release(v);
    return result;
}

PyObject *conv_weight(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    if (!is_real(args[0]) || !is_like(args[1], args[0])) NOT_HANDLED();
    PyArrayObject *given = (PyArrayObject *)args[0], *grad = (PyArrayObject *)args[1];
    const int n = PyArray_NDIM(given);
    npy_intp shape[5];
    struct weights_job job;
    memset(&job, 0, sizeof job);
    struct conv *v = &job.v;
    if (PyArray_NDIM(grad) != n || conv_read_shape(args[2], n, shape) < 0 || conv_describe(v, given, n, PyArray_DIMS(given), shape, args + 3) < 0 || !conv_fits(v, grad))
        NOT_HANDLED();
    if (pixels_fit(v, given)) return (PyObject *)pixels_weights(v, given, args[1], n, shape);
    if (whole_suits(v, given)) return (PyObject *)whole_product(args[1], 1, args[0], 0, Py_None, n, shape);
    PyArrayObject *image = conv_planes(args[0]), *x = image ? conv_pick(v, image) : NULL, *g = conv_planes(args[1]), *out = x && g ? new_like(g, n, shape) : NULL;
    if (out && conv_vanishes(g, PyArray_SIZE(g), x, v->images * v->groups * v->channels * v->pixels, out)) conv_forget();
    else if (out && conv_has_memory(v, 2 * v->channels * v->kernel + SPARE, 1)) {
        conv_forget();
        conv_pad_images(v, 1);
        conv_lattice(v);
        v->from = PyArray_BYTES(x), v->from_image = v->channels * v->pixels, job.grad = PyArray_BYTES(g);
        int done = conv_took(BY_DEPTHWISE, depthwise_weights(v, job.grad, PyArray_BYTES(out)));
        if (!done) done = conv_took(BY_COLUMNS, columns_weights(v, job.grad, PyArray_BYTES(out), COLUMNS_FIRST));
        if (!done) done = conv_took(BY_WINOGRAD, winograd_weights(v, job.grad, PyArray_BYTES(out)));
        if (!done) done = conv_took(BY_COLUMNS, columns_weights(v, job.grad, PyArray_BYTES(out), CONV_WINDOWS));
        job.few = are_few(v);
        int (*const run)(struct weights_job *, char *) = !job.few && can_swap(v) ? run_swapped : run_weights;
        if (!done) done = conv_took(job.few ? BY_DOTS : BY_TILES, run(&job, PyArray_BYTES(out)) < 0 ? -1 : 1);
        if (done > 0 && job.few && !conv_is_finite(PyArray_BYTES(out), PyArray_SIZE(out), v->type)) /* zeros between gradients met what is not finite */
            job.few = 0, done = run_weights(&job, PyArray_BYTES(out));
        if (done < 0) Py_CLEAR(out);
    } else Py_CLEAR(out);
    conv_release(v);
    Py_XDECREF(x);
    Py_XDECREF(g);
    return (PyObject *)out;
}
