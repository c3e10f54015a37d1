/* ---- gradients of filters ---- */

/* c (taps x filters, c_row apart) = or += the sum over windows of source[place + offset] * g, g being windows x filters. */
#define CONV_WEIGHT_TILE(name, ROWS, VECTORS)                                                                        \
    static void F(name)(REAL *restrict c, size c_row, const REAL *restrict source, const size *restrict offset,      \
                        const REAL *restrict g, size g_row, const size *restrict place, size count, size block, int add) \
    {                                                                                                                \
        const REAL *at[ROWS];                                                                                        \
        for (int i = 0; i < ROWS; i++) at[i] = source + offset[i];                                                   \
        if (add && count >= GEMM_FETCHES) TILE_FETCH(ROWS, c, c_row)                                                 \
        TILE_SUM(ROWS, VECTORS, count, block, g += g_row, g, at[i][place[p]])                                        \
        TILE_LEAVE(ROWS, VECTORS, c, c_row, add)                                                                     \
    }
CONV_WEIGHT_TILE(conv_weight_tile, GEMM_ROWS, F(gemm_vectors))
CONV_WEIGHT_TILE(conv_weight_narrow, 2 * GEMM_ROWS, F(gemm_vectors) / 2)
CONV_WEIGHT_TILE(conv_weight_short, GEMM_ROWS, F(gemm_vectors) / 2)
#undef CONV_WEIGHT_TILE

/* The same for taps of which three each lie side by side: so many threes need fewer registers for places than as many single taps. */
#define CONV_WEIGHT_THREES(name, THREES, VECTORS)                                                                    \
    static void F(name)(REAL *restrict c, size c_row, const REAL *restrict source, const size *restrict offset,      \
                        const REAL *restrict g, size g_row, const size *restrict place, size count, size block, int add) \
    {                                                                                                                \
        const REAL *at[THREES];                                                                                      \
        for (int i = 0; i < THREES; i++) at[i] = source + offset[3 * i];                                             \
        if (add && count >= GEMM_FETCHES) TILE_FETCH(3 * THREES, c, c_row)                                           \
        TILE_SUM(3 * THREES, VECTORS, count, block, g += g_row, g, at[i / 3][place[p] + i % 3])                      \
        TILE_LEAVE(3 * THREES, VECTORS, c, c_row, add)                                                               \
    }
CONV_WEIGHT_THREES(conv_weight_three, 1, F(gemm_vectors))
CONV_WEIGHT_THREES(conv_weight_narrow3, 1, F(gemm_vectors) / 2)
#if VECTOR_BYTES == 64
#define CONV_THREES(X) X(4, 2) X(3, 2) X(9, 1) X(8, 1) X(4, 1)
#else
#define CONV_THREES(X) X(2, 2) X(4, 1)
#endif
#define ONE_SIZE(THREES, HALVES) CONV_WEIGHT_THREES(conv_weight_##THREES##_##HALVES, THREES, F(gemm_vectors) / 2 * HALVES)
CONV_THREES(ONE_SIZE)
#undef ONE_SIZE
#undef CONV_WEIGHT_THREES

/* As many of n threes as there is a tile for; such whose number divides n come first. Returned is how many. */
static size F(conv_weight_threes)(REAL *c, const struct weights *w, size tap, size n, const REAL *g, size wide, const size *place, size count, int add)
{
    const size halves = wide == GEMM_COLUMNS ? 2 : 1, *offset = w->offset + tap;
#define ONE_SIZE(THREES, HALVES)                                                                                     \
    if (halves == HALVES && n >= THREES && (n % THREES == 0 || whole == 0)) {                                        \
        F(conv_weight_##THREES##_##HALVES)(c, w->sums_row, w->source, offset, g, wide, place, count, w->block, add); \
        return THREES;                                                                                               \
    }
    for (int whole = 1; whole >= 0; whole--) {
        CONV_THREES(ONE_SIZE)
    }
#undef ONE_SIZE
    (halves == 2 ? F(conv_weight_three) : F(conv_weight_narrow3))(c, w->sums_row, w->source, offset, g, wide, place, count, w->block, add);
    return 1;
}

/* Gradients of filters in panels of a tile's width, or half of it, a row for each window; missing filters are zero. */
static void F(conv_gradients)(REAL *to, const struct weights *w, size begin, size end)
{
    const size lanes = GEMM_COLUMNS / 2, pixels = w->pixels;
    for (size f = 0, wide; f < w->filters; f += wide) {
        wide = w->filters - f <= lanes ? lanes : GEMM_COLUMNS;
        for (size p = begin, length; p < end; p += length, to += length * wide) {
            const REAL *from = (const REAL *)w->grad + p / pixels * w->grad_image + f * pixels + p % pixels;
            length = end - p < pixels - p % pixels ? end - p : pixels - p % pixels;
            for (size j0 = 0; j0 < wide; j0 += lanes) {
                const size there = w->filters - f - j0 < lanes ? w->filters - f - j0 : lanes;
                size k = 0;
#ifdef TURNS
                for (; there == lanes && k + lanes <= length; k += lanes) {
                    F(vector) square[F(lanes)];
                    for (int j = 0; j < F(lanes); j++) square[j] = LOAD(from + (j0 + j) * pixels + k);
                    F(turn)(square);
                    for (int i = 0; i < F(lanes); i++) STORE(to + (k + i) * wide + j0, square[i]);
                }
#endif
                for (; k < length; k++)
                    for (size j = 0; j < lanes; j++) to[k * wide + j0 + j] = j < there ? from[(j0 + j) * pixels + k] : 0;
            }
        }
    }
}

/* What `count` windows from `begin` on, whose gradients are packed, add to the sums of some taps. */
static void F(conv_weights_part)(const struct weights *w, size begin, size count, size first, size taps)
{
    const size lanes = GEMM_COLUMNS / 2, *place = w->place + begin, end = first + taps;
    const int add = w->add || begin;
    const REAL *g = w->work;
    for (size f = 0, wide; f < w->filters; f += wide, g += count * wide) {
        wide = w->filters - f <= lanes ? lanes : GEMM_COLUMNS;
        for (size t = first, rows; t < end && !pool_stopped(); t += rows) {
            REAL *sums = t + GEMM_ROWS > w->whole ? (REAL *)w->last + f : (REAL *)w->sums + t * w->sums_row + f;
            rows = GEMM_ROWS;
            if (w->threes) rows = 3 * F(conv_weight_threes)(sums, w, t, (end - t) / 3, g, wide, place, count, add);
            else if (wide == GEMM_COLUMNS) F(conv_weight_tile)(sums, w->sums_row, w->source, w->offset + t, g, wide, place, count, w->block, add);
            else if (t + GEMM_ROWS >= end) F(conv_weight_short)(sums, w->sums_row, w->source, w->offset + t, g, wide, place, count, w->block, add);
            else {
                rows = 2 * GEMM_ROWS;
                F(conv_weight_narrow)(sums, w->sums_row, w->source, w->offset + t, g, wide, place, count, w->block, add);
            }
        }
    }
}

/* sums (taps x filters, whole tiles of both) = or += what some images add: as many windows at a time as CONV_WINDOWS or somewhat more, so
 * that none are left for a short last time, which would take all sums to the caches once more. */
static void F(conv_weights)(const struct weights *w)
{
    const size total = w->images * w->pixels, some = w->threes ? w->taps : 48 * GEMM_ROWS;
    const size times = (total + (CONV_WINDOWS + CONV_WINDOWS / 8) - 1) / (CONV_WINDOWS + CONV_WINDOWS / 8), windows = (total + times - 1) / times;
    for (size begin = 0; begin < total && !pool_stopped(); begin += windows) {
        const size end = begin + windows < total ? begin + windows : total, count = end - begin;
        F(conv_gradients)(w->work, w, begin, end);
        for (size first = 0; first < w->taps; first += some) /* taps whose images stay in the second cache while all filters meet them */
            F(conv_weights_part)(w, begin, count, first, w->taps - first < some ? w->taps - first : some);
    }
}

/* From one filter's gradients to the next: more than a page, so that they are not all in the same set of the first cache. */
enum { F(dot_row) = CONV_PLACES + VECTOR_BYTES / sizeof(REAL) };

/* Where few filters fill no vector, vectors run over windows: c (taps x filters) = or += the sum over the places of lines, `pitch` long
 * and a whole number of vectors, that begin at `line` in the image; the gradients of a filter lie at their places, zeros
 * between. From the first lines to the last, sums of lanes are `kept`; then lanes are added up. */
#if defined(__GNUC__) && VECTOR_BYTES > 16 /* a number that is read once for all products, not for each of them */
#define KEEP(x) __asm__("" : "+v"(x))
#else
#define KEEP(x) (void)(x)
#endif
#define CONV_DOTS(name, FILTERS, TAPS)                                                                               \
    static void F(name)(REAL *restrict c, size c_row, const REAL *restrict g, const REAL *restrict source,           \
                        const size *restrict offset, const size *restrict line, size lines, size pitch, size filters, size taps, int add, \
                        REAL *restrict kept, int first, int last)                                                    \
    {                                                                                                                \
        F(vector) sum[TAPS][FILTERS];                                                                                \
        for (int i = 0; i < TAPS; i++)                                                                               \
            for (int f = 0; f < FILTERS; f++) sum[i][f] = (F(vector)){0};                                            \
        size at[TAPS];                                                                                               \
        for (int i = 0; i < TAPS; i++) at[i] = offset[i];                                                            \
        for (size k = 0; k < lines; k++) {                                                                           \
            const REAL *from = source + line[k];                                                                     \
            for (size x = 0; x < pitch; x += F(gemm_step), from += F(gemm_step), g += F(gemm_step)) {                \
                F(vector) few[FILTERS < TAPS ? FILTERS : TAPS];                                                      \
                if (FILTERS < TAPS) {                                                                                \
                    for (int f = 0; f < FILTERS; f++) few[f] = LOAD(g + f * F(dot_row));                             \
                    for (int i = 0; i < TAPS; i++) {                                                                 \
                        F(vector) seen = LOAD(from + at[i]);                                                         \
                        KEEP(seen);                                                                                  \
                        for (int f = 0; f < FILTERS; f++) sum[i][f] += seen * few[f];                                \
                    }                                                                                                \
                } else {                                                                                             \
                    for (int i = 0; i < TAPS; i++) few[i] = LOAD(from + at[i]);                                      \
                    for (int f = 0; f < FILTERS; f++) {                                                              \
                        F(vector) y = LOAD(g + f * F(dot_row));                                                      \
                        KEEP(y);                                                                                     \
                        for (int i = 0; i < TAPS; i++) sum[i][f] += few[i] * y;                                      \
                    }                                                                                                \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
        for (int i = 0; i < TAPS && !first; i++)                                                                     \
            for (int f = 0; f < FILTERS; f++) sum[i][f] += LOAD(kept + (i * FILTERS + f) * F(gemm_step));            \
        for (int i = 0; i < TAPS && !last; i++)                                                                      \
            for (int f = 0; f < FILTERS; f++) STORE(kept + (i * FILTERS + f) * F(gemm_step), sum[i][f]);             \
        for (size i = 0; i < TAPS && i < taps && last; i++) {                                                        \
            REAL total[FILTERS];                                                                                     \
            F(conv_totals)(total, sum[i], FILTERS);                                                                  \
            for (size f = 0; f < FILTERS && f < filters; f++) c[i * c_row + f] = total[f] + (add ? c[i * c_row + f] : 0); \
        }                                                                                                            \
    }
static inline void F(conv_totals)(REAL *total, const F(vector) *sum, const int filters)
{
#ifdef TURNS
    if (filters == 8) {
        F(conv_totals)(total, sum, 4);
        F(conv_totals)(total + 4, sum + 4, 4);
        return;
    }
    if (filters == 4 && F(lanes) >= 4) { /* numbers of two filters take turns, then of four */
        F(places) one, two, low, high;
        for (int k = 0; k < F(lanes); k++) {
            one[k] = k / 2 * 2 + k % 2 * F(lanes), two[k] = one[k] + 1;
            low[k] = k / 4 * 4 + k % 2 + k / 2 % 2 * F(lanes), high[k] = low[k] + 2;
        }
        const F(vector) first = __builtin_shuffle(sum[0], sum[1], one) + __builtin_shuffle(sum[0], sum[1], two);
        const F(vector) second = __builtin_shuffle(sum[2], sum[3], one) + __builtin_shuffle(sum[2], sum[3], two);
        REAL part[F(lanes) < 4 ? 4 : F(lanes)];
        STORE(part, __builtin_shuffle(first, second, low) + __builtin_shuffle(first, second, high));
        for (int f = 0; f < 4; f++) {
            total[f] = part[f];
            for (int k = 4; k < F(lanes); k += 4) total[f] += part[k + f];
        }
        return;
    }
#endif
    for (int f = 0; f < filters; f++) {
        REAL part[F(gemm_step)];
        STORE(part, sum[f]);
        for (size h = F(gemm_step) / 2; h; h /= 2)
            for (size k = 0; k < h; k++) part[k] += part[k + h];
        total[f] = part[0];
    }
}
enum { F(dot_filters) = VECTOR_BYTES == 64 ? 8 : 4, F(dot_taps) = VECTOR_BYTES == 64 ? 6 : 3 };
CONV_DOTS(conv_dots8, F(dot_filters), 3) /* fewer in vain at the end of the taps */
CONV_DOTS(conv_dots4, 4, F(dot_taps))
CONV_DOTS(conv_dots2, 2, F(dot_taps))
CONV_DOTS(conv_dots1, 1, 9)
#undef CONV_DOTS
#undef KEEP

/* Some rows of gradients, to their places in a line, after `before` rows of zeros; so many numbers follow those of the rows. */
static void F(conv_line)(REAL *to, size pitch, size before, const REAL *grad, size rows, size row, size length, size behind)
{
    memset(to, 0, pitch * sizeof(REAL));
    to += before * row;
    for (size y = 0; y < rows; y++, to += row, grad += length)
        if ((rows - 1 - y) * length >= GEMM_COLUMNS / 2 || (rows + before == 1 && behind >= GEMM_COLUMNS / 2)) F(conv_move_on)(to, grad, length);
        else F(conv_move)(to, grad, length);
}

/* The same for few filters, a few lines at a time: as many as stay in the first cache with some filters' gradients. A line is some
 * rows of a plane or, where rows do not follow each other, one. */
static void F(conv_dots)(const struct weights *w)
{
    const struct lattice *v = w->lattice;
    const size lanes = GEMM_COLUMNS / 2, most = w->flat ? CONV_PLACES / v->step[1] : 1, high = most < v->count[1] ? most : v->count[1];
    const size wide = v->count[2] < CONV_PLACES ? v->count[2] : CONV_PLACES, cuts = (v->count[2] + wide - 1) / wide, row = w->flat ? v->step[1] : 1;
    const size pitch = ((high - 1) * row + wide + lanes - 1) / lanes * lanes, strips = (v->count[1] + high - 1) / high * cuts;
    const int short_rows = pitch == lanes && wide < lanes / 2; /* the sums of a few lanes would be long */
    const size most_lines = short_rows ? CONV_LINES / 4 : CONV_LINES, at_once = CONV_PLACES / pitch < most_lines ? CONV_PLACES / pitch : most_lines;
    const size total = w->images * v->count[0] * strips;
    REAL *g = (REAL *)(((uintptr_t)w->work + 63) / 64 * 64), *const kept = g + 8 * (size)F(dot_row);
    const int keep = v->depth <= CONV_KEPT;
    size line[CONV_LINES];
    for (size f = 0, filters; f < w->filters; f += filters) {
        const size there = w->filters - f;
        filters = there < F(dot_filters) ? there : F(dot_filters);
        memset(g, 0, F(dot_filters) * F(dot_row) * sizeof(REAL));
        for (size at = 0, lines; at < total && !pool_stopped(); at += lines) {
            lines = total - at < at_once ? total - at : at_once;
            for (size k = 0; k < lines; k++) {
                const size plane = (at + k) / strips, n = plane / v->count[0], z = plane % v->count[0], part = (at + k) % strips;
                const size y = part / cuts * high, x = part % cuts * wide; /* the last ones begin earlier, so that they lie in the image, too */
                const size y0 = y + high > v->count[1] ? v->count[1] - high : y, x0 = x + wide > v->count[2] ? v->count[2] - wide : x;
                const size rows = y0 + high - y, length = x0 + wide - x, done = (z * v->count[1] + y) * v->count[2] + x;
                const REAL *grad = (const REAL *)w->grad + n * w->grad_image + f * w->pixels + done;
                line[k] = n * w->image + z * v->step[0] + y0 * v->step[1] + x0;
                for (size i = 0; i < filters; i++)
                    F(conv_line)(g + i * F(dot_row) + k * pitch, pitch, w->flat ? y - y0 : x - x0, grad + i * w->pixels, rows, row, length,
                                 (filters - i) * w->pixels - done - rows * length);
            }
            for (size t = 0, taps; t < w->taps; t += taps) {
                REAL *sums = (REAL *)w->sums + t * w->sums_row + f;
                const size left = w->taps - t;
                REAL *const sum = kept + (keep ? t * 8 * lanes : 0);
                const int add = w->add || (at && !keep), first = !keep || !at, last = !keep || at + lines == total;
                taps = filters == 1 ? 9 : filters == 2 || (filters <= 4 && F(dot_filters) > 4) ? F(dot_taps) : 3;
                if (filters == 1) F(conv_dots1)(sums, w->sums_row, g, w->source, w->offset + t, line, lines, pitch, 1, left, add, sum, first, last);
                else if (filters == 2) F(conv_dots2)(sums, w->sums_row, g, w->source, w->offset + t, line, lines, pitch, 2, left, add, sum, first, last);
                else if (taps == 3) F(conv_dots8)(sums, w->sums_row, g, w->source, w->offset + t, line, lines, pitch, filters, left, add, sum, first, last);
                else F(conv_dots4)(sums, w->sums_row, g, w->source, w->offset + t, line, lines, pitch, filters, left, add, sum, first, last);
            }
        }
    }
}

/* Sums of taps and filters, to filters and taps. */
static void F(conv_sums)(REAL *restrict to, size to_row, const REAL *restrict from, size from_row, size filters, const size *restrict tap, size taps)
{
    const size lanes = GEMM_COLUMNS / 2, dense = taps && tap[taps - 1] - tap[0] == taps - 1;
    size t = 0;
#ifdef TURNS
    for (; dense && filters == lanes && t + lanes <= taps; t += lanes) {
        F(vector) square[F(lanes)];
        for (int j = 0; j < F(lanes); j++) square[j] = LOAD(from + (t + j) * from_row);
        F(turn)(square);
        for (int i = 0; i < F(lanes); i++) STORE(to + i * to_row + tap[t], square[i]);
    }
#endif
    (void)lanes, (void)dense;
    for (; t < taps; t++)
        for (size f = 0; f < filters; f++) to[f * to_row + tap[t]] = from[t * from_row + f];
}
