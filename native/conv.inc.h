/* Convolution of one image without columns: the kernels read the windows where they lie in a padded copy of the image.
 *
 * With stride 1 the outputs are computed as if they were as wide as the image, so that the window of the next output is
 * always one element on; what lies to the right of the real width is thrown away. With another stride the windows of a
 * few outputs at a time are put side by side first. */

#define CONV_TILE(name, ROWS)                                                                                        \
    static void F(name)(REAL *restrict c, const REAL *restrict a, size a_row, const REAL *restrict b,                \
                        const size *restrict offset, size depth)                                                     \
    {                                                                                                                \
        F(vector) tile[ROWS][F(gemm_vectors)];                                                                       \
        for (int i = 0; i < ROWS; i++)                                                                               \
            for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] = (F(vector)){0};                                   \
        for (size p = 0; p < depth; p++, a++) {                                                                      \
            const REAL *row = b + offset[p];                                                                         \
            F(vector) y[F(gemm_vectors)];                                                                            \
            for (int j = 0; j < F(gemm_vectors); j++) y[j] = LOAD(row + j * F(gemm_step));                           \
            for (int i = 0; i < ROWS; i++) {                                                                         \
                const REAL x = a[i * a_row];                                                                         \
                for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] += x * y[j];                                    \
            }                                                                                                        \
        }                                                                                                            \
        for (int i = 0; i < ROWS; i++)                                                                               \
            for (int j = 0; j < F(gemm_vectors); j++)                                                                \
                STORE(c + i * GEMM_COLUMNS + j * F(gemm_step), tile[i][j]);                                          \
    }
CONV_TILE(conv_tile, GEMM_ROWS)
CONV_TILE(conv_row, 1)
#undef CONV_TILE

/* c (taps x columns, c_row apart) += the sum over all outputs of image[offset + place] * g, g being outputs x columns. */
#define CONV_WEIGHT_TILE(name, ROWS)                                                                                 \
    static void F(name)(REAL *restrict c, size c_row, const REAL *restrict image, const size *restrict offset,       \
                        const REAL *restrict g, size g_row, const struct conv *v)                                    \
    {                                                                                                                \
        F(vector) tile[ROWS][F(gemm_vectors)];                                                                       \
        for (int i = 0; i < ROWS; i++)                                                                               \
            for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] = LOAD(c + i * c_row + j * F(gemm_step));           \
        for (size oy = 0; oy < v->out_height; oy++) {                                                                \
            const REAL *from = image + oy * v->stride_y * v->width;                                                  \
            for (size ox = 0; ox < v->out_width; ox++, from += v->stride_x, g += g_row) {                            \
                F(vector) y[F(gemm_vectors)];                                                                        \
                for (int j = 0; j < F(gemm_vectors); j++) y[j] = LOAD(g + j * F(gemm_step));                         \
                for (int i = 0; i < ROWS; i++) {                                                                     \
                    const REAL x = from[offset[i]];                                                                  \
                    for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] += x * y[j];                                \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
        for (int i = 0; i < ROWS; i++)                                                                               \
            for (int j = 0; j < F(gemm_vectors); j++) STORE(c + i * c_row + j * F(gemm_step), tile[i][j]);           \
    }
CONV_WEIGHT_TILE(conv_weight_tile, GEMM_ROWS)
CONV_WEIGHT_TILE(conv_weight_row, 1)
#undef CONV_WEIGHT_TILE

/* The image with its zeros around, and a tile's width of them behind, so that a last tile may read on. */
static void F(conv_pad)(REAL *restrict to, const REAL *restrict image, const struct conv *v)
{
    const size inner_height = v->height - 2 * v->pad_y, inner_width = v->width - 2 * v->pad_x;
    const size area = v->height * v->width;
    if (v->pad_y || v->pad_x) {
        memset(to, 0, v->channels * area * sizeof(REAL));
        for (size c = 0; c < v->channels; c++)
            for (size y = 0; y < inner_height; y++)
                memcpy(to + c * area + (y + v->pad_y) * v->width + v->pad_x, image + (c * inner_height + y) * inner_width,
                       inner_width * sizeof(REAL));
    } else memcpy(to, image, v->channels * area * sizeof(REAL));
    memset(to + v->channels * area, 0, GEMM_COLUMNS * sizeof(REAL));
}

/* out (filters, out_height * out_width) of one image. `work`: conv_work_* numbers. */
static void F(conv_image)(REAL *out, const REAL *image, const REAL *weight, const REAL *bias, const struct conv *v, REAL *work)
{
    const size taps = v->channels * v->kernel_height * v->kernel_width, pixels = v->out_height * v->out_width;
    const int dense = v->stride_y == 1 && v->stride_x == 1;
    const size wide = dense ? v->width : v->out_width, total = dense ? (v->out_height - 1) * wide + v->out_width : pixels;
    REAL *tile = work, *windows = tile + GEMM_ROWS * GEMM_COLUMNS, *padded = windows + taps * GEMM_COLUMNS;
    F(conv_pad)(padded, image, v);
    for (size at = 0; at < total && !pool_stopped(); at += GEMM_COLUMNS) {
        const size count = total - at < GEMM_COLUMNS ? total - at : GEMM_COLUMNS;
        const REAL *from = padded + at;
        if (!dense) {
            size places[GEMM_COLUMNS];
            for (size j = 0; j < GEMM_COLUMNS; j++) {
                const size o = at + (j < count ? j : 0);
                places[j] = o / wide * v->stride_y * v->width + o % wide * v->stride_x;
            }
            for (size t = 0; t < taps; t++)
                for (size j = 0; j < GEMM_COLUMNS; j++) windows[t * GEMM_COLUMNS + j] = padded[v->offset[t] + places[j]];
            from = windows;
        }
        for (size f = 0; f < v->filters;) {
            const size rows = f + GEMM_ROWS <= v->filters ? GEMM_ROWS : 1;
            if (rows == 1) F(conv_row)(tile, weight + f * taps, taps, from, dense ? v->offset : v->step, taps);
            else F(conv_tile)(tile, weight + f * taps, taps, from, dense ? v->offset : v->step, taps);
            for (size y = at / wide, j = 0; j < count; y++) { /* the pieces of output rows that the tile holds */
                const size x = at + j - y * wide, end = (y + 1) * wide - at < count ? (y + 1) * wide - at : count;
                const size last = x >= v->out_width ? j : end - j < v->out_width - x ? end : j + v->out_width - x;
                for (size i = 0; i < rows; i++) {
                    const REAL add = bias ? bias[f + i] : 0;
                    REAL *to = out + (f + i) * pixels + y * v->out_width + x - j;
                    for (size k = j; k < last; k++) to[k] = tile[i * GEMM_COLUMNS + k] + add;
                }
                j = end;
            }
            f += rows;
        }
    }
}

/* grad (taps x filters, rows of `filters` rounded up to whole tiles) += what one image adds. */
static void F(conv_weight_image)(REAL *grad, const REAL *image, const REAL *g, const struct conv *v, REAL *work)
{
    const size taps = v->channels * v->kernel_height * v->kernel_width, pixels = v->out_height * v->out_width;
    const size columns = (v->filters + GEMM_COLUMNS - 1) / GEMM_COLUMNS * GEMM_COLUMNS;
    REAL *by_pixel = work, *padded = work + pixels * columns;
    F(conv_pad)(padded, image, v);
    for (size f0 = 0; f0 < columns; f0 += 16)
        for (size p = 0; p < pixels; p++)
            for (size f = f0; f < f0 + 16 && f < columns; f++) by_pixel[p * columns + f] = f < v->filters ? g[f * pixels + p] : 0;
    for (size f = 0; f < columns; f += GEMM_COLUMNS) {
        size t = 0;
        for (; t + GEMM_ROWS <= taps && !pool_stopped(); t += GEMM_ROWS)
            F(conv_weight_tile)(grad + t * columns + f, columns, padded, v->offset + t, by_pixel + f, columns, v);
        for (; t < taps && !pool_stopped(); t++) F(conv_weight_row)(grad + t * columns + f, columns, padded, v->offset + t, by_pixel + f, columns, v);
    }
}
