/* Convolution where vectors run over filters, not over windows: numbers of windows are spread over vectors as they are read, so that
 * windows may lie anywhere, in any steps, and are neither packed nor read in vain at the ends of rows. What comes out is turned. */

/* Filters in panels of a tile's width: a row for each tap, `where` says which; then what their sums begin with. Missing filters are zero. */
static void F(conv_broad_filters)(REAL *restrict to, const REAL *restrict weight, size row, const size *tap, const size *where, size depth,
                                  const REAL *bias, size filters)
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
                for (int i = 0; i < F(lanes); i++) STORE(at + where[k + i] * GEMM_COLUMNS, square[i]);
            }
#endif
            for (; k < depth; k++)
                for (size i = 0; i < lanes; i++) at[where[k] * GEMM_COLUMNS + i] = i < there ? weight[(first + i) * row + tap[k]] : 0;
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

/* Sums of n windows from `at` on, to half a panel of filters; results of all filters lie side by side, or as planes. */
static void F(conv_broad_leave)(const struct broad *w, size filter, size at, const REAL *sums, size n)
{
    const size lanes = GEMM_COLUMNS / 2, there = w->last - filter < lanes ? w->last - filter : lanes;
    if (w->out_filter == 1) {
        const size row = w->out_image / w->results;
        REAL *out = (REAL *)w->out + at * row + filter;
        for (size k = 0; k < n; k++, out += row, sums += GEMM_COLUMNS)
            if (there == lanes) memcpy(out, sums, VECTOR_BYTES);
            else F(conv_move)(out, sums, there);
        return;
    }
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

/* The taps p to `end` for a tile of windows, or those of them that see more than padding. */
static void F(conv_broad_part)(const struct broad *w, size window, REAL *sums, const REAL *filters, size p, size end, size block, int half, int first)
{
    const struct reach *r = w->reach ? &w->reach[window / GEMM_ROWS] : NULL;
    const size *place = w->place + window;
    size filled[GEMM_ROWS]; /* the last batch may have fewer images than the list: none of the others is read */
    if (window + GEMM_ROWS > w->windows) {
        for (int i = 0; i < GEMM_ROWS; i++) filled[i] = place[window + i < w->windows ? i : 0];
        place = filled;
    }
    const REAL *start = first ? filters + w->depth * GEMM_COLUMNS : NULL;
    void (*const tile)(REAL *restrict, const REAL *restrict, const size *restrict, const size *restrict, const REAL *restrict, size, size, const REAL *restrict) =
        half ? F(conv_broad_half) : F(conv_broad_tile);
    if (!r || r->all) {
        const size from = r && r->depth[0] * w->deep > p ? r->depth[0] * w->deep : p, to = r && r->depth[1] * w->deep < end ? r->depth[1] * w->deep : end;
        if (from < to || start) tile(sums, w->source, place, w->offset + from, filters + from * GEMM_COLUMNS, from < to ? to - from : 0, block, start);
        return;
    }
    for (size z = r->depth[0]; z < r->depth[1]; z++) {
        size from = z * w->deep + r->line[0] * w->high, to = z * w->deep + r->line[1] * w->high;
        from = from > p ? from : p, to = to < end ? to : end;
        if (from >= to) continue;
        tile(sums, w->source, place, w->offset + from, filters + from * GEMM_COLUMNS, to - from, block, start);
        start = NULL;
    }
    if (start) tile(sums, w->source, place, w->offset, filters, 0, block, start);
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
                    F(conv_broad_part)(w, at + k, sums + k * GEMM_COLUMNS, filters, p, p + step < depth ? p + step : depth, part, half, p == 0);
            F(conv_broad_leave)(w, f, at, sums, n);
            if (!half) F(conv_broad_leave)(w, f + lanes, at, sums + lanes, n);
        }
    }
}
