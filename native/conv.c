/* Convolutions over one to three axes, and their gradients in the images (transposed convolutions); conv_weights.c has those in
 * the filters. All are products with windows that conv.inc.h puts together piece by piece; here is where windows and taps lie. */
#include "conv.h"

/* ---- shapes ---- */

static int read_tuple(PyObject *tuple, int axes, size least, struct axis *axis, size offset)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != axes) return -1;
    for (int k = 0; k < axes; k++)
        if (read_number(PyTuple_GET_ITEM(tuple, k), least, (size *)((char *)&axis[AXES - axes + k] + offset)) < 0) return -1;
    return 0;
}

int conv_describe(struct conv *v, PyArrayObject *model, int ndim, const npy_intp *image, const npy_intp *weight, PyObject *const *how)
{
    const int axes = ndim - 2;
    if (axes < 1 || axes > AXES) return -1;
    for (int k = 0; k < AXES; k++) v->axis[k] = (struct axis){1, 1, 1, 0, 1, 1};
    if (read_tuple(how[0], axes, 1, v->axis, offsetof(struct axis, stride)) < 0 || read_tuple(how[1], axes, 0, v->axis, offsetof(struct axis, pad)) < 0 ||
        read_tuple(how[2], axes, 1, v->axis, offsetof(struct axis, dilation)) < 0 || read_number(how[3], 1, &v->groups) < 0)
        return -1;
    for (int k = 0; k < ndim; k++)
        if (image[k] < 1 || image[k] > MOST || weight[k] < 1 || weight[k] > MOST) return -1;
    if (image[1] % v->groups || weight[0] % v->groups || image[1] / v->groups != weight[1]) return -1;
    v->images = image[0], v->channels = weight[1], v->filters = weight[0] / v->groups, v->kernel = v->pixels = v->results = 1;
    double padded = v->channels + 64.0, taps = v->channels + 64.0, results = v->filters + 64.0;
    for (int k = 0; k < AXES; k++) {
        struct axis *a = &v->axis[k];
        if (k >= AXES - axes) a->size = image[k - AXES + ndim], a->kernel = weight[k - AXES + ndim];
        const double room = (double)a->size + 2.0 * a->pad - (double)a->dilation * (a->kernel - 1) - 1;
        if (room < 0) return -1;
        a->count = (size)room / a->stride + 1;
        padded *= a->size + 2.0 * a->pad + a->stride, taps *= a->kernel, results *= a->count + 1.0;
        if (padded * v->groups * v->images > 1e15 || taps * v->filters * v->groups > 1e15 || results * v->groups * v->images > 1e15) return -1;
        v->kernel *= a->kernel, v->pixels *= a->size, v->results *= a->count;
    }
    v->type = PyArray_TYPE(model), v->width = PyArray_ITEMSIZE(model);
    return 0;
}

/* The numbers of a padded channel, whose axes are filled in. */
static void close_source(struct source *s, size split)
{
    s->split = split, s->padded[2] = tiles_of(s->padded[2], split) * split;
    s->plane = s->padded[0] * s->padded[1] * s->padded[2];
}
void conv_pad_images(struct conv *v, int split)
{
    v->source.channels = v->channels;
    for (int k = 0; k < AXES; k++) {
        const struct axis *a = &v->axis[k];
        v->source.size[k] = a->size, v->source.before[k] = a->pad, v->source.padded[k] = a->size + 2 * a->pad;
    }
    close_source(&v->source, split && v->axis[2].count > 1 ? v->axis[2].stride : 1);
}

static size offset_of(const struct source *s, size z, size y, size x)
{
    return (z * s->padded[1] + y) * s->padded[2] + x % s->split * (s->padded[2] / s->split) + x / s->split;
}

int conv_sees(const struct axis *a, size tap)
{
    for (size o = 0; o < a->count; o++) {
        const size at = o * a->stride + tap * a->dilation - a->pad;
        if (at >= 0 && at < a->size) return 1;
        if (at >= a->size) return 0;
    }
    return 0;
}

size conv_seen_along(const struct axis *a)
{
    size seen = 0;
    for (size tap = 0; tap < a->kernel; tap++) seen += conv_sees(a, tap);
    return seen;
}
size conv_seen(const struct conv *v)
{
    return conv_seen_along(&v->axis[0]) * conv_seen_along(&v->axis[1]) * conv_seen_along(&v->axis[2]);
}

#define FOR_EACH_TAP(v)                                              \
    for (size kz = 0; kz < (v)->axis[0].kernel; kz++)                \
        for (size ky = 0; ky < (v)->axis[1].kernel; ky++)            \
            for (size kx = 0; kx < (v)->axis[2].kernel; kx++)

void conv_lattice(struct conv *v)
{
    struct lattice *l = v->lattice;
    const struct source *s = &v->source;
    const struct axis *a = v->axis;
    size *offset = v->index, *tap = offset + v->channels * v->kernel + SPARE;
    v->lattices = 1, l->offset = offset, l->tap = tap;
    for (int k = 0; k < AXES; k++) l->count[k] = a[k].count;
    l->step[0] = a[0].stride * s->padded[1] * s->padded[2], l->step[1] = a[1].stride * s->padded[2];
    l->to_step[0] = a[1].count * a[2].count, l->to_step[1] = a[2].count, l->to_step[2] = 1;
    for (size c = 0; c < v->channels; c++)
        FOR_EACH_TAP(v) {
            if (!conv_sees(&a[0], kz) || !conv_sees(&a[1], ky) || !conv_sees(&a[2], kx)) continue;
            *offset++ = c * s->plane + offset_of(s, kz * a[0].dilation, ky * a[1].dilation, kx * a[2].dilation);
            *tap++ = c * v->kernel + (kz * a[1].kernel + ky) * a[2].kernel + kx;
        }
    l->depth = offset - l->offset;
}

/* Filters of one tap see only some places of an image, in steps: these are taken out, a plane at a time. */
struct picks {
    const struct conv *v;
    const char *from;
    char *to;
};
static void picks_task(void *context, size begin, size end, int chunk)
{
    const struct picks *p = context;
    const struct conv *v = p->v;
    const struct axis *a = v->axis;
    const size n = a[1].count * a[2].count, width = v->width, row = a[1].stride * a[2].size;
    const char *last = p->from + v->images * v->groups * v->channels * v->pixels * width;
    (void)chunk;
    for (size item = begin; item < end && (item % BETWEEN || !pool_stopped()); item++) {
        const char *from = p->from + (item / a[0].count * v->pixels + item % a[0].count * a[0].stride * a[1].size * a[2].size) * width;
        char *to = p->to + item * n * width;
        if (v->type == NPY_FLOAT)
            kernels->conv_pick_f32((float *)to, (const float *)from, (const float *)last, row, a[1].count, a[2].stride, a[2].count);
        else kernels->conv_pick_f64((double *)to, (const double *)from, (const double *)last, row, a[1].count, a[2].stride, a[2].count);
    }
}
/* Whether filters have one tap, which sees nothing but the image. */
static int is_bare(const struct conv *v)
{
    return v->kernel == 1 && !v->axis[0].pad && !v->axis[1].pad && !v->axis[2].pad;
}
void conv_straighten(struct conv *v)
{
    if (!is_bare(v) || v->results != v->pixels) return;
    for (int k = 0; k < AXES; k++) v->axis[k] = (struct axis){1, 1, 1, 0, 1, 1};
    v->axis[AXES - 1].size = v->axis[AXES - 1].count = v->pixels;
}
PyArrayObject *conv_pick(struct conv *v, PyArrayObject *x)
{
    if (!is_bare(v) || v->results == v->pixels) {
        conv_straighten(v);
        return x;
    }
    const size items = v->images * v->groups * v->channels * v->axis[0].count;
    v->spare = BEHIND * tile_columns(v);
    PyArrayObject *found = scratch(v->images * v->groups * v->channels * v->results + v->spare, v->width);
    if (found) {
        struct picks p = {v, PyArray_BYTES(x), PyArray_BYTES(found)};
        Py_BEGIN_ALLOW_THREADS
        if (pool_run_stoppable(picks_task, &p, items, pool_chunks(items, 0.5 * v->axis[1].count * v->axis[2].count)) < 0) p.v = NULL;
        Py_END_ALLOW_THREADS
        if (!p.v) Py_CLEAR(found);
        v->pixels = v->results;
        conv_straighten(v);
    }
    Py_DECREF(x);
    return found;
}

/* The gradient in the images is a convolution of the gradient of the results for every remainder of a place by the strides.
 * Along an axis the place x (with its padding) is reached from window o by tap k where x = o stride + k dilation: of the
 * places with remainder r by the taps whose place in the window has it too, from windows (x - r) / stride - reach, where
 * reach = (k dilation - r) / stride. */
struct class {
    size first, count, window; /* the first place, how many there are, (x - r) / stride of the first */
};
static struct class class_of(const struct axis *a, size remainder)
{
    const size first = (remainder - a->pad % a->stride + a->stride) % a->stride; /* first + pad has the remainder */
    const size count = first < a->size ? (a->size - first - 1) / a->stride + 1 : 0;
    return (struct class){first, count, (first + a->pad - remainder) / a->stride};
}

static void pad_gradients(struct conv *v)
{
    v->source.channels = v->filters;
    for (int k = 0; k < AXES; k++) {
        const struct axis *a = &v->axis[k];
        size before = 0, last = a->count - 1;
        for (size r = 0; r < a->stride; r++) {
            const struct class c = class_of(a, r);
            for (size tap = 0; tap < a->kernel && c.count; tap++) {
                if (tap * a->dilation % a->stride != r) continue;
                const size reach = (tap * a->dilation - r) / a->stride;
                if (reach - c.window > before) before = reach - c.window;
                if (c.window + c.count - 1 - reach > last) last = c.window + c.count - 1 - reach;
            }
        }
        v->source.size[k] = a->count, v->source.before[k] = before, v->source.padded[k] = before + last + 1;
    }
    close_source(&v->source, 1);
}

/* Whether places of an axis with a remainder are reached by a tap, from windows that there are. */
static int meets(const struct axis *a, size remainder, size tap)
{
    if (tap * a->dilation % a->stride != remainder) return 0;
    const struct class c = class_of(a, remainder);
    const size first = c.window - (tap * a->dilation - remainder) / a->stride;
    return first < a->count && first + c.count > 0;
}

/* A lattice for every combination of remainders that images have places of. */
static void backward_lattices(struct conv *v)
{
    const struct source *s = &v->source;
    const struct axis *a = v->axis;
    const size image[] = {a[1].size * a[2].size, a[2].size, 1}, around[] = {s->padded[1] * s->padded[2], s->padded[2], 1};
    size *index = v->index;
    v->lattices = 0;
    for (size rz = 0; rz < a[0].stride; rz++)
        for (size ry = 0; ry < a[1].stride; ry++)
            for (size rx = 0; rx < a[2].stride; rx++) {
                struct lattice *l = &v->lattice[v->lattices];
                const size r[] = {rz, ry, rx};
                l->from = l->to = 0, l->depth = 0;
                size windows = 1;
                for (int k = 0; k < AXES; k++) {
                    const struct class c = class_of(&a[k], r[k]);
                    l->count[k] = c.count, windows *= c.count;
                    l->from += (c.window + s->before[k]) * around[k], l->to += c.first * image[k], l->to_step[k] = a[k].stride * image[k];
                    if (k < 2) l->step[k] = around[k];
                }
                if (!windows) continue;
                size taps = 0, *offset = index;
                FOR_EACH_TAP(v) taps += meets(&a[0], rz, kz) && meets(&a[1], ry, ky) && meets(&a[2], rx, kx);
                size *tap = offset + taps * v->filters;
                if (!taps) continue; /* zeros, which are there */
                l->offset = index, l->depth = taps * v->filters, l->tap = tap;
                FOR_EACH_TAP(v) {
                    if (!meets(&a[0], rz, kz) || !meets(&a[1], ry, ky) || !meets(&a[2], rx, kx)) continue;
                    const size place[] = {kz, ky, kx};
                    *offset = 0;
                    for (int k = 0; k < AXES; k++) *offset -= (place[k] * a[k].dilation - r[k]) / a[k].stride * around[k];
                    offset++, *tap++ = (kz * a[1].kernel + ky) * a[2].kernel + kx;
                }
                for (size k = taps; k < l->depth; k++) *offset = offset[-taps] + s->plane, offset++, *tap = tap[-taps] + v->channels * v->kernel, tap++;
                index = tap;
                v->lattices++;
            }
}

/* ---- products with windows ---- */

static void pad(const struct conv *v, char *to, size image, size group)
{
    const char *from = v->from + (image * v->groups + group) * v->from_image * v->width;
    if (v->type == NPY_FLOAT) kernels->conv_pad_f32((float *)to, (const float *)from, &v->source);
    else kernels->conv_pad_f64((double *)to, (const double *)from, &v->source);
}

void conv_pad_batch(const struct conv *v, char *to, size group, size first, size images)
{
    const size bytes = v->source.channels * v->source.plane * v->width;
    for (size n = 0; n < images; n++) pad(v, to + n * bytes, first + n, group);
}
/* Behind them is what a last vector may read. */
size conv_batch_bytes(const struct conv *v)
{
    return (v->together * v->source.channels * v->source.plane * v->width + BEHIND * kernels->gemm_columns_bytes + 63) / 64 * 64;
}

const char *conv_batch(const struct conv *v, char *padded, size *ready, size batch, size group, size first, size images, size *image)
{
    const size begin = (first * v->groups + group) * v->from_image, end = begin + ((images - 1) * v->groups + 1) * v->from_image;
    const char *from = v->from + begin * v->width;
    int bare = v->source.split == 1 && (v->groups == 1 || images == 1);
    for (int k = 0; k < AXES; k++) bare &= v->source.padded[k] == v->source.size[k];
    *image = v->source.channels * v->source.plane;
    if (bare && end + v->behind <= v->images * v->groups * v->from_image + v->spare) return from;
    if (!bare && *ready < 0) memset(padded, 0, conv_batch_bytes(v));
    if (bare && *ready != batch) memcpy(padded, from, images * *image * v->width); /* what is read behind them is not used */
    else if (*ready != batch) conv_pad_batch(v, padded, group, first, images);
    *ready = batch;
    return padded;
}

/* The filters of each lattice and group in panels, some tiles at a time. */
static void filters_task(void *context, size begin, size end, int chunk)
{
    const struct conv *v = context;
    const size tiles = tiles_of(v->rows, kernels->gemm_rows), parts = tiles_of(tiles, TILES_AT_ONCE);
    (void)chunk;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size tile = item % parts * TILES_AT_ONCE, last = tile + TILES_AT_ONCE < tiles ? tile + TILES_AT_ONCE : tiles;
        const size group = item / parts % v->groups;
        const struct lattice *l = &v->lattice[item / parts / v->groups];
        char *to = (char *)l->left + group * l->left_group * v->width;
        const char *weight = v->weight + group * v->bundle * v->width, *bias = v->bias ? v->bias + group * v->rows * v->width : NULL;
        const size taps = l->depth - !!bias;
        if (v->type == NPY_FLOAT)
            kernels->conv_filters_f32((float *)to, (const float *)weight, v->filter_step, l->tap, taps, (const float *)bias, v->rows, tile, last);
        else
            kernels->conv_filters_f64((double *)to, (const double *)weight, v->filter_step, l->tap, taps, (const double *)bias, v->rows, tile, last);
    }
}

void conv_map(const struct conv *v, size image, size first, size count)
{
    if (!v->map) return;
    for (size f = first; f < first + count; f++) channel_map(v->map, v->out + (image * v->out_image + f * v->out_filter) * v->width, f, v->results);
}
static void map_task(void *context, size begin, size end, int chunk)
{
    const struct conv *v = context;
    const size filters = v->groups * v->filters;
    (void)chunk;
    for (size item = begin; item < end && !pool_stopped(); item++) conv_map(v, item / filters, item % filters, 1);
}
/* The map of all results: 0 if that is done, or there is none; -1 with an error. */
static int map_all(struct conv *v)
{
    if (!v->map) return 0;
    const size items = v->images * v->groups * v->filters;
    int result;
    Py_BEGIN_ALLOW_THREADS
    result = pool_run_stoppable(map_task, v, items, pool_chunks(items, (v->map->then >= SILU ? 0.5 : 0.15) * v->results));
    Py_END_ALLOW_THREADS
    return result;
}

static void windows_task(void *context, size begin, size end, int chunk)
{
    const struct conv *v = context;
    void (*const thin)(const struct windows *) = v->type == NPY_FLOAT ? kernels->conv_thin_f32 : kernels->conv_thin_f64;
    void (*const in_place)(const struct windows *) = v->type == NPY_FLOAT ? kernels->conv_in_place_f32 : kernels->conv_in_place_f64;
    void (*const packed)(const struct windows *) = v->type == NPY_FLOAT ? kernels->conv_windows_f32 : kernels->conv_windows_f64;
    void (*const kernel)(const struct windows *) = !v->in_place ? packed : v->rows < THIN ? thin : in_place;
    char *padded = v->work + chunk * v->work_bytes, *work = padded + conv_batch_bytes(v);
    const size tiles = tiles_of(v->rows, kernels->gemm_rows);
    size ready = -1, image;
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const size share = item % v->shares, batch = item / v->shares, group = batch % v->groups, first = batch / v->groups * v->together;
        const size images = v->images - first < v->together ? v->images - first : v->together;
        const char *source = conv_batch(v, padded, &ready, batch, group, first, images, &image);
        const size from = tiles * share / v->shares * kernels->gemm_rows, to = tiles * (share + 1) / v->shares * kernels->gemm_rows;
        for (int k = 0; k < v->lattices; k++) {
            const struct lattice *l = &v->lattice[k];
            const struct windows w = {
                .lattice = l, .source = source, .image = image, .images = images,
                .left = (const char *)l->left + group * l->left_group * v->width, .bias = !!v->bias, .flat = conv_is_flat(v, l), .lines = conv_is_by_lines(v, l),
                .weight = v->fresh ? v->weight + group * v->bundle * v->width : NULL, .filter_step = v->filter_step, .filters = v->rows,
                .filter_bias = v->bias ? v->bias + group * v->rows * v->width : NULL, .packed = work + v->sums_bytes,
                .first = from, .last = to < v->rows ? to : v->rows, .work = work,
                .out = v->out + (first * v->out_image + group * v->rows * v->out_filter) * v->width,
                .out_image = v->out_image, .out_filter = v->out_filter,
            };
            kernel(&w);
        }
        for (size n = 0; n < images; n++) conv_map(v, first + n, group * v->rows + from, (to < v->rows ? to : v->rows) - from);
    }
}

int conv_share_out(struct conv *v, size windows, size parts)
{
    const size threads = pool_get_threads();
    v->together = windows >= GROUP_OF_WINDOWS ? 1 : tiles_of(GROUP_OF_WINDOWS, windows);
    if (v->together > v->images) v->together = v->images;
    v->batches = tiles_of(v->images, v->together), v->shares = 1;
    v->together = tiles_of(v->images, v->batches); /* as many in each */
    const double product = v->filters < THIN || v->channels < THIN ? 0.05 : 0.01; /* nanoseconds */
    const double cost = (double)v->images * v->groups * v->filters * v->results * v->channels * v->kernel * product * (v->type == NPY_FLOAT ? 1 : 2);
    if (pool_chunks(threads, cost / threads) == 1) return 1;
    if (v->batches * v->groups < 2 * threads) v->shares = parts < threads ? parts : threads;
    const size items = v->batches * v->groups * v->shares;
    return (int)(items < threads ? items : conv_batch_bytes(v) < 1 << 19 && items >= 4 * threads ? 4 * threads : threads);
}

/* How many numbers behind the images vectors may reach: none where they fill rows. */
static size behind(const struct conv *v)
{
    const size wide = tile_columns(v), left = v->lattice->count[2] % (BEHIND * wide);
    const int fill = left % wide == 0 && left != 3 * wide && v->lattices == 1 && !conv_is_flat(v, v->lattice);
    return fill ? 0 : BEHIND * wide;
}

/* Everything but the shapes of a product is known: do it. */
static int run_windows(struct conv *v)
{
    const struct lattice *first = v->lattice;
    const size one = first->count[0] * first->count[1] * first->count[2], windows = one * v->lattices;
    const size high = kernels->gemm_rows, tiles = tiles_of(v->rows, high);
    const int chunks = conv_share_out(v, one, tiles), bias = !!v->bias;
    const int whole = v->lattices == 1 && first->depth == v->filter_step && first->tap[first->depth - 1] == first->depth - 1;
    v->in_place = conv_pays(BY_IN_PLACE, conv_cost_of(v, 1), conv_cost_of(v, 0)), v->behind = behind(v);
    conv_took(v->in_place ? BY_IN_PLACE : BY_PACKED, 1);
    const int direct = !v->in_place && whole && !bias && v->images * windows <= FEW_PANELS * tile_columns(v); /* too few for packing to pay */
    size numbers = 0;
    for (int k = 0; k < v->lattices; k++) v->lattice[k].depth += bias, numbers += tiles * high * v->lattice[k].depth;
    v->fresh = !direct && !v->in_place && v->batches == 1 && v->images * windows <= CONV_FRESH * v->lattices * tile_columns(v) && numbers * v->width > FRESH_BYTES;
    const size all = tiles * high * (v->fresh ? CONV_FRESH : 1), some = CONV_SUMS / tile_columns(v), wide = all > some ? all : some;
    v->sums_bytes = (v->width * (CONV_WHOLE + 1 + wide) * tile_columns(v) + 63) / 64 * 64;
    v->work_bytes = (conv_batch_bytes(v) + v->sums_bytes + (v->fresh ? (CONV_WHOLE + 1) * tiles * high * v->width : 0) + 63) / 64 * 64;
    const int before = !direct && !v->fresh; /* whether all filters are packed before */
    PyArrayObject *left = scratch(before ? numbers * v->groups : 0, v->width), *work = left ? scratch(chunks * v->work_bytes, 1) : NULL;
    int result = -1;
    if (work) {
        v->work = aligned(work);
        char *at = aligned(left);
        for (int k = 0; k < v->lattices; k++) {
            struct lattice *l = &v->lattice[k];
            l->left = direct ? v->weight : at, l->left_row = direct ? v->filter_step : 0;
            l->left_group = direct ? v->bundle : tiles * high * l->depth;
            at += before ? v->groups * l->left_group * v->width : 0;
        }
        const size panels = !before ? 0 : v->lattices * v->groups * tiles_of(tiles, TILES_AT_ONCE);
        Py_BEGIN_ALLOW_THREADS
        result = pool_run_stoppable(filters_task, v, panels, panels ? pool_chunks(panels, 1.0 * numbers * v->groups / panels) : 1);
        if (!result) result = pool_run_stoppable(windows_task, v, v->batches * v->groups * v->shares, chunks);
        Py_END_ALLOW_THREADS
    }
    Py_XDECREF(left);
    Py_XDECREF(work);
    return result;
}

int conv_has_memory(struct conv *v, size numbers, size lattices)
{
    v->index = malloc(numbers * sizeof *v->index), v->lattice = calloc(lattices, sizeof *v->lattice);
    if (v->index && v->lattice) return 1;
    PyErr_NoMemory();
    return 0;
}
void conv_release(struct conv *v)
{
    free(v->index);
    free(v->lattice);
}

/* The results for images whose channels lie innermost without turning them to planes, where that is best: 1 if that is done, else 0, or
 * -1 with an error. */
static int conv_of_pixels(const struct conv *given, PyArrayObject *image, PyObject *filters, PyObject *added, const npy_intp *shape, PyArrayObject **out)
{
    if (given->groups > 1 || !conv_by_pixels(image)) return 0;
    struct conv v = *given;
    v.rows = v.filters;
    PyArrayObject *weight = NULL, *bias = NULL;
    int done = conv_has_memory(&v, 2 * v.channels * v.kernel + SPARE, 1) ? 0 : -1;
    if (!done) {
        conv_forget();
        conv_pad_images(&v, 1);
        conv_lattice(&v);
        done = !winograd_suits(&v) && broad_suits_pixels(&v);
    }
    if (done > 0) {
        weight = conv_planes(filters), bias = added == Py_None ? NULL : contiguous(added);
        *out = weight && (bias || added == Py_None) ? new_innermost(v.type, PyArray_NDIM(image), shape) : NULL;
        if (*out) {
            v.from = PyArray_BYTES(image), v.weight = PyArray_BYTES(weight), v.bias = bias ? PyArray_BYTES(bias) : NULL, v.out = PyArray_BYTES(*out);
            v.filter_step = v.channels * v.kernel, v.bundle = v.filters * v.filter_step;
            v.from_image = v.channels * v.pixels, v.out_image = v.filters * v.results;
        }
        done = *out ? conv_took(BY_BROAD, broad_pixels(&v)) : -1;
        if (done < 0) Py_CLEAR(*out);
    }
    conv_release(&v);
    Py_XDECREF(weight);
    Py_XDECREF(bias);
    return done;
}

/* Read scale, shift and the name of a function: 0 on success. */
static int read_map(struct channel_map *map, const struct conv *v, PyObject *const *args)
{
    const int then = then_of(args[2]);
    if (then < 0 || v->results < SHORTEST) return -1;
    map->type = v->type, map->then = then;
    if (args[0] == Py_None && args[1] == Py_None) return 0;
    for (int k = 0; k < 2; k++)
        if (!is_real(args[k]) || PyArray_TYPE((PyArrayObject *)args[k]) != v->type || PyArray_SIZE((PyArrayObject *)args[k]) != v->groups * v->filters ||
            !PyArray_IS_C_CONTIGUOUS((PyArrayObject *)args[k]))
            return -1;
    map->scale = PyArray_DATA((PyArrayObject *)args[0]), map->shift = PyArray_DATA((PyArrayObject *)args[1]);
    return 0;
}

/* conv(x, weight, bias | None, stride, padding, dilation, groups[, scale | None, shift | None, then]): with the latter its results go through
 * a map of each channel and the function `then` */
static PyObject *conv(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 7 && count != 10) return PyErr_Format(PyExc_TypeError, "expected 7 or 10 arguments");
    if (!is_real(args[0]) || !is_like(args[1], args[0]) || (args[2] != Py_None && !is_like(args[2], args[0]))) NOT_HANDLED();
    PyArrayObject *given = (PyArrayObject *)args[0], *filters = (PyArrayObject *)args[1], *found = NULL;
    const int n = PyArray_NDIM(given), mapped = count == 10;
    struct conv v = {0};
    struct channel_map map = {0};
    if (PyArray_NDIM(filters) != n || conv_describe(&v, given, n, PyArray_DIMS(given), PyArray_DIMS(filters), args + 3) < 0) NOT_HANDLED();
    if (mapped && (conv_by_pixels(given) || read_map(&map, &v, args + 7) < 0)) NOT_HANDLED();
    npy_intp shape[5] = {v.images, v.groups * v.filters};
    for (int k = 2; k < n; k++) shape[k] = v.axis[AXES - n + k].count;
    if (!mapped && pixels_fit(&v, given)) return (PyObject *)pixels_run(&v, given, args[1], args[2], shape, 0);
    if (whole_suits(&v, given) && !mapped) return (PyObject *)whole_product(args[0], 0, args[1], 1, args[2], n, shape);
    if (!mapped && conv_of_pixels(&v, given, args[1], args[2], shape, &found)) return (PyObject *)found;
    PyArrayObject *image = conv_planes(args[0]), *x = image ? conv_pick(&v, image) : NULL, *weight = conv_planes(args[1]), *bias = args[2] == Py_None ? NULL : contiguous(args[2]);
    PyArrayObject *out = x && weight && (bias || args[2] == Py_None) ? new_like(given, n, shape) : NULL;
    if (out && conv_has_memory(&v, 2 * v.channels * v.kernel + SPARE, 1)) {
        conv_forget();
        conv_pad_images(&v, 1);
        conv_lattice(&v);
        v.from = PyArray_BYTES(x), v.weight = PyArray_BYTES(weight), v.bias = bias ? PyArray_BYTES(bias) : NULL, v.out = PyArray_BYTES(out);
        v.rows = v.filters, v.filter_step = v.channels * v.kernel, v.bundle = v.filters * v.filter_step;
        v.from_image = v.channels * v.pixels, v.out_filter = v.results, v.out_image = v.groups * v.filters * v.results;
        v.map = mapped ? &map : NULL;
        int done = !bias && conv_vanishes(x, v.images * v.groups * v.channels * v.pixels, weight, PyArray_SIZE(weight), out), whole = done;
        if (!done) done = conv_took(BY_DEPTHWISE, depthwise_run(&v, 0));
        if (!done) whole = done = conv_took(BY_WINOGRAD, winograd_run(&v, 0));
        if (!done) done = conv_took(BY_BROAD, broad_run(&v));
        if (done < 0 || (!done && run_windows(&v) < 0) || (whole && map_all(&v) < 0)) Py_CLEAR(out);
    } else Py_CLEAR(out);
    conv_release(&v);
    Py_XDECREF(x);
    Py_XDECREF(weight);
    Py_XDECREF(bias);
    return (PyObject *)(conv_by_pixels(given) ? conv_pixels(out) : out);
}

int conv_read_shape(PyObject *tuple, int n, npy_intp *shape)
{
    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != n || n > 5) return -1;
    for (int k = 0; k < n; k++)
        if (read_number(PyTuple_GET_ITEM(tuple, k), 1, &shape[k]) < 0) return -1;
    return 0;
}
int conv_fits(const struct conv *v, PyArrayObject *g)
{
    const int n = PyArray_NDIM(g);
    int same = PyArray_DIM(g, 0) == v->images && PyArray_DIM(g, 1) == v->groups * v->filters;
    for (int k = 2; k < n; k++) same &= PyArray_DIM(g, k) == v->axis[AXES - n + k].count;
    return same;
}

/* Whether there are places of images that no window reaches. */
static int is_partly_empty(const struct conv *v)
{
    size reached = 0;
    for (int k = 0; k < v->lattices; k++) reached += v->lattice[k].count[0] * v->lattice[k].count[1] * v->lattice[k].count[2];
    return reached < v->pixels;
}

/* conv_input(g, weight, image shape, stride, padding, dilation, groups) */
static PyObject *conv_input(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    if (!is_real(args[0]) || !is_like(args[1], args[0])) NOT_HANDLED();
    PyArrayObject *given = (PyArrayObject *)args[0], *filters = (PyArrayObject *)args[1];
    const int n = PyArray_NDIM(given);
    npy_intp shape[5];
    struct conv v = {0};
    if (PyArray_NDIM(filters) != n || conv_read_shape(args[2], n, shape) < 0 || conv_describe(&v, given, n, shape, PyArray_DIMS(filters), args + 3) < 0 || !conv_fits(&v, given))
        NOT_HANDLED();
    if (pixels_fit(&v, given)) return (PyObject *)pixels_run(&v, given, args[1], NULL, shape, 1);
    if (whole_suits(&v, given)) return (PyObject *)whole_product(args[0], 0, args[1], 0, Py_None, n, shape);
    double remainders = 1;
    for (int k = 0; k < AXES; k++) remainders *= v.axis[k].stride;
    if (remainders > 1000) NOT_HANDLED();
    PyArrayObject *g = conv_planes(args[0]), *weight = conv_planes(args[1]), *out = g && weight ? new_like(g, n, shape) : NULL;
    if (out && conv_vanishes(g, PyArray_SIZE(g), weight, PyArray_SIZE(weight), out)) conv_forget();
    else if (out && conv_has_memory(&v, 2 * v.filters * v.kernel, (size)remainders)) {
        conv_forget();
        conv_straighten(&v);
        pad_gradients(&v);
        backward_lattices(&v);
        v.from = PyArray_BYTES(g), v.weight = PyArray_BYTES(weight), v.out = PyArray_BYTES(out);
        v.rows = v.channels, v.filter_step = v.kernel, v.bundle = v.filters * v.channels * v.kernel;
        v.from_image = v.filters * v.results, v.out_filter = v.pixels, v.out_image = v.groups * v.channels * v.pixels;
        int done = conv_took(BY_DEPTHWISE, depthwise_run(&v, 1));
        if (!done) done = conv_took(BY_WINOGRAD, winograd_run(&v, 1));
        if (!done) done = conv_took(BY_COLUMNS, columns_run(&v));
        if (!done) done = conv_took(BY_FOLDED, folded_run(&v));
        if (!done && is_partly_empty(&v)) memset(v.out, 0, PyArray_NBYTES(out));
        if (done < 0 || (!done && v.lattices && run_windows(&v) < 0)) Py_CLEAR(out);
    } else Py_CLEAR(out);
    conv_release(&v);
    Py_XDECREF(g);
    Py_XDECREF(weight);
    return (PyObject *)(conv_by_pixels(given) ? conv_pixels(out) : out);
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef conv_methods[] = {METHOD(conv), METHOD(conv_input), METHOD(conv_weight), METHOD(conv_chosen), METHOD(conv_only), {NULL, NULL, 0, NULL}};
