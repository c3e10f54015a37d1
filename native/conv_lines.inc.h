/* Windows where they lie, a row of results at a time: its vectors, of which the last overlaps the one before where they do not fill the
 * row, are results and nothing else, so that they go to where they belong without a detour. Two vectors meet a panel of filters, or an
 * odd one at the end two panels. */

/* `gap`: how far behind the end of the first vector the second begins, which is negative where they overlap. */
#define LINE_TILE(name, ROWS, VECTORS, HALF)                                                                         \
    static void F(name)(REAL *restrict c, size c_row, const REAL *restrict a, size panel, const REAL *restrict b,    \
                        const size *restrict offset, size depth, size gap, int bias)                                 \
    {                                                                                                                \
        const size block = sum_block(depth);                                                                         \
        TILE_SUM(ROWS, VECTORS, depth, block, a += GEMM_ROWS, b + offset[p] + (j < HALF ? 0 : gap), a[i / GEMM_ROWS * panel + i % GEMM_ROWS]) \
        for (int i = 0; i < ROWS && bias; i++)                                                                       \
            for (int j = 0; j < VECTORS; j++) tile[i][j] += a[i / GEMM_ROWS * panel + i % GEMM_ROWS];                \
        TILE_LEAVE(ROWS, VECTORS, c + (j < HALF ? 0 : gap), c_row, 0)                                                \
    }
LINE_TILE(line_tile, GEMM_ROWS, F(gemm_vectors), F(gemm_vectors) / 2)
LINE_TILE(line_half, GEMM_ROWS / 2, F(gemm_vectors), F(gemm_vectors) / 2)
LINE_TILE(line_end, 2 * GEMM_ROWS, F(gemm_vectors) / 2, F(gemm_vectors))
LINE_TILE(line_short, GEMM_ROWS, F(gemm_vectors) / 2, F(gemm_vectors))
#undef LINE_TILE

/* The results of some filters for two vectors of windows, or for one; fewer filters than a panel's go through `tile`. */
static void F(conv_line_tile)(REAL *out, size out_filter, const REAL *a, size panel, const REAL *seen, const size *offset, size taps, size gap,
                              int bias, int two, size rows, REAL *tile)
{
    const int whole = rows >= GEMM_ROWS;
    REAL *to = whole ? out : tile;
    const size to_row = whole ? out_filter : GEMM_COLUMNS, columns = two ? GEMM_COLUMNS + gap : GEMM_COLUMNS / 2;
    if (two) (rows <= GEMM_ROWS / 2 ? F(line_half) : F(line_tile))(to, to_row, a, panel, seen, offset, taps, gap, bias);
    else (rows > GEMM_ROWS ? F(line_end) : F(line_short))(to, to_row, a, panel, seen, offset, taps, 0, bias);
    for (size i = 0; i < rows && !whole; i++) F(conv_move)(out + i * out_filter, tile + i * GEMM_COLUMNS, columns);
}

/* The results of some images and some filters; rows are a vector long or longer. */
static void F(conv_lines)(const struct windows *w)
{
    const struct lattice *v = w->lattice;
    const size lanes = GEMM_COLUMNS / 2, length = v->count[2], taps = v->depth - w->bias, panel = GEMM_ROWS * v->depth;
    const size planes = w->images * v->count[0], lines = v->count[1];
    for (size line = 0; line < planes * lines && !pool_stopped(); line++) {
        const size plane = line / lines, y = line % lines, n = plane / v->count[0], z = plane % v->count[0];
        const REAL *source = (const REAL *)w->source + n * w->image + v->from + z * v->step[0] + y * v->step[1];
        REAL *out = (REAL *)w->out + n * w->out_image + v->to + z * v->to_step[0] + y * v->to_step[1];
        for (size x = 0; x < length; x += GEMM_COLUMNS) {
            const int two = length - x > lanes;
            const size gap = length - x >= GEMM_COLUMNS ? 0 : length - x - GEMM_COLUMNS, at = two ? x : length - lanes;
            for (size f = w->first, rows; f < w->last; f += rows) {
                rows = w->last - f < GEMM_ROWS ? w->last - f : !two && w->last - f >= 2 * GEMM_ROWS ? 2 * GEMM_ROWS : GEMM_ROWS;
                F(conv_line_tile)(out + f * w->out_filter + at, w->out_filter, (const REAL *)w->left + f * v->depth, panel, source + at, v->offset,
                                  taps, gap, w->bias, two, rows, w->work);
            }
        }
    }
}
