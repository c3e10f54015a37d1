/* Depthwise convolutions: every image meets filters of its own, 3, 5, 7 or 9 numbers wide, in steps of one or (up to 7) two. A vector is
 * some neighbours in a row; a row of the image, once it is read, is added to all rows of results that see it. What vectors
 * read beside an image is taken out by masks; rows above and below it are a line of zeros. */

#ifdef __GNUC__
#define DEPTHWISE static inline __attribute__((always_inline)) void
#define UNROLLED _Pragma("GCC unroll 32") for
#define MASKED(x, mask) ((F(vector))((F(mask_of))(x) & (mask)))
#if SINGLE
typedef int32_t F(lane_mask);
#else
typedef int64_t F(lane_mask);
#endif
typedef F(lane_mask) F(mask_of) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
#else
#define DEPTHWISE static inline void
#define UNROLLED for
#define MASKED(x, mask) ((mask) ? (x) : 0)
typedef int32_t F(lane_mask);
typedef F(lane_mask) F(mask_of);
#endif
#define MASK(p) (*(const F(mask_of) *)(p))

/* For each vector of a row of `count` and each of `taps` shifts from `first` on: the lanes whose number, `stride` apart, is one
 * of `length`; after the shifts the lanes that there are. `paired`: half a vector is a row. */
static void F(depthwise_masks)(void *masks, size count, size stride, size first, size taps, size length, int paired)
{
    F(lane_mask) *mask = masks;
    for (size at = 0; at < count; at += F(gemm_step))
        for (size t = 0; t <= taps; t++)
            for (size k = 0; k < F(gemm_step); k++) {
                const size i = at + (paired ? k % (F(gemm_step) / 2) : k), from = i * stride + first + t;
                *mask++ = i < count && (t == taps || (from >= 0 && from < length)) ? -1 : 0;
            }
}

/* The first n numbers of a vector. */
static inline void F(depthwise_store)(REAL *to, F(vector) x, size n)
{
    if (n >= F(gemm_step)) STORE(to, x);
#if VECTOR_BYTES == 64 && SINGLE
    else _mm512_mask_storeu_ps(to, (__mmask16)((1u << n) - 1), (__m512)x);
#elif VECTOR_BYTES == 64
    else _mm512_mask_storeu_pd(to, (__mmask8)((1u << n) - 1), (__m512d)x);
#else
    else {
        REAL part[F(gemm_step)];
        STORE(part, x);
        F(conv_move)(to, part, n);
    }
#endif
}

/* The first n numbers of both halves of a vector. */
static inline void F(depthwise_store_both)(REAL *a, REAL *b, F(vector) x, size n)
{
#if VECTOR_BYTES == 64 && SINGLE
    const __mmask16 mask = (__mmask16)((1u << n) - 1);
    _mm512_mask_storeu_ps(a, mask, (__m512)x);
    _mm512_mask_storeu_ps(b - 8, (__mmask16)(mask << 8), (__m512)x);
#else
    REAL part[F(gemm_step)];
    STORE(part, x);
    F(conv_move)(a, part, n);
    F(conv_move)(b, part + F(gemm_step) / 2, n);
#endif
}

/* Rows of an image from y on, at the column x; zeros above and below it. */
static inline void F(depthwise_lines)(const REAL **row, const struct depthwise *v, const REAL *image, size y, size x, int count)
{
    const REAL *at = image + y * v->width + x, *zeros = (const REAL *)v->zeros + x;
    for (int r = 0; r < count; r++, at += v->width) row[r] = (size_t)(y + r) < (size_t)v->height ? at : zeros;
}

/* Two vectors whose numbers take turns, as neighbours. */
static inline void F(depthwise_mix)(const F(vector) *pair, F(vector) *low, F(vector) *high)
{
#ifdef TURNS
    F(places) first, second;
    for (int k = 0; k < F(lanes); k++) first[k] = k / 2 + k % 2 * F(lanes), second[k] = first[k] + F(lanes) / 2;
    *low = __builtin_shuffle(pair[0], pair[1], first), *high = __builtin_shuffle(pair[0], pair[1], second);
#else
    REAL even[F(gemm_step)], odd[F(gemm_step)], both[2 * F(gemm_step)];
    STORE(even, pair[0]);
    STORE(odd, pair[1]);
    for (int k = 0; k < F(gemm_step); k++) both[2 * k] = even[k], both[2 * k + 1] = odd[k];
    *low = LOAD(both), *high = LOAD(both + F(gemm_step));
#endif
}

/* Of numbers in steps of `stride` those from `shift` < stride on: a vector of one row, or halves of two. */
static inline F(vector) F(depthwise_see)(const REAL *a, const REAL *b, int stride, int shift, int paired)
{
    if (stride == 1 && !paired) return LOAD(a);
#ifdef TURNS
    const int half = F(lanes) / 2;
    F(places) at;
    for (int k = 0; k < F(lanes); k++) at[k] = paired ? k % half * stride + k / half * F(lanes) + shift : k * stride + shift;
    return __builtin_shuffle(LOAD(a), LOAD(paired ? b : a + F(lanes)), at);
#else
    REAL part[F(gemm_step)];
    for (int k = 0, half = F(gemm_step) / 2; k < F(gemm_step); k++)
        part[k] = !paired || k < half ? a[k * stride + shift] : b[(k - half) * stride + shift];
    return LOAD(part);
#endif
}

/* A number in all lanes, or one in each half. */
static inline F(vector) F(depthwise_tap)(REAL a, REAL b, int paired)
{
    const F(vector) first = (F(vector)){0} + a, second = (F(vector)){0} + b;
    if (!paired) return first;
#ifdef TURNS
    F(places) halves;
    for (int k = 0; k < F(lanes); k++) halves[k] = k + k / (F(lanes) / 2) * F(lanes);
    return __builtin_shuffle(first, second, halves);
#else
    REAL part[F(gemm_step)];
    for (int k = 0; k < F(gemm_step); k++) part[k] = k < F(gemm_step) / 2 ? a : b;
    (void)second;
    return LOAD(part);
#endif
}

/* What a column of taps adds to R rows of results. */
DEPTHWISE F(depthwise_column)(F(vector) *sum, const REAL **row, const REAL **row2, const REAL *w, const REAL *w2, F(mask_of) mask, int kx,
                              const int K, const int S, const int R, const int paired)
{
    F(vector) tap[9];
    UNROLLED (int ky = 0; ky < K; ky++)
        if (paired) tap[ky] = F(depthwise_tap)(w[ky * K], w2[ky * K], 1);
    UNROLLED (int r = 0; r < (R - 1) * S + K; r++) {
        const F(vector) seen = MASKED(F(depthwise_see)(row[r] + kx, row2[r] + kx, S, 0, paired), mask);
        UNROLLED (int o = 0; o < R; o++) {
            const int ky = r - o * S;
            if (ky < 0 || ky >= K) continue;
            if (paired) sum[o] += tap[ky] * seen;
            else sum[o] += w[ky * K] * seen;
        }
    }
}

DEPTHWISE F(depthwise_results)(void *const *out, const void *const *image, const void *const *weight, const double *start,
                               const struct depthwise *v, const int K, const int S, const int R, const int paired)
{
    enum { MOST_ROWS = 40 };
    const REAL *row[2][MOST_ROWS];
    for (size y = 0; y < v->rows; y += R)
        for (size x = 0; x < v->columns; x += F(gemm_step)) {
            const F(lane_mask) *masks = (const F(lane_mask) *)v->masks + x * (K + 1);
            F(vector) sum[14];
            UNROLLED (int o = 0; o < R; o++) sum[o] = F(depthwise_tap)((REAL)start[0], (REAL)start[paired], paired);
            for (size p = 0; p < v->planes; p++) {
                for (int half = 0; half <= paired; half++)
                    F(depthwise_lines)(row[half], v, (const REAL *)image[half] + p * v->plane_step, y * S - v->before[0], x * S - v->before[1], (R - 1) * S + K);
                const REAL *w = (const REAL *)weight[0] + p * K * K, *w2 = (const REAL *)weight[paired] + p * K * K;
                for (int kx = 0; kx < K; kx++)
                    F(depthwise_column)(sum, row[0], row[paired], w + kx, w2 + kx, MASK(masks + kx * F(gemm_step)), kx, K, S, R, paired);
            }
            UNROLLED (int o = 0; o < R; o++)
                if (y + o < v->rows) {
                    const size at = (y + o) * v->columns + x;
                    if (!paired) F(depthwise_store)((REAL *)out[0] + at, sum[o], v->columns - x);
                    else F(depthwise_store_both)((REAL *)out[0] + at, (REAL *)out[1] + at, sum[o], v->columns);
                }
        }
}

#if defined(TURNS) && VECTOR_BYTES == 32
/* Every other number of two vectors takes one instruction, where each 16 bytes keep what they have of both: in an order that `depthwise_fold`
 * puts right, and back. */
static inline int F(depthwise_folded)(int k)
{
    const int each = 8 / (int)sizeof(REAL);
    return k % each + k / each % 2 * 2 * each + k / (2 * each) * each;
}
static inline F(vector) F(depthwise_fold)(F(vector) x)
{
    F(places) at;
    for (int k = 0; k < F(lanes); k++) at[k] = F(depthwise_folded)(k);
    return __builtin_shuffle(x, at);
}
static inline F(vector) F(depthwise_every_other)(const REAL *a)
{
    F(places) at;
    for (int k = 0, each = 8 / (int)sizeof(REAL); k < F(lanes); k++)
        at[k] = k % each * 2 + k / each % 2 * F(lanes) + k / (2 * each) * 2 * each;
    return __builtin_shuffle(LOAD(a), LOAD(a + F(lanes)), at);
}

/* R rows of a vector each. `at`: the place of its first number in a row of the image, at the first tap; `masked`: some may lie beside it. */
DEPTHWISE F(depthwise_block)(REAL *to, const REAL *const *row, size at, const REAL *w, F(vector) start, const struct depthwise *v, const int K,
                             const int S, const int R, const int masked)
{
    F(vector) sum[8];
    F(mask_of) place;
    for (int k = 0; k < F(lanes); k++) place[k] = (S == 2 ? F(depthwise_folded)(k) : k) * S + (F(lane_mask))at;
    UNROLLED (int o = 0; o < R; o++) sum[o] = start;
#define COLUMN(kx)                                                                                              \
    UNROLLED (int r = 0; r < (R - 1) * S + K; r++) {                                                            \
        F(vector) seen = S == 2 ? F(depthwise_every_other)(row[r] + at + (kx)) : LOAD(row[r] + at + (kx));      \
        if (masked) seen = MASKED(seen, (place >= -(kx)) & (place < (F(lane_mask))v->width - (kx)));            \
        UNROLLED (int o = 0; o < R; o++)                                                                        \
            if (r - o * S >= 0 && r - o * S < K) sum[o] += w[(r - o * S) * K + (kx)] * seen;                    \
    }
    if (K == 3 && !masked) {
        COLUMN(0) COLUMN(1) COLUMN(2)
    } else
        for (int kx = 0; kx < K; kx++) {
            COLUMN(kx)
        }
#undef COLUMN
    UNROLLED (int o = 0; o < R; o++) STORE(to + o * v->columns, S == 2 ? F(depthwise_fold)(sum[o]) : sum[o]);
}

/* Results of an image of at least R rows, no shorter than a vector: the last rows, and the last vectors of rows, may be computed twice. */
DEPTHWISE F(depthwise_long)(REAL *out, const REAL *image, const REAL *w, REAL start, const struct depthwise *v, const int K, const int S, const int R)
{
    const F(vector) first = (F(vector)){0} + start;
    const size columns = v->columns, before = v->before[1], last = v->width - (F(lanes) - 1) * S - K, wide = columns - F(lanes);
    for (size k = 0; k < v->rows; k += R) {
        const size y = k + R <= v->rows ? k : v->rows - R;
        const REAL *row[22];
        UNROLLED (int r = 0; r < (R - 1) * S + K; r++) {
            const size line = y * S - v->before[0] + r;
            row[r] = (size_t)line < (size_t)v->height ? image + line * v->width : (const REAL *)v->zeros;
        }
        for (size i = 0; i < columns;) {
            size x = i <= wide ? i : wide, at = x * S - before;
            if (at < 0 || at > last) {
                F(depthwise_block)(out + y * columns + x, row, at, w, first, v, K, S, R, 1);
                i += F(lanes);
            } else
                for (; at <= last && x <= wide; at += F(lanes) * S, x += F(lanes), i = x)
                    F(depthwise_block)(out + y * columns + x, row, at, w, first, v, K, S, R, 0);
        }
    }
}

/* Whether that was done. Of its own: inlined, it makes those that do without it slower by a tenth. */
__attribute__((noinline)) static int F(depthwise_by_long)(REAL *out, const REAL *image, const REAL *w, REAL start, const struct depthwise *v)
{
    const size rows = v->rows, blocks = (rows + 7) / 8;
    const int few = (rows + 6) / 7 * 7 <= (rows + 3) / 4 * 4 ? 7 : 4;
    const int many = v->kernel == 9 ? 8 : rows <= 6 * blocks ? 6 : rows <= 7 * blocks ? 7 : 8; /* fewer than 8 sums wait for each other, where each is of many products */
    const int high = v->kernel > 3 && v->stride == 1 ? many : few;
    if (rows < high) return 0;
#define CASE(K, S, R)                                                        \
    if (v->kernel == K && v->stride == S && high == R) {                     \
        F(depthwise_long)(out, image, w, start, v, K, S, R);                 \
        return 1;                                                            \
    }
    CASE(3, 1, 4) CASE(3, 1, 7) CASE(5, 1, 6) CASE(5, 1, 7) CASE(5, 1, 8) CASE(7, 1, 6) CASE(7, 1, 7) CASE(7, 1, 8) CASE(9, 1, 8)
    CASE(3, 2, 4) CASE(3, 2, 7) CASE(5, 2, 4) CASE(5, 2, 7) CASE(7, 2, 4) CASE(7, 2, 7)
#undef CASE
    return 0;
}
#endif

/* Results of an image, or of two whose rows are no longer than half a vector; or the sum of those of some images, each with
 * its filter. */
static void F(depthwise)(void *const *out, const void *const *image, const void *const *weight, const double *start, const struct depthwise *v)
{
#if defined(TURNS) && VECTOR_BYTES == 32
    const int alone = !v->paired && v->planes == 1 && v->columns >= F(lanes);
    if (alone && F(depthwise_by_long)(out[0], image[0], weight[0], (REAL)start[0], v)) return;
#endif
    enum { FOURTEEN = VECTOR_BYTES == 64, FEW_ROWS = VECTOR_BYTES == 32 }; /* as many sums stay in registers; images of so few rows are common */
    const int seven = (v->rows + 6) / 7 * 7 <= (v->rows + 3) / 4 * 4;
#define CASE(K, S)                                                                                              \
    if (v->kernel == K && v->stride == S) {                                                                     \
        if (v->paired && FEW_ROWS && v->rows <= 4) F(depthwise_results)(out, image, weight, start, v, K, S, 4, F(gemm_step) > 1); \
        else if (v->paired) F(depthwise_results)(out, image, weight, start, v, K, S, 7, F(gemm_step) > 1);      \
        else if (FOURTEEN && K == 7 && S == 1 && v->rows % 14 == 0) F(depthwise_results)(out, image, weight, start, v, K, S, 14, 0); \
        else if (seven) F(depthwise_results)(out, image, weight, start, v, K, S, 7, 0);                         \
        else F(depthwise_results)(out, image, weight, start, v, K, S, 4, 0);                                    \
        return;                                                                                                 \
    }
    CASE(3, 1) CASE(5, 1) CASE(7, 1) CASE(3, 2) CASE(5, 2) CASE(7, 2)
#undef CASE
    if (v->paired) F(depthwise_results)(out, image, weight, start, v, 9, 1, 7, F(gemm_step) > 1);
    else F(depthwise_results)(out, image, weight, start, v, 9, 1, 8, 0); /* fewer sums than that wait for each other */
}

/* The gradient in images for steps of two, whose padding is half the filter: neighbours in a row and in a column are made
 * together, as numbers of either parity are sums of other taps. The number 2i + e meets tap e + K / 2 - 2d of what lies at i + d. */
DEPTHWISE F(depthwise_pairs)(REAL *out, const REAL *grad, const REAL *weight, const struct depthwise *v, const int K)
{
    enum { R = 2, MOST_REACH = 4 };
    const int reach = (K + 1) / 2, least = -((K - 1) / 4);
    const REAL *row[R + MOST_REACH];
    for (size y = 0; 2 * y < v->rows; y += R)
        for (size x = 0; 2 * x < v->columns; x += F(gemm_step)) {
            const F(lane_mask) *masks = (const F(lane_mask) *)v->masks + x * (reach + 1);
            F(vector) sum[R][2][2];
            UNROLLED (int o = 0; o < 4 * R; o++) sum[o / 4][o / 2 % 2][o % 2] = (F(vector)){0};
            for (size p = 0; p < v->planes; p++) {
                const REAL *w = weight + p * K * K;
                F(depthwise_lines)(row, v, grad + p * v->plane_step, y + least, x + least, R + reach - 1);
                UNROLLED (int d = 0; d < reach; d++) {
                    const F(mask_of) mask = MASK(masks + d * F(gemm_step));
                    UNROLLED (int r = 0; r < R + reach - 1; r++) {
                        const F(vector) seen = MASKED(LOAD(row[r] + d), mask);
                        UNROLLED (int o = 0; o < 4 * R; o++) {
                            const int down = r - o / 4, ky = o / 2 % 2 + K / 2 - 2 * (least + down), kx = o % 2 + K / 2 - 2 * (least + d);
                            if (down >= 0 && down < reach && ky >= 0 && ky < K && kx >= 0 && kx < K)
                                sum[o / 4][o / 2 % 2][o % 2] += w[ky * K + kx] * seen;
                        }
                    }
                }
            }
            UNROLLED (int o = 0; o < 2 * R; o++)
                if (2 * y + o < v->rows) {
                    const size n = v->columns - 2 * x;
                    REAL *to = out + (2 * y + o) * v->columns + 2 * x;
                    F(vector) low, high;
                    F(depthwise_mix)(sum[o / 2][o % 2], &low, &high);
                    F(depthwise_store)(to, low, n);
                    if (n > F(gemm_step)) F(depthwise_store)(to + F(gemm_step), high, n - F(gemm_step));
                }
        }
}
static void F(depthwise_spread)(void *out, const void *grad, const void *weight, const struct depthwise *v)
{
    if (v->kernel == 3) F(depthwise_pairs)(out, grad, weight, v, 3);
    else if (v->kernel == 5) F(depthwise_pairs)(out, grad, weight, v, 5);
    else F(depthwise_pairs)(out, grad, weight, v, 7);
}

/* What R rows of gradients add to the sums of some columns of a filter. */
DEPTHWISE F(depthwise_products)(F(vector) (*sum)[5], const void *const *image, const void *const *grad, const F(lane_mask) *masks, size y, size x,
                                int kx, const struct depthwise *v, const int K, const int S, const int R, const int wide, const int paired)
{
    F(vector) g[7];
    enum { MOST_ROWS = 32 };
    const REAL *row[2][MOST_ROWS];
    for (int half = 0; half <= paired; half++)
        F(depthwise_lines)(row[half], v, image[half], y * S - v->before[0], x * S - v->before[1] + kx, (R - 1) * S + K);
#if defined(TURNS) && VECTOR_BYTES == 32
    const int folded = S == 2 && !paired; /* lanes keep the order of one shuffle */
#define FOLDED(x) (folded ? F(depthwise_fold)(x) : (x))
#define SEEN(r, c) (folded ? F(depthwise_every_other)(row[0][r] + (c)) : F(depthwise_see)(row[0][r] + (c) / S * S, row[paired][r] + (c) / S * S, S, (c) % S, paired))
#else
#define FOLDED(x) (x)
#define SEEN(r, c) F(depthwise_see)(row[0][r] + (c) / S * S, row[paired][r] + (c) / S * S, S, (c) % S, paired)
#endif
    UNROLLED (int o = 0; o < R; o++) {
        const size at = (y + o) * v->columns + x;
        g[o] = FOLDED(MASKED(F(depthwise_see)((const REAL *)grad[0] + at, (const REAL *)grad[paired] + at, 1, 0, paired), MASK(masks + K * F(gemm_step))));
    }
    UNROLLED (int r = 0; r < (R - 1) * S + K; r++)
        UNROLLED (int c = 0; c < wide; c++) {
            const F(vector) seen = MASKED(SEEN(r, c), (F(mask_of))FOLDED((F(vector))MASK(masks + (kx + c) * F(gemm_step))));
            UNROLLED (int o = 0; o < R; o++)
                if (r - o * S >= 0 && r - o * S < K) sum[r - o * S][c] += g[o] * seen;
        }
#undef SEEN
#undef FOLDED
}
DEPTHWISE F(depthwise_filter)(REAL *sums, const void *const *image, const void *const *grad, const struct depthwise *v, const int K,
                              const int S, const int R, const int wide, const int paired)
{
    for (int kx = 0; kx < K; kx += wide) {
        F(vector) sum[9][5];
        UNROLLED (int ky = 0; ky < K; ky++)
            UNROLLED (int c = 0; c < wide; c++) sum[ky][c] = (F(vector)){0};
        for (size x = 0; x < v->columns; x += F(gemm_step)) {
            const F(lane_mask) *masks = (const F(lane_mask) *)v->masks + x * (K + 1);
            size y = 0;
            for (; y + R <= v->rows; y += R) F(depthwise_products)(sum, image, grad, masks, y, x, kx, v, K, S, R, wide, paired);
            for (; y < v->rows; y++) F(depthwise_products)(sum, image, grad, masks, y, x, kx, v, K, S, 1, wide, paired);
        }
        UNROLLED (int ky = 0; ky < K; ky++)
            UNROLLED (int c = 0; c < wide; c++) {
                REAL *to = sums + (ky * K + kx + c) * F(gemm_step);
                STORE(to, LOAD(to) + sum[ky][c]);
            }
    }
}

#ifdef TURNS
/* The same for two images whose rows are no longer than half a vector, by filters of 3 x 3 in steps of one: a row of both is read once, and
 * what other columns of taps see of it is the same vector, shifted; three rows stay in registers. */
static void F(depthwise_short)(REAL *sums, const void *const *image, const void *const *grad, const struct depthwise *v)
{
    enum { K = 3, half = F(lanes) / 2 };
    const F(lane_mask) *masks = v->masks;
    const F(mask_of) there = MASK(masks + K * F(lanes));
    F(places) halves, shift[K];
    for (int k = 0; k < F(lanes); k++) {
        halves[k] = k % half + k / half * F(lanes);
        for (int c = 0; c < K; c++) {
            const int from = k % half + c - (int)v->before[1];
            shift[c][k] = from < 0 || from >= half ? k : from + k / half * half;
        }
    }
    F(vector) sum[K][K], seen[K][K];
    UNROLLED (int k = 0; k < K * K; k++) sum[k / K][k % K] = seen[k / K][k % K] = (F(vector)){0};
    for (size y = 1 - K; y < v->rows; y++) {
        const size row = y + K - 1 - v->before[0];
        UNROLLED (int k = 0; k < (K - 1) * K; k++) seen[k / K][k % K] = seen[k / K + 1][k % K];
        const int inside = row >= 0 && row < v->height;
        const REAL *a = inside ? (const REAL *)image[0] + row * v->width : v->zeros, *b = inside ? (const REAL *)image[1] + row * v->width : v->zeros;
        const F(vector) both = __builtin_shuffle(LOAD(a), LOAD(b), halves);
        UNROLLED (int c = 0; c < K; c++) seen[K - 1][c] = MASKED(__builtin_shuffle(both, shift[c]), MASK(masks + c * F(lanes)));
        if (y < 0) continue;
        const size at = y * v->columns;
        const F(vector) g = MASKED(__builtin_shuffle(LOAD((const REAL *)grad[0] + at), LOAD((const REAL *)grad[1] + at), halves), there);
        UNROLLED (int k = 0; k < K * K; k++) sum[k / K][k % K] += g * seen[k / K][k % K];
    }
    UNROLLED (int k = 0; k < K * K; k++) {
        STORE(sums, LOAD(sums) + sum[k / K][k % K]);
        sums += F(lanes);
    }
}
#endif

/* Add to the sums, a vector for each tap, of the gradient in a filter; of one image, or two whose rows are short. Sums stay in
 * registers: columns of larger filters are taken one by one. */
static void F(depthwise_sums)(void *sums, const void *const *image, const void *const *grad, const struct depthwise *v)
{
    enum { FIVE = VECTOR_BYTES == 64 ? 5 : 1 };
#define CASE(K, S, R, WIDE)                                                                                     \
    if (v->kernel == K && v->stride == S) {                                                                     \
        if (v->paired) F(depthwise_filter)(sums, image, grad, v, K, S, R, WIDE, F(gemm_step) > 1);              \
        else F(depthwise_filter)(sums, image, grad, v, K, S, R, WIDE, 0);                                       \
        return;                                                                                                 \
    }
#ifdef TURNS
    if (v->paired && v->kernel == 3 && v->stride == 1 && v->width <= F(lanes) / 2) {
        F(depthwise_short)(sums, image, grad, v);
        return;
    }
#endif
    if (v->rows % 7 == 0) {
        CASE(3, 1, 7, 3) CASE(3, 2, 7, 3)
    }
    CASE(3, 1, 4, 3) CASE(5, 1, 4, FIVE) CASE(7, 1, 7, 1) CASE(9, 1, 7, 1) CASE(3, 2, 4, 3) CASE(5, 2, 4, FIVE) CASE(7, 2, 7, 1)
#undef CASE
}

/* Vectors to numbers. */
static void F(depthwise_totals)(void *out, const void *sums, size count)
{
    REAL *to = out;
    const REAL *from = sums;
#ifdef TURNS
    for (size k = 0; k < count; k += F(lanes)) {
        F(vector) square[F(lanes)];
        for (int i = 0; i < F(lanes); i++) square[i] = k + i < count ? LOAD(from + (k + i) * F(lanes)) : (F(vector)){0};
        F(turn)(square);
        for (int h = F(lanes) / 2; h; h /= 2)
            for (int i = 0; i < h; i++) square[i] += square[i + h];
        F(depthwise_store)(to + k, square[0], count - k);
    }
#else
    for (size k = 0; k < count; k++, from += F(gemm_step)) {
        to[k] = 0;
        for (int i = 0; i < F(gemm_step); i++) to[k] += from[i];
    }
#endif
}

#undef MASKED
#undef MASK
