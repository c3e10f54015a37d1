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
        for (size i = 0; i < there; i++) at[i] = filters_first ? (i0 + i) * w->results : (i0 + i) / w->results * w->grad_image + (i0 + i) % w->results;
        for (size p = 0, left = w->results; p < deep; p++, to += GEMM_ROWS) {
            for (size i = 0; i < GEMM_ROWS; i++) to[i] = i < there ? from[at[i]] : 0;
            size step = filters_first ? 1 : w->results;
            if (filters_first && !--left) left = w->results, step += w->grad_image - w->results;
            for (size i = 0; i < there; i++) at[i] += step;
        }
    }
}

/* The gradient in the filters, for some columns: out (filters x columns, `row` apart) = gradients x what the columns see. */
static void F(conv_columns_weights)(const struct columns *w)
{
    const size most = COLUMN_PANELS * GEMM_COLUMNS;
    REAL *right = w->work, tile[GEMM_ROWS * GEMM_COLUMNS];
    for (size c0 = 0, count; c0 < w->columns && !pool_stopped(); c0 += count) {
        count = w->columns - c0 < most ? w->columns - c0 : most;
        for (size c = c0; c < c0 + count; c += GEMM_COLUMNS) {
            REAL *to = right + (c - c0) * w->windows;
            const size there = w->columns - c < GEMM_COLUMNS ? w->columns - c : GEMM_COLUMNS;
            size unseen = there < GEMM_COLUMNS;
            for (size j = 0; j < there; j++) unseen |= w->offset[c + j] < 0;
            for (size p = 0; p < w->windows; p++, to += GEMM_COLUMNS) {
                const REAL *from = (const REAL *)w->source + w->place[p];
                if (unseen)
                    for (size j = 0; j < GEMM_COLUMNS; j++) to[j] = j < there && w->offset[c + j] >= 0 ? from[w->offset[c + j]] : 0;
                else
                    for (size j = 0; j < GEMM_COLUMNS; j++) to[j] = from[w->offset[c + j]];
            }
        }
        const REAL *left = w->left;
        for (size f = 0; f < w->filters; f += GEMM_ROWS, left += GEMM_ROWS * w->windows)
            for (size c = c0; c < c0 + count; c += GEMM_COLUMNS) {
                REAL *to = (REAL *)w->out + f * w->row + c;
                const REAL *panel = right + (c - c0) * w->windows;
                const size rows = w->filters - f < GEMM_ROWS ? w->filters - f : GEMM_ROWS;
                const size there = w->columns - c < GEMM_COLUMNS ? w->columns - c : GEMM_COLUMNS;
                if (rows == GEMM_ROWS && there == GEMM_COLUMNS) {
                    F(gemm_tile)(to, w->row, left, 1, GEMM_ROWS, panel, GEMM_COLUMNS, w->windows, 0);
                    continue;
                }
                F(gemm_tile)(tile, GEMM_COLUMNS, left, 1, GEMM_ROWS, panel, GEMM_COLUMNS, w->windows, 0);
                for (size i = 0; i < rows; i++) memcpy(to + i * w->row, tile + i * GEMM_COLUMNS, there * sizeof(REAL));
            }
    }
}

/* The gradient in the images, for some columns, is added to padded images: sums over filters, for all windows. */
static void F(conv_columns_images)(const struct columns *w)
{
    const size most = COLUMN_PANELS * GEMM_COLUMNS, steps = (w->filters + CONV_DEPTH - 1) / CONV_DEPTH, step = (w->filters + steps - 1) / steps;
    const size tiles = (w->windows + GEMM_ROWS - 1) / GEMM_ROWS, all = tiles * GEMM_ROWS * GEMM_COLUMNS;
    REAL *right = w->work, *sums = right + COLUMN_PANELS * CONV_DEPTH * GEMM_COLUMNS, *images = w->out;
    for (size c0 = 0, count; c0 < w->columns && !pool_stopped(); c0 += count) {
        count = w->columns - c0 < most ? w->columns - c0 : most;
        const size panels = (count + GEMM_COLUMNS - 1) / GEMM_COLUMNS;
        for (size f = 0; f < w->filters; f += step) {
            const size depth = w->filters - f < step ? w->filters - f : step;
            F(gemm_pack_right)(right, (const REAL *)w->source + f * w->row + c0, w->row, 1, depth, count);
            for (size k = 0; k < panels; k++)
                for (size t = 0; t < tiles; t++)
                    F(gemm_tile)(sums + k * all + t * GEMM_ROWS * GEMM_COLUMNS, GEMM_COLUMNS, (const REAL *)w->left + (t * w->filters + f) * GEMM_ROWS, 1,
                                 GEMM_ROWS, right + k * depth * GEMM_COLUMNS, GEMM_COLUMNS, depth, f > 0);
        }
        for (size k = 0; k < panels; k++) {
            size offset[GEMM_COLUMNS], column[GEMM_COLUMNS], seen = 0;
            for (size j = 0; j < GEMM_COLUMNS && k * GEMM_COLUMNS + j < count; j++) {
                offset[seen] = w->offset[c0 + k * GEMM_COLUMNS + j], column[seen] = j;
                seen += offset[seen] >= 0;
            }
            for (size p = 0; p < w->windows; p++) {
                REAL *to = images + w->place[p];
                const REAL *from = sums + k * all + p * GEMM_COLUMNS;
                if (seen == GEMM_COLUMNS)
                    for (size j = 0; j < GEMM_COLUMNS; j++) to[offset[j]] += from[j];
                else
                    for (size j = 0; j < seen; j++) to[offset[j]] += from[column[j]];
            }
        }
    }
}
