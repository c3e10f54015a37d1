/* Convolution as a product of filters with windows. The windows are never all in memory: panels of a tile's width are put
 * together from padded images as they are needed, and stay in the first cache while all filters meet them.
 *
 * What the three functions of a convolution share is here: the padded images, the panels, and a tile of registers. */

/* n numbers: whole vectors, then two halves, quarters ... that overlap. */
static inline void F(conv_move)(REAL *restrict to, const REAL *restrict from, size n)
{
    const size lanes = VECTOR_BYTES / sizeof(REAL);
    for (; n >= lanes; n -= lanes, to += lanes, from += lanes) memcpy(to, from, VECTOR_BYTES);
    if (n >= lanes / 2) {
        memcpy(to, from, VECTOR_BYTES / 2);
        memcpy(to + n - lanes / 2, from + n - lanes / 2, VECTOR_BYTES / 2);
    } else if (VECTOR_BYTES / sizeof(REAL) >= 8 && n >= lanes / 4) {
        memcpy(to, from, VECTOR_BYTES / 4);
        memcpy(to + n - lanes / 4, from + n - lanes / 4, VECTOR_BYTES / 4);
    } else
        for (size k = 0; k < n; k++) to[k] = from[k];
}

/* The same by whole vectors, where as many numbers can be read, and zeros may be written behind. */
static inline void F(conv_move_on)(REAL *to, const REAL *from, size n)
{
#ifdef __GNUC__
    typedef unsigned char bytes __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
    static const unsigned char ones[2 * VECTOR_BYTES] = {[0 ... VECTOR_BYTES - 1] = 255};
    for (; n >= F(gemm_step); n -= F(gemm_step), to += F(gemm_step), from += F(gemm_step)) STORE(to, LOAD(from));
    if (n) *(bytes *)to = *(const bytes *)from & *(const bytes *)(ones + VECTOR_BYTES - n * sizeof(REAL));
#else
    F(conv_move)(to, from, n);
#endif
}

/* One image between zeros, which are there. Along the last axis, columns whose places have the same remainder by `split`
 * lie side by side, so that windows `split` apart are neighbours. */
static void F(conv_pad)(REAL *restrict to, const REAL *restrict image, const struct source *v)
{
    const size *n = v->size, *before = v->before, row = v->padded[2], part = row / v->split, rows = v->channels * n[0] * n[1];
    const size odd = before[2] & 1, half = before[2] / 2;
    to += before[0] * v->padded[1] * row + before[1] * row;
    for (size line = 0, y = 0, z = 0; line < rows; line++, image += n[2], to += row) {
        if (v->split == 1) {
            if ((rows - 1 - line) * n[2] >= GEMM_COLUMNS / 2) F(conv_move_on)(to + before[2], image, n[2]);
            else F(conv_move)(to + before[2], image, n[2]);
        } else if (v->split == 2) {
            REAL *first = to + odd * part + half, *second = to + !odd * part + half + odd;
            for (size x = 0; x < n[2] / 2; x++) first[x] = image[2 * x], second[x] = image[2 * x + 1];
            if (n[2] & 1) first[n[2] / 2] = image[n[2] - 1];
        } else {
            size x = 0;
            for (; x < n[2] && (x + before[2]) % v->split; x++) to[(x + before[2]) % v->split * part + (x + before[2]) / v->split] = image[x];
            REAL *at = to + (x + before[2]) / v->split;
            if (v->split == 4)
                for (; x + 4 <= n[2]; x += 4, at++) at[0] = image[x], at[part] = image[x + 1], at[2 * part] = image[x + 2], at[3 * part] = image[x + 3];
            for (; x < n[2]; x += v->split, at++)
                for (size k = 0; k < v->split && x + k < n[2]; k++) at[k * part] = image[x + k];
        }
        if (++y == n[1]) {
            y = 0, to += (v->padded[1] - n[1]) * row;
            if (++z == n[0]) z = 0, to += (v->padded[0] - n[0]) * v->padded[1] * row;
        }
    }
}

/* Some numbers of some rows, `step` apart, one behind the other. */
static void F(conv_pick)(REAL *to, const REAL *from, const REAL *end, size row, size rows, size step, size n)
{
    for (size y = 0; y < rows; y++, from += row, to += n) {
        size k = 0;
#ifdef TURNS
        F(places) even;
        for (int i = 0; i < F(lanes); i++) even[i] = 2 * i;
        for (; step == 2 && k < n && end - from >= 2 * (k + F(lanes)); k += F(lanes)) {
            const F(vector) picked = __builtin_shuffle(LOAD(from + 2 * k), LOAD(from + 2 * k + F(lanes)), even);
            if ((rows - y) * n - k >= F(lanes)) STORE(to + k, picked); /* what is too much is written over by the next row */
            else {
                REAL part[F(lanes)];
                STORE(part, picked);
                F(conv_move)(to + k, part, n - k);
            }
        }
#else
        (void)end;
#endif
        for (; k < n; k++) to[k] = from[k * step];
    }
}

#ifdef TURNS
/* As many tiles of filters as fill a vector, and n taps that lie close together: squares of numbers are turned. `more`: whether taps follow,
 * so that what is too much of a vector is written over. */
static inline void F(conv_filters_turned)(REAL *to, size panel, const REAL *restrict weight, size row, const size *tap, size n, const REAL *end, int more)
{
    enum { TILES = F(lanes) / GEMM_ROWS };
    const REAL *from = weight + tap[0];
    if (n > 2 && end - from >= (TILES * GEMM_ROWS - 1) * row + F(lanes)) {
        F(vector) square[F(lanes)];
        REAL turned[F(lanes) * F(lanes)];
        TILE_FOR (int i = 0; i < F(lanes); i++) square[i] = i < TILES * GEMM_ROWS ? LOAD(from + i * row) : (F(vector)){0};
        F(turn)(square);
        TILE_FOR (int k = 0; k < F(lanes); k++) STORE(turned + k * F(lanes), square[k]);
        size k = 0;
        for (; TILES == 1 && k < n - !more; k++) STORE(to + k * GEMM_ROWS, LOAD(turned + (tap[k] - tap[0]) * F(lanes)));
        for (; k < n; k++)
            for (int tile = 0; tile < TILES; tile++)
                memcpy(to + tile * panel + k * GEMM_ROWS, turned + (tap[k] - tap[0]) * F(lanes) + tile * GEMM_ROWS, GEMM_ROWS * sizeof(REAL));
    } else
        for (int tile = 0; tile < TILES; tile++)
            for (size k = 0; k < n; k++)
                for (int i = 0; i < GEMM_ROWS; i++) to[tile * panel + k * GEMM_ROWS + i] = weight[(tile * GEMM_ROWS + i) * row + tap[k]];
}
#endif

/* Filters in panels of GEMM_ROWS, some tiles of them: the number of filter f and tap k is at f * row + tap[k]. After the
 * last tap follows the bias, if there is one. */
static void F(conv_filters)(REAL *restrict to, const REAL *restrict weight, size row, const size *tap, size depth,
                            const REAL *bias, size filters, size first, size last)
{
    enum { BESIDE = 16 }; /* taps of neighbouring filters, whose lines stay in the first cache for all tiles */
    const size panel = GEMM_ROWS * (depth + !!bias), whole = filters / GEMM_ROWS < last ? filters / GEMM_ROWS : last;
    size tile = first;
    if (row == 1 && whole > first) {
        for (size k = 0; k < depth; k += BESIDE)
            for (tile = first; tile < whole; tile++)
                for (size n = k; n < depth && n < k + BESIDE; n++)
                    memcpy(to + tile * panel + n * GEMM_ROWS, weight + tile * GEMM_ROWS + tap[n], GEMM_ROWS * sizeof(REAL));
        tile = whole;
    }
#ifdef TURNS
    if (F(lanes) >= GEMM_ROWS && depth && tile < whole) {
        enum { TILES = F(lanes) < GEMM_ROWS ? 1 : F(lanes) / GEMM_ROWS };
        const REAL *end = weight + (filters - 1) * row + tap[depth - 1] + 1;
        const size tiles = (whole - first) / TILES * TILES;
        const size at_once = row < depth ? tiles : TILES; /* filters are neighbours: all of them for some taps, or all taps of a few */
        for (; tile < first + tiles; tile += at_once)
            for (size k = 0, n; k < depth; k += n) {
                for (n = 1; k + n < depth && tap[k + n] - tap[k] < F(lanes);) n++;
                for (size t = tile; t < tile + at_once; t += TILES)
                    F(conv_filters_turned)(to + t * panel + k * GEMM_ROWS, panel, weight + t * GEMM_ROWS * row, row, tap + k, n, end, k + n < depth);
            }
    }
#endif
    for (; tile < last; tile++) {
        const size rows = filters - tile * GEMM_ROWS < GEMM_ROWS ? filters - tile * GEMM_ROWS : GEMM_ROWS;
        const REAL *from = weight + tile * GEMM_ROWS * row;
        REAL *at = to + tile * panel;
        for (size k = 0; k < depth; k++, at += GEMM_ROWS)
            for (size i = 0; i < GEMM_ROWS; i++) at[i] = i < rows ? from[i * row + tap[k]] : 0;
    }
    for (size f = first * GEMM_ROWS; f < last * GEMM_ROWS && bias; f++)
        to[f / GEMM_ROWS * panel + depth * GEMM_ROWS + f % GEMM_ROWS] = f < filters ? bias[f] : 0;
}

/* Where the windows of a panel lie, and where their results go: runs of neighbours. */
struct F(panel) {
    size columns, moves, runs;
    size from[GEMM_COLUMNS], to[GEMM_COLUMNS], length[GEMM_COLUMNS]; /* of a move, by whole vectors; of a run of results */
    int place[GEMM_COLUMNS], column[GEMM_COLUMNS];
#ifdef PICKS
    int picks; /* whether each half of the columns lies in two vectors' lengths of the image */
    F(places) pick[2];
    size half[2];
#endif
};

#ifdef PICKS
/* Whether and where the columns of the two halves lie close enough to be picked out of two neighbouring vectors. */
static void F(conv_picks)(struct F(panel) *panel)
{
    const size lanes = F(lanes);
    panel->picks = panel->moves > 2;
    for (size m = 0, j = 0, n; m < panel->moves && panel->picks; m++, j += n) {
        n = (m + 1 < panel->moves ? panel->place[m + 1] : panel->columns) - j;
        for (size k = j; k < j + n; k++) {
            const size from = panel->from[m] + k - j, half = k / lanes;
            if (k % lanes == 0) panel->half[half] = from;
            if (from - panel->half[half] >= 2 * lanes) panel->picks = 0;
            panel->pick[half][k % lanes] = (int)(from - panel->half[half]);
        }
    }
    if (panel->columns < GEMM_COLUMNS) panel->picks = 0;
}
#endif

static void F(conv_panel)(struct F(panel) *panel, const struct windows *w, size at, size total)
{
    const struct lattice *v = w->lattice;
    const size lanes = GEMM_COLUMNS / 2, wide = v->count[2], high = v->count[1], deep = v->count[0];
    size x = at % wide, y = at / wide % high, z = at / (wide * high) % deep, n = at / (wide * high * deep), next = -1;
    panel->columns = total - at < GEMM_COLUMNS ? total - at : GEMM_COLUMNS;
    panel->runs = panel->moves = 0;
    for (size j = 0, length; j < panel->columns; j += length) {
        const size from = n * w->image + v->from + z * v->step[0] + y * v->step[1] + x;
        const size to = n * w->out_image + v->to + z * v->to_step[0] + y * v->to_step[1] + x * v->to_step[2];
        length = panel->columns - j < wide - x ? panel->columns - j : wide - x;
        for (size k = 0; k < length; k += lanes) panel->from[panel->moves] = from + k, panel->place[panel->moves++] = (int)(j + k);
        if (to != next) panel->to[panel->runs] = to, panel->length[panel->runs] = 0, panel->column[panel->runs++] = (int)j;
        panel->length[panel->runs - 1] += length;
        next = to + length * v->to_step[2];
        x = 0;
        if (++y == high) {
            y = 0;
            if (++z == deep) z = 0, n++;
        }
    }
#ifdef PICKS
    F(conv_picks)(panel);
#endif
}

/* What a panel or two further on will be read of a plane. Planes are so far apart that the processor does not see it coming. */
static inline void F(conv_await)(const REAL *from)
{
#ifdef __GNUC__
    for (size k = 0; k < GEMM_COLUMNS; k += 64 / (size)sizeof(REAL)) __builtin_prefetch(from + 2 * GEMM_COLUMNS + k, 0, 2);
#else
    (void)from;
#endif
}

/* The windows of a panel, a row for each tap. Whole vectors are moved: what is too much of one is written over by the next. */
static void F(conv_pack)(REAL *to, const struct F(panel) *panel, const REAL *source, const size *offset, size depth)
{
    if (panel->moves == 2 && panel->place[1] == GEMM_COLUMNS / 2) {
        const REAL *first = source + panel->from[0], *second = source + panel->from[1];
        for (size k = 0; k < depth; k++, to += GEMM_COLUMNS) {
            F(conv_await)(first + offset[k]);
            memcpy(to, first + offset[k], VECTOR_BYTES);
            memcpy(to + GEMM_COLUMNS / 2, second + offset[k], VECTOR_BYTES);
        }
        return;
    }
#ifdef PICKS
    if (panel->picks) {
        const REAL *first = source + panel->half[0], *second = source + panel->half[1];
        const F(places) pick = panel->pick[0], pick2 = panel->pick[1];
        for (size k = 0; k < depth; k++, to += GEMM_COLUMNS) {
            const REAL *a = first + offset[k], *b = second + offset[k];
            STORE(to, __builtin_shuffle(LOAD(a), LOAD(a + F(lanes)), pick));
            STORE(to + F(lanes), __builtin_shuffle(LOAD(b), LOAD(b + F(lanes)), pick2));
        }
        return;
    }
#endif
    for (size k = 0; k < depth; k++, to += GEMM_COLUMNS)
        for (size m = 0; m < panel->moves; m++) memcpy(to + panel->place[m], source + offset[k] + panel->from[m], VECTOR_BYTES);
}

/* Rows of a finished panel to where they belong. */
static void F(conv_unpack)(REAL *out, size out_filter, const struct F(panel) *panel, size step, const REAL *from, size rows)
{
    for (size i = 0; i < rows; i++, out += out_filter, from += GEMM_COLUMNS)
        for (size r = 0; r < panel->runs; r++) {
            REAL *to = out + panel->to[r];
            const REAL *row = from + panel->column[r];
            const size length = panel->length[r];
            if (step == 1) F(conv_move)(to, row, length);
            else
                for (size k = 0; k < length; k++) to[k * step] = row[k];
        }
}

/* As gemm_tile, the right side being a panel; `before` is added, if there is something. */
#define PANEL_TILE(name, ROWS, VECTORS)                                                                              \
    static void F(name)(REAL *c, size c_row, const REAL *restrict a, size a_row, size a_step, const REAL *restrict b, \
                        size depth, size block, const REAL *before, size before_row)                                 \
    {                                                                                                                \
        TILE_SUM(ROWS, VECTORS, depth, block, (a += a_step, b += GEMM_COLUMNS), b, a[i * a_row])                     \
        if (before) TILE_PLUS(ROWS, VECTORS, before, before_row)                                                     \
        TILE_LEAVE(ROWS, VECTORS, c, c_row, 0)                                                                       \
    }
PANEL_TILE(panel_tile, GEMM_ROWS, F(gemm_vectors))
PANEL_TILE(panel_narrow, GEMM_ROWS, F(gemm_vectors) / 2) /* half of the columns */
PANEL_TILE(panel_half, GEMM_ROWS / 2, F(gemm_vectors))
PANEL_TILE(panel_row, 1, F(gemm_vectors))
#undef PANEL_TILE

/* Some rows of a tile. Packed filters are filled up with zeros, so that more rows than there are may be computed. */
static void F(conv_tiles)(REAL *c, size c_row, const REAL *restrict a, size a_row, size a_step, const REAL *restrict right, size rows,
                          size columns, size depth, size block, const REAL *before, size before_row)
{
    if (columns <= GEMM_COLUMNS / 2 && (rows == GEMM_ROWS || a_row == 1)) F(panel_narrow)(c, c_row, a, a_row, a_step, right, depth, block, before, before_row);
    else if (rows > GEMM_ROWS / 2 && (rows == GEMM_ROWS || a_row == 1)) F(panel_tile)(c, c_row, a, a_row, a_step, right, depth, block, before, before_row);
    else if (a_row == 1) F(panel_half)(c, c_row, a, a_row, a_step, right, depth, block, before, before_row);
    else {
        const size half = rows >= GEMM_ROWS / 2 ? GEMM_ROWS / 2 : 0;
        if (half) F(panel_half)(c, c_row, a, a_row, a_step, right, depth, block, before, before_row);
        for (size i = half; i < rows; i++)
            F(panel_row)(c + i * c_row, c_row, a + i * a_row, a_row, a_step, right, depth, block, before ? before + i * before_row : NULL, before_row);
    }
}

/* The results of some images and some filters. */
static void F(conv_panels)(const struct windows *w)
{
    const struct lattice *v = w->lattice;
    const size total = w->images * v->count[0] * v->count[1] * v->count[2], depth = v->depth;
    const size high = (w->last - w->first + GEMM_ROWS - 1) / GEMM_ROWS * GEMM_ROWS;
    struct F(panel) panels[CONV_PANELS];
    REAL *right = w->work, *sums = right + (CONV_WHOLE + 1) * GEMM_COLUMNS;
    const size steps = depth <= CONV_WHOLE ? depth > 0 : (depth + CONV_DEPTH - 1) / CONV_DEPTH, step = steps ? (depth + steps - 1) / steps : 1, part = sum_block(depth);
    const int whole = steps < 2; /* without taps all is zero */
    const size most = w->weight ? CONV_FRESH : CONV_SUMS / (high * GEMM_COLUMNS), block = whole || most < 1 ? 1 : most < CONV_PANELS ? most : CONV_PANELS;
    memset(right, 0, (CONV_WHOLE + 1) * GEMM_COLUMNS * sizeof(REAL));
    for (size at = 0; at < total && !pool_stopped(); at += block * GEMM_COLUMNS) {
        size count = 0;
        for (size j = at; j < total && count < block; j += GEMM_COLUMNS) F(conv_panel)(&panels[count++], w, j, total);
        size p = 0;
        do {
            const size n = depth - p < step ? depth - p : step;
            const int last = w->bias && p + n == depth;
            if (w->weight && n)
                F(conv_filters)(w->packed, (const REAL *)w->weight + w->first * w->filter_step, w->filter_step, v->tap + p, n - last,
                                last ? (const REAL *)w->filter_bias + w->first : NULL, w->filters - w->first, 0, high / GEMM_ROWS);
            for (size j = 0; j < count && !pool_stopped(); j++) {
                const struct F(panel) *panel = &panels[j];
                const size taps = n - last;
                F(conv_pack)(right, panel, w->source, v->offset + p, taps);
                if (taps < n)
                    for (size k = 0; k < GEMM_COLUMNS; k++) right[taps * GEMM_COLUMNS + k] = 1;
                const int done = p + n == depth, straight = done && panel->runs == 1 && panel->columns == GEMM_COLUMNS && v->to_step[2] == 1;
                for (size f = w->first; f < w->last; f += GEMM_ROWS) {
                    const size rows = w->last - f < GEMM_ROWS ? w->last - f : GEMM_ROWS;
                    const REAL *a = w->weight ? (const REAL *)w->packed + (f - w->first) * n
                                              : (const REAL *)w->left + (v->left_row ? f * v->left_row + p : f * depth + p * GEMM_ROWS);
                    const size a_row = v->left_row ? v->left_row : 1, a_step = v->left_row ? 1 : GEMM_ROWS;
                    REAL *out = (REAL *)w->out + f * w->out_filter, *tile = whole ? sums : sums + (j * high + f - w->first) * GEMM_COLUMNS;
                    const REAL *before = p ? tile : NULL;
                    if (straight && rows == GEMM_ROWS) {
                        if (n >= GEMM_FETCHES / 4) TILE_FETCH(GEMM_ROWS, out + panel->to[0], w->out_filter)
                        F(conv_tiles)(out + panel->to[0], w->out_filter, a, a_row, a_step, right, rows, GEMM_COLUMNS, n, part, before, GEMM_COLUMNS);
                        continue;
                    }
                    F(conv_tiles)(tile, GEMM_COLUMNS, a, a_row, a_step, right, rows, panel->columns, n, part, before, GEMM_COLUMNS);
                    if (done) F(conv_unpack)(out, w->out_filter, panel, v->to_step[2], tile, rows);
                }
            }
        } while ((p += step) < depth);
    }
}

/* The same, as many filters at a time as stay in the second cache for some panels, or whose sums do. */
static void F(conv_windows)(const struct windows *w)
{
    const struct lattice *v = w->lattice;
    const size fit = CONV_SUMS / (v->depth <= CONV_WHOLE && v->depth ? v->depth : CONV_FRESH * GEMM_COLUMNS), block = fit / GEMM_ROWS * GEMM_ROWS;
    struct windows some = *w;
    if (w->weight || w->last - w->first <= 2 * block) {
        F(conv_panels)(w);
        return;
    }
    for (; some.first < w->last; some.first = some.last) {
        some.last = w->last - some.first < 3 * block / 2 ? w->last : some.first + block;
        F(conv_panels)(&some);
    }
}

/* ---- windows where they lie ----
 *
 * Where few filters meet the windows, to pack them would take longer than the product. Neighbours in a row of results have
 * windows that are neighbours in the image. `flat`: a plane is one line, as long as its rows in the image; what is computed
 * for places between rows, where no window begins, is left out. Otherwise each row is a line. */

#define CONV_TILE(name, ROWS, VECTORS)                                                                               \
    static void F(name)(REAL *restrict c, size c_row, const REAL *restrict a, const REAL *restrict b,                \
                        const size *restrict offset, size depth, const REAL *restrict start)                         \
    {                                                                                                                \
        const size block = sum_block(depth);                                                                         \
        TILE_SUM(ROWS, VECTORS, depth, block, a += GEMM_ROWS, b + offset[p], a[i])                                   \
        for (int i = 0; i < ROWS; i++)                                                                               \
            for (int j = 0; j < VECTORS; j++) tile[i][j] += start[i];                                                \
        TILE_LEAVE(ROWS, VECTORS, c, c_row, 0)                                                                       \
    }
CONV_TILE(conv_tile, GEMM_ROWS, F(gemm_vectors))
CONV_TILE(conv_half, GEMM_ROWS / 2, F(gemm_vectors))
CONV_TILE(conv_row, 1, F(gemm_vectors))
CONV_TILE(conv_row2, 1, 2 * F(gemm_vectors))
CONV_TILE(conv_row4, 1, 4 * F(gemm_vectors))
CONV_TILE(conv_pair, 2, F(gemm_vectors))
CONV_TILE(conv_pair2, 2, 2 * F(gemm_vectors))
CONV_TILE(conv_pair4, 2, 4 * F(gemm_vectors)) /* where there are so many registers */
#undef CONV_TILE

/* What a tile holds of a plane's results: n places from (y, x) on, of rows of `row`. */
static void F(conv_leave_out)(REAL *out, size out_filter, const struct lattice *v, size y, size x, size n, size row, const REAL *tile, size tile_row, size rows)
{
    for (size j = 0; j < n; j += row - x, x = 0, y++) {
        const size length = v->count[2] - x < n - j ? v->count[2] - x : n - j;
        for (size i = 0; i < rows && length > 0; i++) {
            REAL *to = out + i * out_filter + y * v->to_step[1] + x * v->to_step[2];
            const REAL *from = tile + i * tile_row + j;
            if (v->to_step[2] == 1) F(conv_move)(to, from, length);
            else
                for (size k = 0; k < length; k++) to[k * v->to_step[2]] = from[k];
        }
    }
}

/* Some rows of a plane's results. Rows follow each other: what a vector writes behind one is written over by the next. */
static void F(conv_rows)(REAL *to, const struct lattice *v, size length, const REAL *from, size from_row, size rows)
{
    const size row = v->to_step[1], lanes = GEMM_COLUMNS / 2;
    for (size y = 0; y < rows; y++, to += row, from += from_row) {
        if (v->to_step[2] > 1)
            for (size k = 0; k < length; k++) to[k * v->to_step[2]] = from[k];
        else if (row == length && (rows - 1 - y) * row >= lanes)
            for (size k = 0; k < length; k += lanes) memcpy(to + k, from + k, VECTOR_BYTES);
        else F(conv_move)(to, from, length);
    }
}

/* A stretch of the results of a filter, or of two, `to_row` apart. */
static void F(conv_stretch)(REAL *to, size to_row, const REAL *a, const REAL *seen, size length, const size *offset, size taps, const REAL *start, int two)
{
    size at = 0;
    if (two) {
        for (; VECTOR_BYTES == 64 && length - at > 2 * GEMM_COLUMNS; at += 4 * GEMM_COLUMNS) F(conv_pair4)(to + at, to_row, a, seen + at, offset, taps, start);
        for (; length - at > GEMM_COLUMNS; at += 2 * GEMM_COLUMNS) F(conv_pair2)(to + at, to_row, a, seen + at, offset, taps, start);
        for (; at < length; at += GEMM_COLUMNS) F(conv_pair)(to + at, to_row, a, seen + at, offset, taps, start);
        return;
    }
    for (; length - at > 2 * GEMM_COLUMNS; at += 4 * GEMM_COLUMNS) F(conv_row4)(to + at, 0, a, seen + at, offset, taps, start);
    for (; length - at > GEMM_COLUMNS; at += 2 * GEMM_COLUMNS) F(conv_row2)(to + at, 0, a, seen + at, offset, taps, start);
    for (; at < length; at += GEMM_COLUMNS) F(conv_row)(to + at, 0, a, seen + at, offset, taps, start);
}

/* The results of some images and a filter or two: a plane at a time, or as much of it as stays in the first cache. */
static void F(conv_thin)(const struct windows *w)
{
    const struct lattice *v = w->lattice;
    const size taps = v->depth - w->bias, row = w->flat ? v->step[1] : v->count[2], most = CONV_THIN / row;
    const size high = w->flat ? most < 1 ? 1 : most < v->count[1] ? most : v->count[1] : 1;
    const size wide = high > 1 || v->count[2] < CONV_THIN ? v->count[2] : CONV_THIN; /* long rows are cut */
    const size results_row = CONV_THIN + 4 * GEMM_COLUMNS;
    REAL *results = w->work;
    static const REAL none[GEMM_ROWS];
    for (size plane = 0; plane < w->images * v->count[0]; plane++)
        for (size f = w->first, two; f < w->last; f += 1 + two) {
            const size n = plane / v->count[0], z = plane % v->count[0];
            two = f + 1 < w->last && f % GEMM_ROWS + 1 < GEMM_ROWS; /* in one panel */
            const REAL *a = (const REAL *)w->left + f / GEMM_ROWS * GEMM_ROWS * v->depth + f % GEMM_ROWS, *start = w->bias ? a + taps * GEMM_ROWS : none;
            const REAL *from = (const REAL *)w->source + n * w->image + v->from + z * v->step[0];
            REAL *out = (REAL *)w->out + f * w->out_filter + n * w->out_image + v->to + z * v->to_step[0];
            for (size y = 0, rows; y < v->count[1] && (!y || !pool_stopped()); y += rows, from += rows * v->step[1]) {
                rows = v->count[1] - y < high ? v->count[1] - y : high;
                for (size x = 0; x < v->count[2]; x += wide) {
                    const size columns = v->count[2] - x < wide ? v->count[2] - x : wide;
                    F(conv_stretch)(results, results_row, a, from + x, (rows - 1) * row + columns, v->offset, taps, start, (int)two);
                    for (size k = 0; k <= two; k++)
                        F(conv_rows)(out + k * w->out_filter + y * v->to_step[1] + x * v->to_step[2], v, columns, results + k * results_row, row, rows);
                }
            }
        }
}

#include "conv_lines.inc.h"

/* The results of some images and some filters. */
static void F(conv_in_place)(const struct windows *w)
{
    const struct lattice *v = w->lattice;
    if (w->lines) {
        F(conv_lines)(w);
        return;
    }
    const size planes = w->images * v->count[0], taps = v->depth - w->bias;
    const size lines = w->flat ? 1 : v->count[1], row = w->flat ? v->step[1] : v->count[2], length = row * ((w->flat ? v->count[1] : 1) - 1) + v->count[2];
    REAL *tile = w->work;
    static const REAL zeros[GEMM_ROWS];
    for (size line = 0; line < planes * lines && !pool_stopped(); line++) {
        const size plane = line / lines, y0 = line % lines, n = plane / v->count[0], z = plane % v->count[0];
        const REAL *source = (const REAL *)w->source + n * w->image + v->from + z * v->step[0] + y0 * v->step[1];
        REAL *out = (REAL *)w->out + n * w->out_image + v->to + z * v->to_step[0];
        for (size at = 0, x = 0, y = y0; at < length; at += GEMM_COLUMNS, x += GEMM_COLUMNS) {
            for (; x >= row; x -= row) y++;
            const int inside = v->to_step[2] == 1 && x + GEMM_COLUMNS <= v->count[2];
            for (size f = w->first; f < w->last; f += GEMM_ROWS) {
                const REAL *a = (const REAL *)w->left + f * v->depth, *start = w->bias ? a + taps * GEMM_ROWS : zeros;
                const size rows = w->last - f < GEMM_ROWS ? w->last - f : GEMM_ROWS;
                REAL *to = out + f * w->out_filter;
                if (inside && rows == GEMM_ROWS) {
                    F(conv_tile)(to + y * v->to_step[1] + x, w->out_filter, a, source + at, v->offset, taps, start);
                    continue;
                }
                if (rows <= GEMM_ROWS / 2) F(conv_half)(tile, GEMM_COLUMNS, a, source + at, v->offset, taps, start);
                else F(conv_tile)(tile, GEMM_COLUMNS, a, source + at, v->offset, taps, start);
                F(conv_leave_out)(to, w->out_filter, v, y, x, length - at < GEMM_COLUMNS ? length - at : GEMM_COLUMNS, row, tile, GEMM_COLUMNS, rows);
            }
        }
    }
}
