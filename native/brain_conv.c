/* Convolutions of bfloat16 by pairs, and their gradients: windows are packed into panels, sums are in float32 and rounded once. */
#include "brain.h"

#ifdef WENGERT_PAIRS
enum { BLOCKS_AT_ONCE = 16, FEW_CHANNELS = 3 };

/* Some numbers of a line of an image, and their places among the 32 of a block of pixels. */
struct piece {
    size from;
    uint32_t count, places; /* masks */
};

struct brain_conv {
    size images, groups, channels, filters; /* the last two: of a group */
    size in[2], out[2], kernel[2], stride[2], pad[2], dilation[2];
    size taps, pairs, pixels, blocks;
    int copied;                 /* whether images are copied, with their padding and by phases of the step */
    size width, line, plane;    /* of what is read: of a phase of a line, of a line, of a channel */
    size *offset, *starts;      /* of each tap; of each block's pieces */
    struct piece *pieces;
    const uint16_t *x, *weight, *grad;
    size weight_row, grad_row;  /* with a zero where there would be half a pair */
    uint16_t *result;
    const float *bias;
    char *room;
    size room_bytes; /* of each chunk */
};

static size image_numbers(const struct brain_conv *v) { return v->copied ? (v->channels * v->plane + 31) / 32 * 32 : 0; }

/* An image's channels of a group where they can be read: as they are, or copied to `room`. */
static const uint16_t *readable(const struct brain_conv *v, uint16_t *room, size item)
{
    const uint16_t *x = v->x + item * v->channels * v->in[0] * v->in[1];
    if (!v->copied) return x;
    const size step = v->stride[1], rows = v->plane / v->line;
    memset(room, 0, v->channels * v->plane * sizeof *room);
    for (size c = 0; c < v->channels; c++)
        for (size r = 0; r < rows; r++) {
            const size y = r - v->pad[0];
            if (y < 0 || y >= v->in[0]) continue;
            const uint16_t *from = x + (c * v->in[0] + y) * v->in[1];
            uint16_t *to = room + c * v->plane + r * v->line;
            for (size phase = 0; phase < step; phase++, to += v->width) {
                /* number k of a phase is at k * step + phase - pad */
                const size least = v->pad[1] - phase, first = least > 0 ? (least + step - 1) / step : 0;
                size last = (v->in[1] + v->pad[1] - phase + step - 1) / step;
                if (last > v->width) last = v->width;
                if (last <= first) continue;
                if (step == 1) memcpy(to + first, from + first - v->pad[1], (last - first) * sizeof *to);
                else
                    for (size k = first; k < last; k++) to[k] = from[k * step + phase - v->pad[1]];
            }
        }
    return room;
}

PAIRS static inline __m512i gathered(const uint16_t *at, const struct piece *piece, const struct piece *end)
{
    __m512i all = _mm512_maskz_loadu_epi16(piece->count, at + piece->from);
    for (piece++; piece < end; piece++)
        all = _mm512_mask_expand_epi16(all, piece->places, _mm512_maskz_loadu_epi16(piece->count, at + piece->from));
    return all;
}

/* Pixels of a block as columns, pairs of taps as rows. */
PAIRS static void pack_pixels(const struct brain_conv *v, uint32_t *to, const uint16_t *image, size block)
{
    const struct piece *piece = v->pieces + v->starts[block], *end = v->pieces + v->starts[block + 1];
    uint16_t order[32];
    for (int c = 0; c < 16; c++) order[2 * c] = c, order[2 * c + 1] = 32 + c;
    const __m512i left = _mm512_loadu_si512(order), right = _mm512_add_epi16(left, _mm512_set1_epi16(16));
    for (size p = 0; p < v->pairs; p++, to += COLUMNS_OF_PANEL) {
        const __m512i low = gathered(image + v->offset[2 * p], piece, end);
        const __m512i high = 2 * p + 1 < v->taps ? gathered(image + v->offset[2 * p + 1], piece, end) : _mm512_setzero_si512();
        _mm512_storeu_si512(to, _mm512_permutex2var_epi16(low, left, high));
        _mm512_storeu_si512(to + 16, _mm512_permutex2var_epi16(low, right, high));
    }
}

/* Taps from the first on as columns, pairs of a block's pixels as rows. */
PAIRS static void pack_taps(const struct brain_conv *v, uint32_t *to, const uint16_t *image, size first, size block, size pairs)
{
    const struct piece *piece = v->pieces + v->starts[block], *end = v->pieces + v->starts[block + 1];
    __m512i lines[FLIPPED];
    for (int half = 0; half < COLUMNS_OF_PANEL; half += FLIPPED) {
        for (int k = 0; k < FLIPPED; k++)
            lines[k] = first + half + k < v->taps ? gathered(image + v->offset[first + half + k], piece, end) : _mm512_setzero_si512();
        flip_lines(to + half, COLUMNS_OF_PANEL, lines, pairs);
    }
}

/* An item: the channels of a group of an image. */
static void forward_task(void *context, size begin, size end, int chunk)
{
    const struct brain_conv *v = context;
    uint32_t *panel = (uint32_t *)(v->room + chunk * v->room_bytes);
    uint16_t *copy = (uint16_t *)(panel + v->pairs * COLUMNS_OF_PANEL);
    for (size item = begin; item < end && !pool_stopped(); item++) {
        const uint16_t *image = readable(v, copy, item);
        const size filter = item % v->groups * v->filters;
        uint16_t *out = v->result + item * v->filters * v->pixels;
        for (size block = 0; block < v->blocks; block++) {
            const size first = block * COLUMNS_OF_PANEL;
            const struct brain_tile tile = {.panel = panel, .pairs = v->pairs, .row = v->weight_row, .step = 2, .out_row = v->pixels,
                                            .columns = v->pixels - first, .by_row = v->bias ? v->bias + filter : NULL};
            pack_pixels(v, panel, image, block);
            tile_rows(&tile, v->weight + filter * v->weight_row, out + first, 0, v->filters);
        }
    }
}

/* Images are copied for all of the items below. */
static void copy_task(void *context, size begin, size end, int chunk)
{
    const struct brain_conv *v = context;
    (void)chunk;
    for (size item = begin; item < end; item++) readable(v, (uint16_t *)v->room + item * image_numbers(v), item);
}

/* An item: 32 taps of a group, whose gradients are added up over all pixels of all images. */
static void weight_task(void *context, size begin, size end, int chunk)
{
    const struct brain_conv *v = context;
    const uint16_t *copies = (uint16_t *)v->room;
    char *own = v->room + image_numbers(v) * sizeof(uint16_t) * v->images * v->groups + chunk * v->room_bytes;
    float *sum = (float *)own;
    uint32_t *panel = (uint32_t *)(sum + v->filters * COLUMNS_OF_PANEL);
    const size parts = (v->taps + COLUMNS_OF_PANEL - 1) / COLUMNS_OF_PANEL;
    for (size item = begin; item < end; item++) {
        const size group = item / parts, first = item % parts * COLUMNS_OF_PANEL;
        memset(sum, 0, v->filters * COLUMNS_OF_PANEL * sizeof *sum);
        for (size n = 0; n < v->images && !pool_stopped(); n++) {
            const size at = n * v->groups + group;
            const uint16_t *image = v->copied ? copies + at * image_numbers(v) : v->x + at * v->channels * v->plane;
            for (size block = 0; block < v->blocks; block += BLOCKS_AT_ONCE) {
                struct brain_tile tile = {.panel = panel, .row = v->grad_row, .step = 2, .columns = COLUMNS_OF_PANEL, .sum = sum, .sum_row = COLUMNS_OF_PANEL};
                for (size b = block; b < v->blocks && b < block + BLOCKS_AT_ONCE; b++) {
                    const size rest = (v->pixels - b * COLUMNS_OF_PANEL + 1) / 2, pairs = rest < FLIPPED ? rest : FLIPPED;
                    pack_taps(v, panel + tile.pairs * COLUMNS_OF_PANEL, image, first, b, pairs);
                    tile.pairs += pairs;
                }
                tile_rows(&tile, v->grad + at * v->filters * v->grad_row + block * COLUMNS_OF_PANEL, NULL, 0, v->filters);
            }
        }
        const size there = v->taps - first < COLUMNS_OF_PANEL ? v->taps - first : COLUMNS_OF_PANEL;
        for (size f = 0; f < v->filters; f++)
            kernels->narrow_brain(v->result + (group * v->filters + f) * v->taps + first, sum + f * COLUMNS_OF_PANEL, there);
    }
}

/* ---- arguments ---- */

static int read_two(PyObject *numbers, int axes, size least, size absent, size *to)
{
    if (!PyTuple_Check(numbers) || PyTuple_GET_SIZE(numbers) != axes) return -1;
    to[0] = absent;
    for (int k = 0; k < axes; k++)
        if (read_number(PyTuple_GET_ITEM(numbers, k), least, &to[k + 2 - axes]) < 0) return -1;
    return 0;
}

/* Read x (or its shape), filters, results and the four settings; -1 where the kernels here are not for them. */
static int describe(struct brain_conv *v, int ndim, const npy_intp *x, const npy_intp *weight, PyObject *const *settings)
{
    const int axes = ndim - 2;
    if (axes < 1 || axes > 2 || read_two(settings[0], axes, 1, 1, v->stride) || read_two(settings[1], axes, 0, 0, v->pad) ||
        read_two(settings[2], axes, 1, 1, v->dilation) || read_number(settings[3], 1, &v->groups))
        return -1;
    v->images = x[0], v->channels = weight[1], v->filters = weight[0] / v->groups;
    v->in[0] = axes == 2 ? x[2] : 1, v->in[1] = x[ndim - 1], v->kernel[0] = axes == 2 ? weight[2] : 1, v->kernel[1] = weight[ndim - 1];
    if (x[1] != v->channels * v->groups || weight[0] % v->groups) return -1;
    for (int k = 0; k < 2; k++) {
        const size room = v->in[k] + 2 * v->pad[k] - v->dilation[k] * (v->kernel[k] - 1) - 1;
        if (v->kernel[k] < 1 || room < 0) return -1;
        v->out[k] = room / v->stride[k] + 1;
    }
    v->taps = v->channels * v->kernel[0] * v->kernel[1], v->pairs = (v->taps + 1) / 2, v->pixels = v->out[0] * v->out[1];
    /* Few filters or taps are not worth packing. */
    return v->filters < 8 || v->taps < 16 || !v->images || v->stride[1] > 8 || v->pixels > (1 << 28) ? -1 : 0;
}

/* How images are read: offsets of taps, pieces of blocks. The tables are in one array. */
static PyArrayObject *plan(struct brain_conv *v)
{
    v->copied = v->stride[1] != 1;
    for (int k = 0; k < 2; k++) v->copied |= v->pad[k] || (v->out[k] - 1) * v->stride[k] + v->dilation[k] * (v->kernel[k] - 1) >= v->in[k];
    v->width = v->copied ? v->out[1] + v->dilation[1] * (v->kernel[1] - 1) / v->stride[1] : v->in[1];
    v->line = v->width * v->stride[1];
    v->plane = v->line * (v->copied ? (v->out[0] - 1) * v->stride[0] + v->dilation[0] * (v->kernel[0] - 1) + 1 : v->in[0]);
    const int whole = v->out[1] == v->line && v->stride[0] == 1; /* lines of pixels lie together */
    const size length = whole ? v->pixels : v->out[1];
    v->blocks = (v->pixels + COLUMNS_OF_PANEL - 1) / COLUMNS_OF_PANEL;
    PyArrayObject *room = scratch((v->taps + v->blocks + 1) * sizeof(size) + (v->blocks + v->out[0] + 1) * sizeof(struct piece), 1);
    if (!room) return NULL;
    v->offset = PyArray_DATA(room), v->starts = v->offset + v->taps, v->pieces = (struct piece *)(v->starts + v->blocks + 1);
    for (size c = 0, k = 0; c < v->channels; c++)
        for (size y = 0; y < v->kernel[0]; y++)
            for (size x = 0; x < v->kernel[1]; x++, k++) {
                const size across = x * v->dilation[1];
                v->offset[k] = c * v->plane + y * v->dilation[0] * v->line + across % v->stride[1] * v->width + across / v->stride[1];
            }
    size count = 0;
    for (size block = 0; block < v->blocks; block++) {
        v->starts[block] = count;
        for (size at = block * COLUMNS_OF_PANEL, filled = 0; filled < COLUMNS_OF_PANEL && at < v->pixels;) {
            const size column = at % length, left = length - column, open = COLUMNS_OF_PANEL - filled, n = left < open ? left : open;
            const uint32_t mask = n < 32 ? (1u << n) - 1 : ~0u;
            v->pieces[count++] = (struct piece){at / length * v->stride[0] * v->line + column, mask, mask << filled};
            at += n, filled += n;
        }
    }
    v->starts[v->blocks] = count;
    return room;
}

/* `count` rows of n numbers, each with a zero behind it if n is odd; the array itself if not. */
static PyArrayObject *even_rows(PyArrayObject *given, size count, size n, size *row)
{
    *row = n + n % 2;
    if (n % 2 == 0) return (PyArrayObject *)Py_NewRef(given);
    PyArrayObject *room = scratch(count * *row, sizeof(uint16_t));
    if (!room) return NULL;
    uint16_t *to = PyArray_DATA(room);
    const uint16_t *from = PyArray_DATA(given);
    for (size r = 0; r < count; r++, from += n, to += *row) {
        memcpy(to, from, n * sizeof *to);
        to[n] = 0;
    }
    return room;
}

/* Filters for the gradient in images: turned round, channels and filters exchanged; NULL without an error if one is not finite, as it
 * would come out of the padding. Of each axis those from `first` on are taken, `v->stride` apart, `n` of them. */
static PyArrayObject *turned_filters(const struct brain_conv *v, PyArrayObject *weight, const size *first, const size *n)
{
    const size filters = v->filters, channels = v->channels, taps = v->kernel[0] * v->kernel[1];
    PyArrayObject *room = scratch(v->groups * filters * channels * n[0] * n[1], sizeof(uint16_t));
    if (!room) return NULL;
    const uint16_t *from = PyArray_DATA(weight);
    const size taken = n[0] * n[1], down = v->stride[0] * v->kernel[1], across = v->stride[1];
    int odd = 0;
    for (size row = 0; row < v->groups * filters; row++)
        for (size c = 0; c < channels; c++, from += taps) {
            uint16_t *to = (uint16_t *)PyArray_DATA(room) + ((row / filters * channels + c) * filters + row % filters) * taken;
            const uint16_t *line = from + first[0] * v->kernel[1] + first[1] + (n[0] - 1) * down;
            for (size y = 0; y < n[0]; y++, line -= down)
                for (size x = n[1] - 1; x >= 0; x--, to++) *to = line[x * across], odd |= (*to & 0x7f80) == 0x7f80;
        }
    if (odd) Py_CLEAR(room);
    return room;
}

static PyArrayObject *result_of(PyArrayObject *model, int ndim, const npy_intp *shape)
{
    Py_INCREF(PyArray_DESCR(model));
    return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, PyArray_DESCR(model), ndim, shape, NULL, NULL, 0, NULL);
}

static double work_of(const struct brain_conv *v) { return 0.005 * (double)v->pixels * v->pairs * (v->filters + 30); }

/* Results for images, filters of `weight`, and a bias for each filter, or None. */
static PyArrayObject *forward(struct brain_conv *v, PyArrayObject *x, PyArrayObject *weight, PyObject *bias, int ndim)
{
    npy_intp shape[4] = {v->images, v->groups * v->filters, v->out[0], v->out[1]};
    if (ndim == 3) shape[2] = v->out[1];
    PyArrayObject *tables = plan(v), *filters = even_rows(weight, v->groups * v->filters, v->taps, &v->weight_row);
    PyArrayObject *wide = NULL, *room = NULL, *out = result_of(x, ndim, shape);
    const size items = v->images * v->groups;
    int chunks = pool_chunks(items, work_of(v)), stopped = -1;
    if (chunks > pool_get_threads()) chunks = pool_get_threads();
    if (!tables || !filters || !out) goto done;
    v->room_bytes = (v->pairs * COLUMNS_OF_PANEL * 4 + image_numbers(v) * 2 + 63) / 64 * 64;
    if (!(room = scratch(v->room_bytes * chunks, 1))) goto done;
    if (bias != Py_None) {
        if (!(wide = scratch(v->groups * v->filters, sizeof(float)))) goto done;
        const char *from = PyArray_BYTES((PyArrayObject *)bias);
        float *to = PyArray_DATA(wide);
        for (size f = 0; f < v->groups * v->filters; f++) to[f] = float_of_brain(*(const uint16_t *)(from + f * PyArray_STRIDE((PyArrayObject *)bias, 0)));
        v->bias = to;
    }
    v->x = PyArray_DATA(x), v->weight = PyArray_DATA(filters), v->result = PyArray_DATA(out), v->room = PyArray_BYTES(room);
    Py_BEGIN_ALLOW_THREADS
    stopped = pool_run_stoppable(forward_task, v, items, chunks);
    Py_END_ALLOW_THREADS
done:
    if (stopped < 0) Py_CLEAR(out);
    Py_XDECREF(tables);
    Py_XDECREF(filters);
    Py_XDECREF(wide);
    Py_XDECREF(room);
    return out;
}

static int are_brains(PyObject *a, PyObject *b)
{
    return brain_able() && narrow_kind(a) == 2 && narrow_kind(b) == 2 && PyArray_NDIM((PyArrayObject *)a) == PyArray_NDIM((PyArrayObject *)b) &&
           PyArray_SIZE((PyArrayObject *)a) && PyArray_SIZE((PyArrayObject *)b);
}

/* brain_conv(x, weight, bias | None, stride, padding, dilation, groups) */
static PyObject *brain_conv(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    struct brain_conv v = {0};
    if (!are_brains(args[0], args[1])) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0], *weight = (PyArrayObject *)args[1], *bias = (PyArrayObject *)args[2];
    const int ndim = PyArray_NDIM(x);
    if (describe(&v, ndim, PyArray_DIMS(x), PyArray_DIMS(weight), args + 3) < 0 ||
        (args[2] != Py_None && (narrow_kind(args[2]) != 2 || PyArray_NDIM(bias) != 1 || PyArray_DIM(bias, 0) != PyArray_DIM(weight, 0))))
        NOT_HANDLED();
    PyArrayObject *rows = contiguous(args[0]), *filters = contiguous(args[1]);
    PyObject *out = rows && filters ? (PyObject *)forward(&v, rows, filters, args[2], ndim) : NULL;
    Py_XDECREF(rows);
    Py_XDECREF(filters);
    return out;
}

/* Numbers that are a step apart in the gradient in images, which depend on the same taps: a convolution of `g` with those, turned round.
 * NULL without an error where filters are not finite. */
static PyArrayObject *phase_of(const struct brain_conv *v, PyArrayObject *g, PyArrayObject *weight, const size *phase, int ndim)
{
    struct brain_conv back = *v;
    size first[2], n[2];
    back.channels = v->filters, back.filters = v->channels;
    for (int k = 0; k < 2; k++) {
        const size step = v->stride[k], taken = (v->pad[k] + phase[k]) % step;
        first[k] = taken, n[k] = (v->kernel[k] - taken + step - 1) / step;
        back.in[k] = v->out[k], back.out[k] = (v->in[k] - phase[k] + step - 1) / step, back.kernel[k] = n[k], back.stride[k] = 1;
        back.pad[k] = v->dilation[k] * (n[k] - 1) - (v->pad[k] + phase[k]) / step;
    }
    back.taps = back.channels * n[0] * n[1], back.pairs = (back.taps + 1) / 2, back.pixels = back.out[0] * back.out[1];
    PyArrayObject *turned = turned_filters(v, weight, first, n);
    PyArrayObject *found = turned ? forward(&back, g, turned, Py_None, ndim) : NULL;
    Py_XDECREF(turned);
    return found;
}

/* Phases, whose numbers lie apart in the result. */
struct phases {
    const uint16_t *from[64];
    uint16_t *to;
    size step[2], size[2];
};

/* An item: a line of the result. */
static void join_task(void *context, size begin, size end, int chunk)
{
    const struct phases *p = context;
    const size step = p->step[1], width = p->size[1];
    (void)chunk;
    for (size item = begin; item < end; item++) {
        const size plane = item / p->size[0], y = item % p->size[0], row = y % p->step[0];
        const size lines = (p->size[0] - row + p->step[0] - 1) / p->step[0];
        const uint16_t *from[8];
        uint16_t *to = p->to + item * width;
        for (size x = 0; x < step; x++)
            from[x] = p->from[row * step + x] + (plane * lines + y / p->step[0]) * ((width - x + step - 1) / step);
        if (step == 1) memcpy(to, from[0], width * sizeof *to);
        else if (step == 2) {
            const uint16_t *even = from[0], *odd = from[1];
            for (size x = 0; x < width / 2; x++) to[2 * x] = even[x], to[2 * x + 1] = odd[x];
            if (width % 2) to[width - 1] = even[width / 2];
        } else
            for (size phase = 0; phase < step; phase++)
                for (size x = phase, k = 0; x < width; x += step, k++) to[x] = from[phase][k];
    }
}

static PyArrayObject *joined(const struct brain_conv *v, PyArrayObject *const *parts, int count, PyArrayObject *out)
{
    const size items = v->images * v->groups * v->channels * v->in[0];
    struct phases p = {.to = PyArray_DATA(out), .step = {v->stride[0], v->stride[1]}, .size = {v->in[0], v->in[1]}};
    for (int k = 0; k < count; k++) p.from[k] = PyArray_DATA(parts[k]);
    Py_BEGIN_ALLOW_THREADS
    pool_run(join_task, &p, items, pool_chunks(items, 0.1 * v->in[1]));
    Py_END_ALLOW_THREADS
    return out;
}

/* The gradient in images as its phases; NULL without an error where filters are not finite. */
static PyArrayObject *by_phases(const struct brain_conv *v, PyArrayObject *g, PyArrayObject *weight, int ndim, const npy_intp *shape)
{
    PyArrayObject *parts[64], *out = NULL;
    const int count = (int)(v->stride[0] * v->stride[1]);
    int made = 0;
    for (; made < count; made++) {
        const size phase[2] = {made / v->stride[1], made % v->stride[1]};
        if (!(parts[made] = phase_of(v, g, weight, phase, ndim))) break;
    }
    if (made == count && count == 1) return parts[0];
    if (made == count && (out = result_of(g, ndim, shape))) joined(v, parts, count, out);
    for (int k = 0; k < made; k++) Py_DECREF(parts[k]);
    return out;
}

/* brain_conv_input(g, weight, shape, stride, padding, dilation, groups) */
static PyObject *brain_conv_input(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    struct brain_conv v = {0};
    npy_intp shape[4];
    if (!are_brains(args[0], args[1])) NOT_HANDLED();
    PyArrayObject *g = (PyArrayObject *)args[0], *weight = (PyArrayObject *)args[1];
    const int ndim = PyArray_NDIM(g);
    if (!PyTuple_Check(args[2]) || PyTuple_GET_SIZE(args[2]) != ndim || ndim > 4) NOT_HANDLED();
    for (int k = 0; k < ndim; k++) {
        size number;
        if (read_number(PyTuple_GET_ITEM(args[2], k), 1, &number) < 0) NOT_HANDLED();
        shape[k] = number;
    }
    if (describe(&v, ndim, shape, PyArray_DIMS(weight), args + 3) < 0 || v.channels < FEW_CHANNELS || v.stride[0] > 8) NOT_HANDLED();
    for (int k = 0; k < 2; k++) {
        if (v.stride[k] > 1 && (v.dilation[k] > 1 || v.kernel[k] < v.stride[k] || v.in[k] < v.stride[k])) NOT_HANDLED();
        if (v.stride[k] == 1 && v.dilation[k] * (v.kernel[k] - 1) < v.pad[k]) NOT_HANDLED();
    }
    if (PyArray_SIZE(g) != v.images * v.groups * v.filters * v.pixels) NOT_HANDLED();
    PyArrayObject *rows = contiguous(args[0]), *filters = contiguous(args[1]);
    PyObject *out = rows && filters ? (PyObject *)by_phases(&v, rows, filters, ndim, shape) : NULL;
    if (!out && !PyErr_Occurred()) out = Py_NewRef(Py_NotImplemented);
    Py_XDECREF(rows);
    Py_XDECREF(filters);
    return out;
}

/* brain_conv_weight(x, g, shape, stride, padding, dilation, groups) */
static PyObject *brain_conv_weight(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 7) return PyErr_Format(PyExc_TypeError, "expected 7 arguments");
    struct brain_conv v = {0};
    npy_intp shape[4];
    if (!are_brains(args[0], args[1])) NOT_HANDLED();
    PyArrayObject *x = (PyArrayObject *)args[0], *g = (PyArrayObject *)args[1];
    const int ndim = PyArray_NDIM(x);
    if (!PyTuple_Check(args[2]) || PyTuple_GET_SIZE(args[2]) != ndim || ndim > 4) NOT_HANDLED();
    for (int k = 0; k < ndim; k++) {
        size number;
        if (read_number(PyTuple_GET_ITEM(args[2], k), 1, &number) < 0) NOT_HANDLED();
        shape[k] = number;
    }
    if (describe(&v, ndim, PyArray_DIMS(x), shape, args + 3) < 0 || PyArray_SIZE(g) != v.images * v.groups * v.filters * v.pixels) NOT_HANDLED();
    PyArrayObject *images = contiguous(args[0]), *rows = contiguous(args[1]), *tables = plan(&v), *room = NULL, *out = result_of(x, ndim, shape);
    PyArrayObject *grads = rows ? even_rows(rows, v.images * v.groups * v.filters, v.pixels, &v.grad_row) : NULL;
    const size items = v.groups * ((v.taps + COLUMNS_OF_PANEL - 1) / COLUMNS_OF_PANEL), copies = image_numbers(&v) * v.images * v.groups;
    int chunks = pool_chunks(items, work_of(&v) * v.images * v.groups / items), stopped = -1;
    if (chunks > pool_get_threads()) chunks = pool_get_threads();
    v.room_bytes = v.filters * COLUMNS_OF_PANEL * sizeof(float) + BLOCKS_AT_ONCE * FLIPPED * COLUMNS_OF_PANEL * sizeof(uint32_t);
    if (images && tables && out && grads && (room = scratch(copies * sizeof(uint16_t) + v.room_bytes * chunks, 1))) {
        v.x = PyArray_DATA(images), v.grad = PyArray_DATA(grads), v.result = PyArray_DATA(out), v.room = PyArray_BYTES(room);
        Py_BEGIN_ALLOW_THREADS
        if (v.copied) pool_run(copy_task, &v, v.images * v.groups, pool_chunks(v.images * v.groups, 0.1 * v.channels * v.plane));
        stopped = pool_run_stoppable(weight_task, &v, items, chunks);
        Py_END_ALLOW_THREADS
    }
    if (stopped < 0) Py_CLEAR(out);
    Py_XDECREF(images);
    Py_XDECREF(rows);
    Py_XDECREF(tables);
    Py_XDECREF(room);
    Py_XDECREF(grads);
    return (PyObject *)out;
}
#else
#define DEFINE_ABSENT(name)                                                               \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count)      \
    {                                                                                     \
        (void)module, (void)args, (void)count;                                            \
        NOT_HANDLED();                                                                    \
    }
DEFINE_ABSENT(brain_conv)
DEFINE_ABSENT(brain_conv_input)
DEFINE_ABSENT(brain_conv_weight)
#endif

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
PyMethodDef brain_conv_methods[] = {METHOD(brain_conv), METHOD(brain_conv_input), METHOD(brain_conv_weight), {NULL, NULL, 0, NULL}};
