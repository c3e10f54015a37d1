/* Convolutions with filters of 3 x 3 by Winograd's products: F(2 x 2, 3 x 3) of Lavin and Gray (2016). A tile of 4 x 4 numbers
 * of a channel becomes 16 numbers, so do the filters, and a tile of 2 x 2 results comes from 16 products where there were 36.
 *
 * Vectors run over channels (or filters): a strip of an image is turned so that they lie side by side. Transformed images:
 * [block of channels][number of 16][tile][channel], a number's tiles (room + 1) vectors apart; the odd vector keeps the 16
 * out of each other's way in the first cache. Filters: [number][channel][two vectors of filters], sums: [number][tile][same]. */

#define WIDE ((size)(VECTOR_BYTES / sizeof(REAL)))
enum { F(square) = 16 };

/* to[k][j] = from[j * step + k], k < n, j < rows; and zeros for other j. Whole vectors are read if none goes beyond `end`. */
static inline void F(winograd_in)(REAL *restrict to, const REAL *restrict from, size step, size rows, size n, const REAL *end)
{
#ifdef TURNS
    F(vector) square[WIDE];
    if (rows == WIDE && end - from >= (WIDE - 1) * step + WIDE)
        for (int j = 0; j < WIDE; j++) square[j] = LOAD(from + j * step);
    else {
        REAL part[WIDE * WIDE] = {0};
        for (size j = 0; j < rows; j++) F(conv_move)(part + j * WIDE, from + j * step, n);
        for (int j = 0; j < WIDE; j++) square[j] = LOAD(part + j * WIDE);
    }
    F(turn)(square);
    if (n == WIDE)
        for (int k = 0; k < WIDE; k++) STORE(to + k * WIDE, square[k]);
    else
        for (int k = 0; k < WIDE; k++)
            if (k < n) STORE(to + k * WIDE, square[k]);
#else
    (void)end;
    for (size k = 0; k < n; k++)
        for (size j = 0; j < WIDE; j++) to[k * WIDE + j] = j < rows ? from[j * step + k] : 0;
#endif
}

/* The other way: to[j * step + k] = from[k][j], k < n, j < rows. Whole vectors of WIDE k are read. */
static inline void F(winograd_out)(REAL *restrict to, size step, const REAL *restrict from, size rows, size n)
{
#ifdef TURNS
    F(vector) square[WIDE];
    for (int k = 0; k < WIDE; k++) square[k] = LOAD(from + k * WIDE);
    F(turn)(square);
    if (n == WIDE && rows == WIDE)
        for (int j = 0; j < WIDE; j++) STORE(to + j * step, square[j]);
    else {
        REAL part[WIDE * WIDE];
        for (int j = 0; j < WIDE; j++) STORE(part + j * WIDE, square[j]);
        for (size j = 0; j < rows; j++) F(conv_move)(to + j * step, part + j * WIDE, n);
    }
#else
    for (size j = 0; j < rows; j++)
        for (size k = 0; k < n; k++) to[j * step + k] = from[k * WIDE + j];
#endif
}

/* A part of an image, for one block of channels: rows from y on, columns from x on, zeros where the image is not. */
static void F(winograd_strip)(REAL *to, const struct tiled *v, size image, size block, size y, size x, size rows, size columns)
{
    const size there = v->channels - block * WIDE < WIDE ? v->channels - block * WIDE : WIDE;
    const size left = x < 0 ? -x : 0, right = x + columns < v->width ? x + columns : v->width;
    for (size r = 0; r < rows; r++, to += columns * WIDE) {
        if (y + r < 0 || y + r >= v->height || there <= 0 || right <= x + left) {
            memset(to, 0, columns * WIDE * sizeof(REAL));
            continue;
        }
        const REAL *from = (const REAL *)v->from + image * v->image + block * WIDE * v->plane + (y + r) * v->width;
        memset(to, 0, left * WIDE * sizeof(REAL));
        for (size at = x + left; at < right; at += WIDE)
            F(winograd_in)(to + (at - x) * WIDE, from + at, v->plane, there, right - at < WIDE ? right - at : WIDE, v->end);
        memset(to + (right - x) * WIDE, 0, (x + columns - right) * WIDE * sizeof(REAL));
    }
}

#define WINOGRAD_RUNS(v)                                                                                                       \
    for (size t = first, n, image, y, x; n = 0, t < first + tiles &&                                                           \
         (image = t / ((v)->down * (v)->across), y = 2 * (t / (v)->across % (v)->down), x = 2 * (t % (v)->across),             \
          n = (v)->across - x / 2, n = n < first + tiles - t ? n : first + tiles - t, 1); t += n)

/* Tiles of images, transformed for one block of channels. */
static void F(winograd_images)(REAL *restrict to, const struct tiled *v, size first, size tiles, size room, size block, REAL *restrict strip)
{
    const size step = (room + 1) * WIDE;
    WINOGRAD_RUNS(v) {
        const size row = (2 * n + 2) * WIDE;
        F(winograd_strip)(strip, v, image, block, y - v->top, x - v->left, 4, 2 * n + 2);
        for (size k = 0; k < WIDE; k += F(gemm_step)) {
            F(vector) d[4][4]; /* of four columns, transformed downwards */
            const REAL *from = strip + k;
            REAL *at = to + (t - first) * WIDE + k;
            for (size q = -1; q < n; q++, from += 2 * WIDE) {
                for (int i = 0; i < 4; i++) d[0][i] = d[2][i], d[1][i] = d[3][i];
                for (int j = 2; j < 4; j++) {
                    const REAL *column = from + (j - 2) * WIDE;
                    const F(vector) a = LOAD(column), b = LOAD(column + row), c = LOAD(column + 2 * row), e = LOAD(column + 3 * row);
                    d[j][0] = a - c, d[j][1] = b + c, d[j][2] = c - b, d[j][3] = b - e;
                }
                if (q < 0) continue;
                for (int i = 0; i < 4; i++) {
                    STORE(at + (4 * i) * step, d[0][i] - d[2][i]);
                    STORE(at + (4 * i + 1) * step, d[1][i] + d[2][i]);
                    STORE(at + (4 * i + 2) * step, d[2][i] - d[1][i]);
                    STORE(at + (4 * i + 3) * step, d[1][i] - d[3][i]);
                }
                at += WIDE;
            }
        }
    }
}

/* Filters for some blocks of channels: `filters` of them, `filter` apart, and `channels`, `channel` apart; the rest is zero. */
static void F(winograd_filters)(REAL *restrict to, const REAL *restrict weight, const REAL *end, size filter, size channel, int turned,
                                size filters, size channels, size blocks)
{
    enum { TAPS = 9 };
    const size step = (2 * WIDE * blocks + 1) * WIDE;
    REAL taps[(TAPS + WIDE) * WIDE];
    for (size c = 0; c < WIDE * blocks; c++)
        for (size half = 0; half < 2; half++, to += WIDE) {
            const size there = filters - half * WIDE < WIDE ? filters - half * WIDE : WIDE;
            if (c >= channels || there <= 0) {
                for (int i = 0; i < F(square); i++) memset(to + i * step, 0, VECTOR_BYTES);
                continue;
            }
            const REAL *from = weight + half * WIDE * filter + c * channel;
            for (size t = 0; t < TAPS; t += WIDE) F(winograd_in)(taps + t * WIDE, from + t, filter, there, TAPS - t < WIDE ? TAPS - t : WIDE, end);
            for (size k = 0; k < WIDE; k += F(gemm_step)) {
                F(vector) g[3][4];
                for (int i = 0; i < 3; i++) {
                    const REAL *row = taps + k + (turned ? 8 - 3 * i : 3 * i) * WIDE;
                    const F(vector) a = LOAD(row), b = LOAD(row + (turned ? -1 : 1) * WIDE) * (REAL)0.5, e = LOAD(row + (turned ? -2 : 2) * WIDE);
                    const F(vector) sum = (a + e) * (REAL)0.5;
                    g[i][0] = a, g[i][1] = sum + b, g[i][2] = sum - b, g[i][3] = e;
                }
                for (int j = 0; j < 4; j++) {
                    const F(vector) sum = (g[0][j] + g[2][j]) * (REAL)0.5, b = g[1][j] * (REAL)0.5;
                    STORE(to + j * step + k, g[0][j]);
                    STORE(to + (4 + j) * step + k, sum + b);
                    STORE(to + (8 + j) * step + k, sum - b);
                    STORE(to + (12 + j) * step + k, g[2][j]);
                }
            }
        }
}

/* sums = or += tiles x channels of images times channels x two vectors of filters, for each of the 16 numbers. */
static void F(winograd_tile)(REAL *restrict c, const REAL *restrict a, size a_block, const REAL *restrict b, size blocks, int add)
{
    F(vector) tile[GEMM_ROWS][F(gemm_vectors)];
    for (int i = 0; i < GEMM_ROWS; i++)
        for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] = (F(vector)){0};
    for (; blocks > 0; blocks--, a += a_block)
        for (size k = 0; k < WIDE; k++, b += 2 * WIDE) {
            F(vector) y[F(gemm_vectors)];
            for (int j = 0; j < F(gemm_vectors); j++) y[j] = LOAD(b + j * F(gemm_step));
            for (int i = 0; i < GEMM_ROWS; i++) {
                const REAL x = a[i * WIDE + k];
                for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] += x * y[j];
            }
        }
    for (int i = 0; i < GEMM_ROWS; i++)
        for (int j = 0; j < F(gemm_vectors); j++) {
            REAL *to = c + (i * 2) * WIDE + j * F(gemm_step);
            if (add) tile[i][j] += LOAD(to);
            STORE(to, tile[i][j]);
        }
}
static void F(winograd_products)(REAL *sums, const REAL *images, const REAL *filters, size blocks, size room, size tiles, int add)
{
    const size most = WINOGRAD_DEPTH / WIDE;
    const size image = (room + 1) * WIDE, filter = (2 * WIDE * blocks + 1) * WIDE, sum = (2 * room + 1) * WIDE;
    for (size i = 0; i < F(square); i++, sums += sum, images += image, filters += filter)
        for (size p = 0; p < blocks; p += most)
            for (size t = 0; t < tiles; t += GEMM_ROWS)
                F(winograd_tile)(sums + t * 2 * WIDE, images + p * F(square) * image + t * WIDE, F(square) * image, filters + p * 2 * WIDE * WIDE,
                                 blocks - p < most ? blocks - p : most, add || p);
}

/* Results of two vectors of filters. Whether some are not finite is noted. */
static void F(winograd_results)(const struct tiled *v, size first, size tiles, size room, size filter, const REAL *restrict sums, const REAL *bias,
                                REAL *restrict strip, int *lost)
{
    const size step = (2 * room + 1) * WIDE;
    for (size half = 0; half < 2 && filter < v->channels; half++, filter += WIDE) {
        const size there = v->channels - filter < WIDE ? v->channels - filter : WIDE;
        REAL start[WIDE] = {0}, check[WIDE] = {0};
        if (bias) memcpy(start, bias + filter, there * sizeof(REAL));
        WINOGRAD_RUNS(v) {
            const size row = 2 * n * WIDE;
            for (size k = 0; k < WIDE; k += F(gemm_step)) {
                const REAL *from = sums + (2 * (t - first) + half) * WIDE + k;
                const F(vector) b = LOAD(start + k);
                F(vector) none = LOAD(check + k);
                REAL *to = strip + k;
                for (size q = 0; q < n; q++, from += 2 * WIDE, to += 2 * WIDE) {
                    F(vector) m[2][4];
                    for (int j = 0; j < 4; j++) {
                        const F(vector) one = LOAD(from + (4 + j) * step), two = LOAD(from + (8 + j) * step);
                        m[0][j] = LOAD(from + j * step) + one + two, m[1][j] = one - two - LOAD(from + (12 + j) * step);
                    }
                    for (int i = 0; i < 2; i++) {
                        const F(vector) y = m[i][0] + m[i][1] + m[i][2] + b, z = m[i][1] - m[i][2] - m[i][3] + b;
                        STORE(to + i * row, y);
                        STORE(to + i * row + WIDE, z);
                        none += (y + z) * 0;
                    }
                }
                STORE(check + k, none);
            }
            const size wide = v->width - x < 2 * n ? v->width - x : 2 * n;
            for (size r = 0; r < 2 && y + r < v->height; r++) {
                REAL *to = (REAL *)v->to + image * v->image + filter * v->plane + (y + r) * v->width + x;
                for (size at = 0; at < wide; at += WIDE)
                    F(winograd_out)(to + at, v->plane, strip + r * row + at * WIDE, there, wide - at < WIDE ? wide - at : WIDE);
            }
        }
        for (size k = 0; k < WIDE; k++) *lost |= !(check[k] == 0);
    }
}

/* Gradients of results, tiles of 2 x 2, transformed for one block of filters. */
static void F(winograd_gradients)(REAL *restrict to, const struct tiled *v, size first, size tiles, size room, size block, REAL *restrict strip)
{
    const size step = (room + 1) * WIDE;
    WINOGRAD_RUNS(v) {
        const size row = 2 * n * WIDE;
        F(winograd_strip)(strip, v, image, block, y, x, 2, 2 * n);
        for (size q = 0; q < n; q++)
            for (size k = 0; k < WIDE; k += F(gemm_step)) {
                const REAL *from = strip + 2 * q * WIDE + k;
                REAL *at = to + (t - first + q) * WIDE + k;
                F(vector) d[4][2];
                for (int j = 0; j < 2; j++) {
                    const F(vector) a = LOAD(from + j * WIDE), b = LOAD(from + j * WIDE + row);
                    d[0][j] = a, d[1][j] = a + b, d[2][j] = a - b, d[3][j] = -b;
                }
                for (int i = 0; i < 4; i++) {
                    STORE(at + (4 * i) * step, d[i][0]);
                    STORE(at + (4 * i + 1) * step, d[i][0] + d[i][1]);
                    STORE(at + (4 * i + 2) * step, d[i][0] - d[i][1]);
                    STORE(at + (4 * i + 3) * step, -d[i][1]);
                }
            }
    }
}

#if GEMM_ROWS == 8
#define WINOGRAD_ROWS (WIDE < 8 ? WIDE : 8)
#else
#define WINOGRAD_ROWS (WIDE < 4 ? WIDE : 4)
#endif
/* sums (filters of a block x channels of two) = or += gradients x images, sums over tiles, for each of the 16 numbers. */
static void F(winograd_sums)(REAL *sums, const REAL *grads, const REAL *images, size room, size tiles, int add)
{
    enum { DEPTH = 4 * WINOGRAD_DEPTH };
    const size step = (room + 1) * WIDE, second = F(square) * step;
    for (int number = 0; number < F(square); number++, sums += (2 * WIDE + 1) * WIDE, grads += step, images += step)
        for (size p = 0; p < tiles; p += DEPTH)
            for (size i0 = 0; i0 < WIDE; i0 += WINOGRAD_ROWS) {
                const REAL *a = grads + p * WIDE + i0, *b = images + p * WIDE, *last = p + DEPTH < tiles ? a + DEPTH * WIDE : grads + tiles * WIDE;
                F(vector) tile[WINOGRAD_ROWS][F(gemm_vectors)];
                for (int i = 0; i < WINOGRAD_ROWS; i++)
                    for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] = (F(vector)){0};
                for (; a < last; a += WIDE, b += WIDE) {
                    F(vector) y[F(gemm_vectors)];
                    for (int j = 0; j < F(gemm_vectors) / 2; j++)
                        y[j] = LOAD(b + j * F(gemm_step)), y[j + F(gemm_vectors) / 2] = LOAD(b + second + j * F(gemm_step));
                    for (int i = 0; i < WINOGRAD_ROWS; i++)
                        for (int j = 0; j < F(gemm_vectors); j++) tile[i][j] += a[i] * y[j];
                }
                for (int i = 0; i < WINOGRAD_ROWS; i++)
                    for (int j = 0; j < F(gemm_vectors); j++) {
                        REAL *to = sums + (i0 + i) * 2 * WIDE + j * F(gemm_step);
                        if (add || p) tile[i][j] += LOAD(to);
                        STORE(to, tile[i][j]);
                    }
            }
}

/* Gradients of some filters, `filter` apart, for two blocks of channels. Whether some are not finite is noted. */
static void F(winograd_close)(REAL *to, size filter, const REAL *restrict sums, size filters, size channels, int *lost)
{
    enum { TAPS = 9 };
    const size step = (2 * WIDE + 1) * WIDE;
    REAL taps[(TAPS + WIDE) * WIDE] = {0}, check[WIDE] = {0};
    for (size f = 0; f < filters; f++)
        for (size half = 0; half < 2 && half * WIDE < channels; half++) {
            for (size k = 0; k < WIDE; k += F(gemm_step)) {
                const REAL *from = sums + (2 * f + half) * WIDE + k;
                F(vector) m[3][4], none = LOAD(check + k);
                for (int j = 0; j < 4; j++) {
                    const F(vector) one = LOAD(from + (4 + j) * step), two = LOAD(from + (8 + j) * step), sum = (one + two) * (REAL)0.5;
                    m[0][j] = LOAD(from + j * step) + sum, m[1][j] = (one - two) * (REAL)0.5, m[2][j] = sum + LOAD(from + (12 + j) * step);
                }
                for (int i = 0; i < 3; i++) {
                    const F(vector) sum = (m[i][1] + m[i][2]) * (REAL)0.5, a = m[i][0] + sum, b = (m[i][1] - m[i][2]) * (REAL)0.5, c = sum + m[i][3];
                    STORE(taps + 3 * i * WIDE + k, a);
                    STORE(taps + (3 * i + 1) * WIDE + k, b);
                    STORE(taps + (3 * i + 2) * WIDE + k, c);
                    none += (a + b + c) * 0;
                }
                STORE(check + k, none);
            }
            const size there = channels - half * WIDE < WIDE ? channels - half * WIDE : WIDE;
            for (size t = 0; t < TAPS; t += WIDE)
                F(winograd_out)(to + f * filter + half * WIDE * TAPS + t, TAPS, taps + t * WIDE, there, TAPS - t < WIDE ? TAPS - t : WIDE);
        }
    for (size k = 0; k < WIDE; k++) *lost |= !(check[k] == 0);
}

/* No longer `even` if a number stands out so far that its neighbours in a tile lose their exactness, or is not finite. */
static void F(winograd_even)(const REAL *x, size n, int *even)
{
    enum { FAR = 1024, PIECE = 4096 };
    REAL largest[2 * 64 / sizeof(REAL)] = {0};
    double total = 0, most = 0;
    const size lanes = sizeof largest / sizeof *largest;
    for (size at = 0; at < n; at += PIECE) {
        const size end = n - at < PIECE ? n : at + PIECE;
        REAL sums[2 * 64 / sizeof(REAL)] = {0};
        size i = at;
        for (; i + lanes <= end; i += lanes)
            for (size k = 0; k < lanes; k++) {
                const REAL v = F(abs)(x[i + k]);
                sums[k] += v;
                largest[k] = v > largest[k] ? v : largest[k];
            }
        for (; i < end; i++) {
            const REAL v = F(abs)(x[i]);
            total += v;
            most = v > most ? v : most;
        }
        for (size k = 0; k < lanes; k++) total += sums[k];
    }
    for (size k = 0; k < lanes; k++) most = largest[k] > most ? largest[k] : most;
    *even &= most * n <= FAR * total && total < INFINITY;
}
#undef WINOGRAD_ROWS
#undef WINOGRAD_RUNS
