/* The gradient of a convolution in its images by one product for all taps: what each window adds to the places that it sees, a row for
 * each tap of a channel, is added up where windows overlap. Gradients are read once, whatever the steps of windows are, and few
 * channels have a tile's worth of taps together. */

/* Filters of some channels in panels of GEMM_ROWS taps, a row for each filter. */
static void F(conv_folded_filters)(REAL *restrict to, const REAL *restrict weight, size row, const size *tap, size taps, size filters)
{
    for (size p = 0; p < filters; p++, weight += row)
        for (size t = 0; t < taps; t += GEMM_ROWS) {
            REAL *at = to + t * filters + p * GEMM_ROWS;
            if (taps - t >= GEMM_ROWS && tap[t + GEMM_ROWS - 1] - tap[t] == GEMM_ROWS - 1) memcpy(at, weight + tap[t], GEMM_ROWS * sizeof(REAL));
            else
                for (size i = 0; i < GEMM_ROWS; i++) at[i] = t + i < taps ? weight[tap[t + i]] : 0;
        }
}

/* Gradients of n windows from `at` on in panels of a tile's width, a row for each filter. */
static void F(conv_folded_right)(REAL *restrict to, const struct folded *w, size at, size n)
{
    for (size j0 = 0; j0 < n; j0 += GEMM_COLUMNS, to += w->filters * GEMM_COLUMNS) {
        const size there = n - j0 < GEMM_COLUMNS ? n - j0 : GEMM_COLUMNS;
        if (there < GEMM_COLUMNS) memset(to, 0, w->filters * GEMM_COLUMNS * sizeof(REAL));
        for (size j = 0, length; j < there; j += length) {
            const size window = at + j0 + j, place = window % w->results;
            const REAL *from = (const REAL *)w->source + window / w->results * w->grad_image + place;
            length = there - j < w->results - place ? there - j : w->results - place;
            if (length == GEMM_COLUMNS)
                for (size f = 0; f < w->filters; f++, from += w->results) {
                    F(conv_await)(from);
                    memcpy(to + f * GEMM_COLUMNS, from, GEMM_COLUMNS * sizeof(REAL));
                }
            else
                for (size f = 0; f < w->filters; f++, from += w->results) F(conv_move)(to + f * GEMM_COLUMNS + j, from, length);
        }
    }
}

/* to += n numbers, by whole vectors: `from` may be read, and `to` have nothing added, behind them. */
static inline void F(conv_add_on)(REAL *to, const REAL *from, size n)
{
#ifdef __GNUC__
    typedef unsigned char bytes __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
    static const unsigned char ones[2 * VECTOR_BYTES] = {[0 ... VECTOR_BYTES - 1] = 255};
    for (; n >= F(gemm_step); n -= F(gemm_step), to += F(gemm_step), from += F(gemm_step)) STORE(to, LOAD(to) + LOAD(from));
    if (n) STORE(to, LOAD(to) + (F(vector))(*(const bytes *)from & *(const bytes *)(ones + VECTOR_BYTES - n * sizeof(REAL))));
#else
    for (size k = 0; k < n; k++) to[k] += from[k];
#endif
}

/* What n windows from `at` on add to padded images of some channels, `pitch` from tap to tap. */
static void F(conv_folded_add)(REAL *images, const REAL *sums, size pitch, const struct folded *w, size at, size n, size channels)
{
    const struct lattice *v = w->lattice;
    const size wide = v->count[2], high = v->count[1], deep = v->count[0];
    struct { size from, to, length; } run[FOLDED_WINDOWS];
    size x = at % wide, y = at / wide % high, z = at / (wide * high) % deep, image = at / (wide * high * deep), runs = 0;
    for (size j = 0, length; j < n; j += length, x = 0) {
        length = n - j < wide - x ? n - j : wide - x;
        run[runs].from = j, run[runs].length = length;
        run[runs++].to = image * channels * w->padded->plane + z * v->step[0] + y * v->step[1] + x;
        if (++y == high) {
            y = 0;
            if (++z == deep) z = 0, image++;
        }
    }
    for (size c = 0; c < channels; c++, images += w->padded->plane)
        for (size t = 0; t < w->taps; t++, sums += pitch)
            for (size r = 0; r < runs; r++) F(conv_add_on)(images + v->offset[t] + run[r].to, sums + run[r].from, run[r].length);
}

/* A row of an image out of a padded one, whose columns lie as conv_pad has put them. */
static void F(conv_unpad_row)(REAL *restrict to, const REAL *restrict row, const struct source *v)
{
    const size n = v->size[2], part = v->padded[2] / v->split, before = v->before[2], odd = before & 1;
    if (v->split == 1) F(conv_move)(to, row + before, n);
    else if (v->split == 2) {
        const REAL *first = row + odd * part + before / 2, *second = row + !odd * part + before / 2 + odd;
        for (size x = 0; x < n / 2; x++) to[2 * x] = first[x], to[2 * x + 1] = second[x];
        if (n & 1) to[n - 1] = first[n / 2];
    } else
        for (size k = 0; k < v->split && k < n; k++) {
            const REAL *from = row + (k + before) % v->split * part + (k + before) / v->split;
            for (size x = k; x < n; x += v->split) to[x] = *from++;
        }
}
static void F(conv_unpad)(REAL *to, const REAL *padded, const struct source *v)
{
    for (size z = 0; z < v->size[0]; z++)
        for (size y = 0; y < v->size[1]; y++, to += v->size[2])
            F(conv_unpad_row)(to, padded + ((z + v->before[0]) * v->padded[1] + y + v->before[1]) * v->padded[2], v);
}

/* The gradient in some images, for some blocks of channels. */
static void F(conv_folded)(const struct folded *w)
{
    const size total = w->images * w->results, most = w->windows, tiles = (w->block * w->taps + GEMM_ROWS - 1) / GEMM_ROWS, part = sum_block(w->filters);
    REAL *right = w->work, *sums = right + most * w->filters, *images = sums + (tiles * GEMM_ROWS + 1) * most;
    for (size b = w->first; b < w->last && !pool_stopped(); b++) {
        const size c0 = b * w->block, channels = w->channels - c0 < w->block ? w->channels - c0 : w->block, rows = channels * w->taps;
        const REAL *left = (const REAL *)w->left + b * tiles * GEMM_ROWS * w->filters;
        memset(images, 0, w->images * channels * w->padded->plane * sizeof(REAL));
        for (size at = 0; at < total && !pool_stopped(); at += most) {
            const size n = total - at < most ? total - at : most;
            if (b == w->first || total > most) F(conv_folded_right)(right, w, at, n);
            for (size j = 0; j < n; j += GEMM_COLUMNS)
                for (size i = 0; i < rows; i += GEMM_ROWS)
                    F(conv_tiles)(sums + i * most + j, most, left + i * w->filters, 1, GEMM_ROWS, right + j * w->filters,
                                  rows - i < GEMM_ROWS ? rows - i : GEMM_ROWS, n - j, w->filters, part, NULL, 0);
            F(conv_folded_add)(images, sums, most, w, at, n, channels);
        }
        for (size n = 0; n < w->images; n++)
            for (size c = 0; c < channels; c++)
                F(conv_unpad)((REAL *)w->out + n * w->out_image + (c0 + c) * w->out_channel, images + (n * channels + c) * w->padded->plane, w->padded);
    }
}
