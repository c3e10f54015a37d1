/* Gradients of convolutions that few windows see, by columns: a column is what one tap of a filter sees in each window. Filters are
 * read, or gradients in them written, as they lie in memory: where there are few windows, turning filters would take longer than the
 * products. */

/* Gradients of results as the left side of a product: in tiles of filters if `filters_first`, a row for each window, else the other way. */
static void F(conv_columns_left)(REAL *to, const REAL *from, const struct columns *w, int filters_first)
{
    const size wide = filters_first ? w->filters : w->windows, deep = filters_first ? w->windows : w->filters;
    for (size i0 = 0; i0 < wide; i0 += GEMM_ROWS) {
        const size there = wide - i0 < GEMM_ROWS ? wide - i0 : GEMM_ROWS;
        size at[GEMM_ROWS] = {0};
        if (filters_first && there == GEMM_ROWS) {
            for (size p = 0, step = w->results * GEMM_ROWS; p < deep; p += w->results, to += step)
                F(gemm_pack_panel)(to, from + p / w->results * w->grad_image + i0 * w->results, w->results, w->results);
            continue;
        }
        for (size i = 0; i < there; i++) at[i] = filters_first ? (i0 + i) * w->results : (i0 + i) / w->results * w->grad_image + (i0 + i) % w->results;
        const int beside = there == GEMM_ROWS && at[GEMM_ROWS - 1] - at[0] == GEMM_ROWS - 1; /* windows of one image */
        for (size p = 0, left = w->results; p < deep; p++, to += GEMM_ROWS) {
            if (beside) {
                memcpy(to, from + at[0] + p * w->results, GEMM_ROWS * sizeof(REAL));
                continue;
            }
            for (size i = 0; i < GEMM_ROWS; i++) to[i] = i < there ? from[at[i]] : 0;
            size step = filters_first ? 1 : w->results;
            if (filters_first && !--left) left = w->results, step += w->grad_image - w->results;
            for (size i = 0; i < there; i++) at[i] += step;
        }
    }
}

#ifdef TURNS
typedef unsigned char F(column_bytes) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#endif

/* Where the numbers of a panel go: columns from `begin` to `end`, those between that see nothing being zero. */
struct F(spread) {
    size begin, end, first, there; /* the panel's columns in the list of those that see something */
    int dense;
#ifdef TURNS
    int vectors; /* 0: too many */
    F(places) from[COLUMN_SPREAD];
    F(column_bytes) mask[COLUMN_SPREAD];
#endif
};
static void F(conv_spread)(struct F(spread) *s, const struct columns *w, size c)
{
    const size *seen = w->seen + c;
    s->there = w->count - c < GEMM_COLUMNS ? w->count - c : GEMM_COLUMNS, s->first = c;
    s->begin = c ? seen[0] : 0, s->end = c + s->there < w->count ? seen[s->there] : w->columns;
    s->dense = s->there == GEMM_COLUMNS && s->end - s->begin == GEMM_COLUMNS;
#ifdef TURNS
    const size vectors = (s->end - s->begin + F(lanes) - 1) / F(lanes);
    s->vectors = s->dense || vectors > COLUMN_SPREAD ? 0 : (int)vectors;
    memset(s->from, 0, sizeof s->from);
    memset(s->mask, 0, sizeof s->mask);
    for (size j = 0; j < s->there && s->vectors; j++) {
        const size at = seen[j] - s->begin;
        s->from[at / F(lanes)][at % F(lanes)] = (int)j;
        memset((char *)s->mask + at * sizeof(REAL), 255, sizeof(REAL));
    }
#endif
}
static void F(conv_spread_row)(REAL *row, const struct F(spread) *s, const struct columns *w, const REAL *from)
{
    REAL *to = row + s->begin;
#ifdef TURNS
    const F(vector) low = LOAD(from), high = LOAD(from + F(lanes));
    for (int k = 0; k < s->vectors; k++, to += F(lanes)) {
        const F(vector) numbers = (F(vector))((F(column_bytes))__builtin_shuffle(low, high, s->from[k]) & s->mask[k]);
        if (to + F(lanes) <= row + w->columns) STORE(to, numbers); /* what is too much is written over by the next panel */
        else {
            REAL part[F(lanes)];
            STORE(part, numbers);
            F(conv_move)(to, part, row + w->columns - to);
        }
    }
    if (s->vectors) return;
#endif
    memset(to, 0, (s->end - s->begin) * sizeof(REAL));
    for (size j = 0; j < s->there; j++) row[w->seen[s->first + j]] = from[j];
}

/* The gradient in the filters, for some columns: out (filters x columns, `row` apart) = gradients x what the columns see. */
static void F(conv_columns_weights)(const struct columns *w)
{
    const size most = COLUMN_PANELS * GEMM_COLUMNS, part = sum_block(w->windows);
    REAL *right = w->work, tile[GEMM_ROWS * GEMM_COLUMNS];
    struct F(spread) spread[COLUMN_PANELS];
    for (size c0 = 0, count; c0 < w->count && !pool_stopped(); c0 += count) {
        count = w->count - c0 < most ? w->count - c0 : most;
        const size panels = (count + GEMM_COLUMNS - 1) / GEMM_COLUMNS;
        for (size k = 0; k < panels; k++) {
            const size c = c0 + k * GEMM_COLUMNS, *offset = w->offset + c;
            REAL *to = right + k * GEMM_COLUMNS * w->windows;
            F(conv_spread)(&spread[k], w, c);
            for (size p = 0; p < w->windows; p++, to += GEMM_COLUMNS) {
                const REAL *from = (const REAL *)w->source + w->place[p];
                if (spread[k].there < GEMM_COLUMNS)
                    for (size j = 0; j < GEMM_COLUMNS; j++) to[j] = j < spread[k].there ? from[offset[j]] : 0;
                else
                    for (size j = 0; j < GEMM_COLUMNS; j++) to[j] = from[offset[j]];
            }
        }
        const REAL *left = w->left;
        for (size f = 0; f < w->filters; f += GEMM_ROWS, left += GEMM_ROWS * w->windows)
            for (size k = 0; k < panels; k++) {
                REAL *to = (REAL *)w->out + f * w->row;
                const REAL *panel = right + k * GEMM_COLUMNS * w->windows;
                const size rows = w->filters - f < GEMM_ROWS ? w->filters - f : GEMM_ROWS;
                if (rows == GEMM_ROWS && spread[k].dense) {
                    F(conv_tiles)(to + spread[k].begin, w->row, left, 1, GEMM_ROWS, panel, GEMM_ROWS, GEMM_COLUMNS, w->windows, part, NULL, 0);
                    continue;
                }
                F(conv_tiles)(tile, GEMM_COLUMNS, left, 1, GEMM_ROWS, panel, GEMM_ROWS, spread[k].there, w->windows, part, NULL, 0);
                for (size i = 0; i < rows; i++) F(conv_spread_row)(to + i * w->row, &spread[k], w, tile + i * GEMM_COLUMNS);
            }
    }
}

/* Columns of a panel that lie side by side among the columns of filters. */
struct F(stretches) {
    size count, from[GEMM_COLUMNS], place[GEMM_COLUMNS], length[GEMM_COLUMNS];
};
static void F(conv_stretches)(struct F(stretches) *s, const size *seen, size columns)
{
    s->count = 0;
    for (size j = 0; j < columns; j++) {
        if (!j || seen[j] != seen[j - 1] + 1) s->from[s->count] = seen[j], s->place[s->count] = j, s->length[s->count++] = 0;
        s->length[s->count - 1]++;
    }
}

/* Some columns of `depth` filters from `first` on in panels of a tile's width, which s describes. Rows of filters are so far apart that the
 * processor does not see the next coming. Whole vectors are moved: what is too much of one is written over by the next. */
static void F(conv_columns_right)(REAL *to, const struct F(stretches) *s, const struct columns *w, size c0, size count, size first, size depth)
{
    enum { AHEAD = 6 };
    const size lanes = GEMM_COLUMNS / 2, panels = (count + GEMM_COLUMNS - 1) / GEMM_COLUMNS, begin = w->seen[c0], end = w->seen[c0 + count - 1];
    if (count % GEMM_COLUMNS) memset(to + (panels - 1) * depth * GEMM_COLUMNS, 0, depth * GEMM_COLUMNS * sizeof(REAL));
    for (size p = 0; p < depth; p++) {
        const REAL *from = (const REAL *)w->source + (first + p) * w->row;
        const int whole = first + p + 1 < w->filters && p + 1 < depth && w->row >= lanes;
#ifdef __GNUC__
        for (size x = begin; x <= end && first + p + AHEAD < w->filters; x += 64 / (size)sizeof(REAL)) __builtin_prefetch(from + AHEAD * w->row + x);
#endif
        for (size k = 0; k < panels; k++) {
            REAL *row = to + (k * depth + p) * GEMM_COLUMNS;
            if (s[k].length[0] == GEMM_COLUMNS) {
                memcpy(row, from + s[k].from[0], GEMM_COLUMNS * sizeof(REAL));
                continue;
            }
            for (size m = 0; m < s[k].count; m++)
                if (whole && count - k * GEMM_COLUMNS >= GEMM_COLUMNS)
                    for (size j = 0; j < s[k].length[m]; j += lanes) memcpy(row + s[k].place[m] + j, from + s[k].from[m] + j, VECTOR_BYTES);
                else F(conv_move)(row + s[k].place[m], from + s[k].from[m], s[k].length[m]);
        }
    }
}

/* The gradient in the images, for some columns, is added to padded images: sums over filters, for all windows. */
static void F(conv_columns_images)(const struct columns *w)
{
    const size most = COLUMN_PANELS * GEMM_COLUMNS, steps = (w->filters + CONV_DEPTH - 1) / CONV_DEPTH, step = (w->filters + steps - 1) / steps, part = sum_block(w->filters);
    const size tiles = (w->windows + GEMM_ROWS - 1) / GEMM_ROWS, all = tiles * GEMM_ROWS * GEMM_COLUMNS;
    REAL *right = w->work, *sums = right + COLUMN_PANELS * CONV_DEPTH * GEMM_COLUMNS, *images = w->out;
    struct F(stretches) stretches[COLUMN_PANELS];
    for (size c0 = 0, count; c0 < w->count && !pool_stopped(); c0 += count) {
        count = w->count - c0 < most ? w->count - c0 : most;
        const size panels = (count + GEMM_COLUMNS - 1) / GEMM_COLUMNS;
        for (size k = 0; k < panels; k++)
            F(conv_stretches)(&stretches[k], w->seen + c0 + k * GEMM_COLUMNS, count - k * GEMM_COLUMNS < GEMM_COLUMNS ? count - k * GEMM_COLUMNS : GEMM_COLUMNS);
        for (size f = 0; f < w->filters; f += step) {
            const size depth = w->filters - f < step ? w->filters - f : step;
            F(conv_columns_right)(right, stretches, w, c0, count, f, depth);
            for (size k = 0; k < panels; k++)
                for (size t = 0; t < tiles; t++) {
                    REAL *to = sums + k * all + t * GEMM_ROWS * GEMM_COLUMNS;
                    F(conv_tiles)(to, GEMM_COLUMNS, (const REAL *)w->left + (t * w->filters + f) * GEMM_ROWS, 1, GEMM_ROWS, right + k * depth * GEMM_COLUMNS,
                                  GEMM_ROWS, GEMM_COLUMNS, depth, part, f ? to : NULL, GEMM_COLUMNS);
                }
        }
        for (size k = 0; k < panels; k++) {
            const size *offset = w->offset + c0 + k * GEMM_COLUMNS, there = count - k * GEMM_COLUMNS < GEMM_COLUMNS ? count - k * GEMM_COLUMNS : GEMM_COLUMNS;
            for (size p = 0; p < w->windows; p++) {
                REAL *to = images + w->place[p];
                const REAL *from = sums + k * all + p * GEMM_COLUMNS;
                if (there == GEMM_COLUMNS)
                    for (size j = 0; j < GEMM_COLUMNS; j++) to[offset[j]] += from[j];
                else
                    for (size j = 0; j < there; j++) to[offset[j]] += from[j];
            }
        }
    }
}
