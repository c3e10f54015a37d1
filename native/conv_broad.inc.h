/* Convolution where vectors run over filters, not over windows: numbers of windows are spread over vectors as they are read, so that
 * windows may lie anywhere, in any steps, and are neither packed nor read in vain at the ends of rows. What comes out is turned. */

/* Filters in panels of a tile's width: a row for each tap, then what their sums begin with. Missing filters are zero. */
static void F(conv_broad_filters)(REAL *restrict to, const REAL *restrict weight, size row, const size *tap, size depth, const REAL *bias, size filters)
{
    const size lanes = GEMM_COLUMNS / 2;
    for (size f = 0; f < filters; f += GEMM_COLUMNS, to += (depth + 1) * GEMM_COLUMNS)
        for (size half = 0; half < 2; half++) {
            const size first = f + half * lanes, there = filters - first < lanes ? filters - first : lanes;
            REAL *at = to + half * lanes;
            size k = 0;
#ifdef TURNS
            for (; there == lanes && k + lanes <= depth && tap[k + lanes - 1] - tap[k] == lanes - 1; k += lanes) {
                F(vector) square[F(lanes)];
                for (int i = 0; i < F(lanes); i++) square[i] = LOAD(weight + (first + i) * row + tap[k]);
                F(turn)(square);
                for (int i = 0; i < F(lanes); i++) STORE(at + (k + i) * GEMM_COLUMNS, square[i]);
            }
#endif
            for (; k < depth; k++)
                for (size i = 0; i < lanes; i++) at[k * GEMM_COLUMNS + i] = i < there ? weight[(first + i) * row + tap[k]] : 0;
            for (size i = 0; i < lanes; i++) at[depth * GEMM_COLUMNS + i] = bias && i < there ? bias[first + i] : 0;
        }
}

/* c (windows x filters) = start, or +=, the sum over taps. */
static void F(conv_broad_tile)(REAL *restrict c, const REAL *restrict source, const size *restrict place, const size *restrict offset,
                               const REAL *restrict y, size depth, size block, const REAL *restrict start)
{
    const REAL *at[GEMM_ROWS];
    for (int i = 0; i < GEMM_ROWS; i++) at[i] = source + place[i];
    TILE_SUM(GEMM_ROWS, F(gemm_vectors), depth, block, y += GEMM_COLUMNS, y, at[i][offset[p]])
    for (int i = 0; i < GEMM_ROWS && start; i++)
        for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] += LOAD(start + j * F(gemm_step));
    TILE_LEAVE(GEMM_ROWS, F(gemm_vectors), c, GEMM_COLUMNS, !start)
}

/* The same for half a panel of filters: two taps at a time, so that as many sums are under way. */
static void F(conv_broad_half)(REAL *restrict c, const REAL *restrict source, const size *restrict place, const size *restrict offset,
                               const REAL *restrict y, size depth, size block, const REAL *restrict start)
{
    enum { VECTORS = F(gemm_vectors) / 2 };
    const REAL *at[GEMM_ROWS];
    for (int i = 0; i < GEMM_ROWS; i++) at[i] = source + place[i];
    F(vector) first[GEMM_ROWS][VECTORS], second[GEMM_ROWS][VECTORS];
    for (size p = 0, last; p < depth || !p; p = last) {
        last = depth - p < 3 * block ? depth : p + 2 * block;
        for (int i = 0; i < GEMM_ROWS; i++)
            for (int j = 0; j < VECTORS; j++) first[i][j] = second[i][j] = (F(vector)){0};
        for (; p + 1 < last; p += 2, y += 2 * GEMM_COLUMNS)
            for (int j = 0; j < VECTORS; j++) {
                const F(vector) one = LOAD(y + j * F(gemm_step)), two = LOAD(y + GEMM_COLUMNS + j * F(gemm_step));
                for (int i = 0; i < GEMM_ROWS; i++) first[i][j] += at[i][offset[p]] * one, second[i][j] += at[i][offset[p + 1]] * two;
            }
        for (; p < last; p++, y += GEMM_COLUMNS)
            for (int j = 0; j < VECTORS; j++)
                for (int i = 0; i < GEMM_ROWS; i++) first[i][j] += at[i][offset[p]] * LOAD(y + j * F(gemm_step));
        for (int i = 0; i < GEMM_ROWS; i++)
            for (int j = 0; j < VECTORS; j++) {
                REAL *to = c + i * GEMM_COLUMNS + j * F(gemm_step);
                STORE(to, first[i][j] + second[i][j] + (start ? LOAD(start + j * F(gemm_step)) : LOAD(to)));
            }
        start = NULL;
        if (!depth) break;
    }
}

/* Sums of n windows from `at` on, to half a panel of filters. */
static void F(conv_broad_leave)(const struct broad *w, size filter, size at, const REAL *sums, size n)
{
    const size lanes = GEMM_COLUMNS / 2, there = w->last - filter < lanes ? w->last - filter : lanes;
    for (size k = 0; k < n; k += lanes, at += lanes, sums += lanes * GEMM_COLUMNS) {
        const size count = n - k < lanes ? n - k : lanes, place = at % w->results;
        REAL *out = (REAL *)w->out + filter * w->out_filter + at / w->results * w->out_image + place;
#ifdef TURNS
        REAL turned[F(lanes) * F(lanes)];
        F(vector) square[F(lanes)];
        for (int i = 0; i < F(lanes); i++) square[i] = LOAD(sums + i * GEMM_COLUMNS);
        F(turn)(square);
        if (count == lanes && place + lanes <= w->results && there == lanes) {
            for (int i = 0; i < F(lanes); i++) STORE(out + i * w->out_filter, square[i]);
            continue;
        }
        for (int i = 0; i < F(lanes); i++) STORE(turned + i * F(lanes), square[i]);
#else
        REAL turned[GEMM_COLUMNS * GEMM_COLUMNS / 4];
        for (size i = 0; i < lanes; i++)
            for (size j = 0; j < lanes; j++) turned[j * lanes + i] = sums[i * GEMM_COLUMNS + j];
#endif
        for (size i = 0; i < there; i++) {
            REAL *to = out + i * w->out_filter;
            for (size j = 0, left = w->results - place, length; j < count; j += length, left = w->results) {
                length = count - j < left ? count - j : left;
                F(conv_move)(to, turned + i * lanes + j, length);
                to += length + w->out_image - w->results; /* goes on in the next image, if it goes on */
            }
        }
    }
}

/* The results of some images and some panels of filters. */
static void F(conv_broad)(const struct broad *w)
{
    enum { BLOCK = BROAD_TILES * GEMM_ROWS };
    const size lanes = GEMM_COLUMNS / 2, depth = w->depth, part = sum_block(depth), steps = (depth + CONV_WHOLE - 1) / CONV_WHOLE, step = (depth + steps - 1) / steps;
    REAL *sums = w->work;
    for (size at = 0; at < w->windows; at += BLOCK) {
        const size n = w->windows - at < BLOCK ? w->windows - at : BLOCK;
        for (size f = w->first; f < w->last && !pool_stopped(); f += GEMM_COLUMNS) {
            const int half = f + lanes >= w->last;
            const REAL *filters = (const REAL *)w->filters + f * (depth + 1);
            for (size p = 0; p < depth; p += step)
                for (size k = 0; k < n; k += GEMM_ROWS)
                    (half ? F(conv_broad_half) : F(conv_broad_tile))(sums + k * GEMM_COLUMNS, w->source, w->place + at + k, w->offset + p, filters + p * GEMM_COLUMNS,
                                                                     depth - p < step ? depth - p : step, part, p ? NULL : filters + depth * GEMM_COLUMNS);
            F(conv_broad_leave)(w, f, at, sums, n);
            if (!half) F(conv_broad_leave)(w, f + lanes, at, sums + lanes, n);
        }
    }
}
