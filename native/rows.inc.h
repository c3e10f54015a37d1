/* Row kernels for one REAL type and one instruction set. */

/* The largest element; NaN is passed over here and comes back through the sum of exponentials. */
static inline REAL F(row_max)(const REAL *x, size n)
{
    REAL lanes[128 / sizeof(REAL)], top = (REAL)-INFINITY;
    size i0 = 0;
    F(fill_lanes)(lanes, top);
    for (; i0 + LANES <= n; i0 += LANES)
        for (size j = 0; j < LANES; j++) lanes[j] = x[i0 + j] > lanes[j] ? x[i0 + j] : lanes[j];
    for (; i0 + LANES / 4 <= n; i0 += LANES / 4)
        for (size j = 0; j < LANES / 4; j++) lanes[j] = x[i0 + j] > lanes[j] ? x[i0 + j] : lanes[j];
    for (size i = i0; i < n; i++) top = x[i] > top ? x[i] : top;
    if (i0) {
        const REAL most = F(fold_max)(lanes);
        top = most > top ? most : top;
    }
    return top;
}

/* Sum of exp(x - top): the exponentials of a block first, and then their sum, so that both loops vectorise. */
static inline REAL F(exp_sum)(const REAL *x, REAL top, size columns)
{
    REAL part[256], whole = 0;
    for (size at = 0; at < columns; at += 256) {
        const size n = columns - at < 256 ? columns - at : 256;
        const REAL *from = x + at;
        REAL sum;
        EACH part[i] = F(exp_minus)(top - from[i]);
        LANE_SUM(sum, part[i])
        whole += sum;
    }
    return whole;
}

/* One step of several rows after the other, where the next step of one would wait for its last: so many rows of n numbers. */
enum { F(rows_together) = 32 };
static inline size F(together)(size rows, size n)
{
    const size fit = 8192 / (size)sizeof(REAL) / n, most = fit < F(rows_together) ? fit : F(rows_together);
    return most < 1 ? 1 : most < rows ? most : rows;
}

static void F(softmax_rows)(REAL *out, const REAL *x, size rows, size n)
{
    REAL level[F(rows_together)]; /* the largest number of each row, then one over its sum */
    for (size count; rows > 0; rows -= count, x += count * n, out += count * n) {
        count = F(together)(rows, n);
        for (size r = 0; r < count; r++) level[r] = F(row_max)(x + r * n, n);
        for (size r = 0; r < count; r++) EACH out[r * n + i] = F(exp_minus)(level[r] - x[r * n + i]);
        for (size r = 0; r < count; r++) {
            REAL total;
            LANE_SUM(total, out[r * n + i])
            level[r] = ONE / total;
        }
        for (size r = 0; r < count; r++) EACH out[r * n + i] *= level[r];
    }
}

static void F(softmax_grad_rows)(REAL *out, const REAL *g, const REAL *y, size rows, size n)
{
    for (size r = 0; r < rows; r++, g += n, y += n, out += n) {
        REAL total;
        LANE_SUM(total, g[i] * y[i])
        EACH out[i] = y[i] * (g[i] - total);
    }
}

/* The sum of what exp_sum adds up, in the same order. */
static inline REAL F(block_sum)(const REAL *x, size columns)
{
    REAL whole = 0;
    for (size at = 0; at < columns; at += 256) {
        const size n = columns - at < 256 ? columns - at : 256;
        const REAL *from = x + at;
        REAL sum;
        LANE_SUM(sum, from[i])
        whole += sum;
    }
    return whole;
}

static inline REAL F(log_of)(REAL x) { return sizeof(REAL) == 4 ? (REAL)logf((float)x) : (REAL)log((double)x); }

static void F(log_softmax_rows)(REAL *out, const REAL *x, size rows, size n)
{
    enum { FIT = 8192 / sizeof(REAL) };
    REAL level[F(rows_together)], shift[F(rows_together)], room[FIT];
    for (size count; rows > 0; rows -= count, x += count * n, out += count * n) {
        count = F(together)(rows, n);
        for (size r = 0; r < count; r++) level[r] = F(row_max)(x + r * n, n);
        if (n <= FIT) {
            for (size r = 0; r < count; r++) EACH room[r * n + i] = F(exp_minus)(level[r] - x[r * n + i]);
            for (size r = 0; r < count; r++) shift[r] = F(log_of)(F(block_sum)(room + r * n, n));
        } else shift[0] = F(log_of)(F(exp_sum)(x, level[0], n));
        for (size r = 0; r < count; r++) EACH out[r * n + i] = (x[r * n + i] - level[r]) - shift[r];
    }
}

static void F(log_softmax_grad_rows)(REAL *out, const REAL *g, const REAL *y, size rows, size n)
{
    for (size r = 0; r < rows; r++, g += n, y += n, out += n) {
        REAL total;
        LANE_SUM(total, g[i])
        EACH out[i] = g[i] - F(exp)(y[i]) * total;
    }
}

static void F(normalize_rows)(REAL *out, REAL *mean, REAL *rstd, const REAL *x, const REAL *weight, const REAL *bias,
                              REAL eps, size rows, size n)
{
    for (size r0 = 0, r1; r0 < rows; r0 = r1) {
        r1 = r0 + F(together)(rows - r0, n);
        for (size r = r0; mean && r < r1; r++) {
            LANE_SUM(mean[r], x[r * n + i])
            mean[r] /= (REAL)n;
        }
        for (size r = r0; r < r1; r++) {
            const REAL centre = mean ? mean[r] : 0;
            LANE_SUM(rstd[r], (x[r * n + i] - centre) * (x[r * n + i] - centre))
        }
        for (size r = r0; r < r1; r++) rstd[r] = ONE / (REAL)sqrt(rstd[r] / (REAL)n + eps);
        for (size r = r0; r < r1; r++) {
            const REAL centre = mean ? mean[r] : 0, scale = rstd[r], *row = x + r * n;
            REAL *to = out + r * n;
            if (weight && bias) EACH to[i] = (row[i] - centre) * scale * weight[i] + bias[i];
            else if (weight) EACH to[i] = (row[i] - centre) * scale * weight[i];
            else if (bias) EACH to[i] = (row[i] - centre) * scale + bias[i];
            else EACH to[i] = (row[i] - centre) * scale;
        }
    }
}

/* Lines that are needed soon, on their way to the second cache. */
static inline void F(fetch)(const REAL *row)
{
#ifdef __GNUC__
    for (size k = 0; k < LANES; k += 64 / sizeof(REAL)) __builtin_prefetch(row + k, 0, 2);
#else
    (void)row;
#endif
}

/* The usual case, all gradients of a layer with weights: two passes over a row, which fetch the next one. */
static inline void F(normalize_grad_row)(REAL *restrict out, REAL *restrict grad_weight, REAL *restrict grad_bias, const REAL *restrict g,
                                         const REAL *restrict x, REAL centre, REAL scale, const REAL *restrict weight, int centred, size n)
{
    REAL totals[128 / sizeof(REAL)], alongs[128 / sizeof(REAL)], total = 0, along = 0;
    F(fill_lanes)(totals, 0), F(fill_lanes)(alongs, 0);
    size i0 = 0;
#define GATHER(i, total, along)                                                    \
    const REAL normal = (x[i] - centre) * scale, weighted = g[i] * weight[i];      \
    grad_weight[i] += g[i] * normal;                                               \
    if (grad_bias) grad_bias[i] += g[i];                                           \
    total += weighted, along += weighted * normal;
    for (; i0 + LANES <= n; i0 += LANES)
        for (size j = 0; j < LANES; j++) { GATHER(i0 + j, totals[j], alongs[j]) }
    for (size i = i0; i < n; i++) { GATHER(i, total, along) }
#undef GATHER
    if (i0) total += F(fold_sum)(totals), along += F(fold_sum)(alongs);
    total = centred ? total / (REAL)n : 0, along /= (REAL)n;
    for (i0 = 0; i0 + LANES <= n; i0 += LANES) {
        F(fetch)(x + n + i0), F(fetch)(g + n + i0);
        for (size i = i0; i < i0 + LANES; i++) out[i] = (g[i] * weight[i] - total - (x[i] - centre) * scale * along) * scale;
    }
    for (size i = i0; i < n; i++) out[i] = (g[i] * weight[i] - total - (x[i] - centre) * scale * along) * scale;
}

static void F(normalize_grad_rows)(REAL *out, REAL *grad_weight, REAL *grad_bias, const REAL *g, const REAL *x,
                                   const REAL *mean, const REAL *rstd, const REAL *weight, size rows, size n)
{
    for (size r = 0; r < rows; r++, x += n, g += n) {
        const REAL centre = mean ? mean[r] : 0, scale = rstd[r];
        if (out && weight && grad_weight) {
            if (grad_bias) F(normalize_grad_row)(out, grad_weight, grad_bias, g, x, centre, scale, weight, mean != NULL, n);
            else F(normalize_grad_row)(out, grad_weight, NULL, g, x, centre, scale, weight, mean != NULL, n);
            out += n;
            continue;
        }
        if (grad_weight) EACH grad_weight[i] += g[i] * ((x[i] - centre) * scale);
        if (grad_bias) EACH grad_bias[i] += g[i];
        if (!out) continue;
        REAL total = 0, along;
        if (weight) {
            if (mean) LANE_SUM(total, g[i] * weight[i])
            LANE_SUM(along, g[i] * weight[i] * ((x[i] - centre) * scale))
            total /= (REAL)n, along /= (REAL)n;
            EACH out[i] = (g[i] * weight[i] - total - (x[i] - centre) * scale * along) * scale;
        } else {
            if (mean) LANE_SUM(total, g[i])
            LANE_SUM(along, g[i] * ((x[i] - centre) * scale))
            total /= (REAL)n, along /= (REAL)n;
            EACH out[i] = (g[i] - total - (x[i] - centre) * scale * along) * scale;
        }
        out += n;
    }
}

/* The gradients of `normalize_grad`'s gradients of input (u), weight and bias, in g, x and the weight: back, slope and
 * grad_weight (added to). weight, of_weight, of_bias and grad_weight may be NULL. */
static void F(normalize_twice_rows)(REAL *back, REAL *slope, REAL *grad_weight, const REAL *u, const REAL *g, const REAL *x,
                                    const REAL *weight, const REAL *of_weight, const REAL *of_bias, REAL eps, size rows, size n)
{
    const REAL each = ONE / (REAL)n;
    for (size r = 0; r < rows; r++, back += n, slope += n, u += n, g += n, x += n) {
        REAL centre, square, level, share, pull, twist, bend, shift;
        LANE_SUM(centre, x[i])
        centre *= each;
        LANE_SUM(square, (x[i] - centre) * (x[i] - centre))
        const REAL scale = ONE / (REAL)sqrt(square * each + eps);
#define NORMAL ((x[i] - centre) * scale)
        LANE_SUM(level, u[i])
        LANE_SUM(share, u[i] * NORMAL)
        level *= each, share *= each;
        if (weight) EACH slope[i] = g[i] * weight[i];
        else EACH slope[i] = g[i];
        LANE_SUM(pull, slope[i] * NORMAL)
        pull *= each;
        EACH back[i] = (u[i] - level - NORMAL * share) * scale;
        LANE_SUM(twist, back[i] * slope[i])
        if (grad_weight) EACH grad_weight[i] += g[i] * back[i];
        if (of_weight) EACH slope[i] = g[i] * of_weight[i] - (u[i] * pull + slope[i] * share) * scale;
        else EACH slope[i] = -(u[i] * pull + slope[i] * share) * scale;
        LANE_SUM(bend, slope[i] * NORMAL)
        LANE_SUM(shift, slope[i])
        twist = (twist + bend) * each, shift *= each;
        EACH slope[i] = (slope[i] - shift - NORMAL * twist) * scale;
        if (weight) EACH back[i] *= weight[i];
        if (of_weight) EACH back[i] += NORMAL * of_weight[i];
        if (of_bias) EACH back[i] += of_bias[i];
#undef NORMAL
    }
}

/* Pieces of per-channel statistics, each over one contiguous stretch. */
static void F(moments_rows)(REAL *sum, REAL *square, const REAL *x, REAL centre, size n)
{
    LANE_SUM(*sum, x[i])
    LANE_SUM(*square, (x[i] - centre) * (x[i] - centre))
}
static void F(product_sums_rows)(REAL *sum, REAL *product, const REAL *g, const REAL *x, REAL centre, size n)
{
    LANE_SUM(*sum, g[i])
    LANE_SUM(*product, g[i] * (x[i] - centre))
}
static void F(affine_rows)(REAL *out, const REAL *x, REAL scale, REAL shift, size n)
{
    EACH out[i] = x[i] * scale + shift;
}
/* The same, and what relu makes of it, or hardtanh. */
static void F(affine_relu_rows)(REAL *out, const REAL *x, REAL scale, REAL shift, size n)
{
    EACH
    {
        const REAL y = x[i] * scale + shift;
        out[i] = y <= 0 ? (REAL)0 : y;
    }
}
static void F(affine_between_rows)(REAL *out, const REAL *x, REAL scale, REAL shift, REAL low, REAL high, size n)
{
    EACH
    {
        const REAL y = x[i] * scale + shift, up = y < low ? low : y;
        out[i] = up > high ? high : up;
    }
}
static void F(affine2_rows)(REAL *out, const REAL *g, const REAL *x, REAL a, REAL b, REAL c, size n)
{
    EACH out[i] = g[i] * a + x[i] * b + c;
}
static void F(add_rows)(REAL *out, const REAL *x, size n)
{
    EACH out[i] += x[i];
}

/* Numbers over a divisor, and the roots of these where they are asked for. */
static void F(settle_rows)(REAL *out, const double *x, double divisor, int root, size n)
{
    if (root) EACH out[i] = (REAL)__builtin_sqrt(x[i] / divisor);
    else if (divisor == 1) EACH out[i] = (REAL)x[i];
    else EACH out[i] = (REAL)(x[i] / divisor);
}
/* Four rows at a time, then into sums of double precision every 64 rows. */
static void F(sum_columns_rows)(double *out, const REAL *x, size rows, size step, size n)
{
    REAL part[COLUMNS];
    EACH out[i] = 0;
    for (size at = 0; at < rows; at += 64) {
        const size end = rows - at < 64 ? rows : at + 64;
        size r = at;
        EACH part[i] = 0;
        for (; r + 4 <= end; r += 4, x += 4 * step)
            EACH part[i] += (x[i] + x[step + i]) + (x[2 * step + i] + x[3 * step + i]);
        for (; r < end; r++, x += step) EACH part[i] += x[i];
        EACH out[i] += part[i];
    }
}
static void F(multiply_columns_rows)(double *out, const REAL *x, size rows, size step, size n)
{
    EACH out[i] = 1;
    for (size r = 0; r < rows; r++, x += step) EACH out[i] *= x[i];
}
/* Of what is not NaN: as the sums, where there is none. */
static void F(sum_numbers_columns_rows)(double *out, const REAL *x, size rows, size step, size n)
{
    int nan = 0;
    F(sum_columns_rows)(out, x, rows, step, n);
    EACH nan |= out[i] != out[i];
    if (!nan) return;
    EACH out[i] = 0;
    for (size r = 0; r < rows; r++, x += step) EACH out[i] += x[i] == x[i] ? x[i] : 0;
}

/* Softmax and its relatives down n columns that lie side by side: rows are `step` apart. */
static inline void F(column_max)(REAL *restrict top, const REAL *restrict x, size rows, size step, size n)
{
    EACH top[i] = (REAL)-INFINITY;
    for (size r = 0; r < rows; r++, x += step) EACH top[i] = x[i] > top[i] ? x[i] : top[i];
}
static void F(softmax_columns_rows)(REAL *out, const REAL *x, size rows, size step, size n)
{
    REAL top[COLUMNS], total[COLUMNS];
    F(column_max)(top, x, rows, step, n);
    EACH total[i] = 0;
    for (size r = 0; r < rows; r++) {
        const REAL *from = x + r * step;
        REAL *to = out + r * step;
        EACH { const REAL e = F(exp_minus)(top[i] - from[i]); to[i] = e, total[i] += e; }
    }
    EACH total[i] = ONE / total[i];
    for (size r = 0; r < rows; r++, out += step) EACH out[i] *= total[i];
}
static void F(softmax_grad_columns_rows)(REAL *out, const REAL *g, const REAL *y, size rows, size step, size n)
{
    REAL total[COLUMNS];
    EACH total[i] = 0;
    for (size r = 0; r < rows; r++) EACH total[i] += g[r * step + i] * y[r * step + i];
    for (size r = 0; r < rows; r++, g += step, y += step, out += step) EACH out[i] = y[i] * (g[i] - total[i]);
}
static void F(log_softmax_columns_rows)(REAL *out, const REAL *x, size rows, size step, size n)
{
    REAL top[COLUMNS], total[COLUMNS];
    F(column_max)(top, x, rows, step, n);
    EACH total[i] = 0;
    for (size r = 0; r < rows; r++) EACH total[i] += F(exp_minus)(top[i] - x[r * step + i]);
    for (size i = 0; i < n; i++) total[i] = sizeof(REAL) == 4 ? (REAL)logf((float)total[i]) : (REAL)log((double)total[i]);
    for (size r = 0; r < rows; r++, x += step, out += step) EACH out[i] = (x[i] - top[i]) - total[i];
}
static void F(log_softmax_grad_columns_rows)(REAL *out, const REAL *g, const REAL *y, size rows, size step, size n)
{
    REAL total[COLUMNS];
    EACH total[i] = 0;
    for (size r = 0; r < rows; r++) EACH total[i] += g[r * step + i];
    for (size r = 0; r < rows; r++, g += step, y += step, out += step) EACH out[i] = g[i] - F(exp)(y[i]) * total[i];
}

/* What rounding took from sum = a + b (Knuth); none where they are not finite. */
static inline REAL F(rest_of)(REAL sum, REAL a, REAL b)
{
    const REAL second = sum - a, rest = (a - (sum - second)) + (b - second);
    return rest == rest ? rest : 0;
}

/* Infinite where the largest is, unless there is NaN: sums of infinite differences are not numbers. */
static void F(logsumexp_columns_rows)(REAL *out, REAL *rest, const REAL *x, size rows, size step, size n)
{
    REAL top[COLUMNS], total[COLUMNS], logs[COLUMNS];
    int odd = 0;
    F(column_max)(top, x, rows, step, n);
    EACH total[i] = 0;
    for (size r = 0; r < rows; r++) EACH total[i] += F(exp_minus)(top[i] - x[r * step + i]);
    for (size i = 0; i < n; i++) odd |= total[i] != total[i];
    EACH logs[i] = F(log)(total[i]);
    EACH out[i] = top[i] + logs[i];
    for (size i = 0; rest && i < n; i++) rest[i] = total[i] == total[i] ? F(rest_of)(out[i], top[i], logs[i]) : 0;
    for (size i = 0; odd && i < n; i++) {
        if (total[i] == total[i]) continue;
        out[i] = top[i];
        for (size r = 0; r < rows; r++) out[i] = x[r * step + i] != x[r * step + i] ? x[r * step + i] : out[i];
    }
}
static void F(logsumexp_grad_rows)(REAL *out, const REAL *g, const REAL *x, const REAL *lse, size rows, size n)
{
    for (size r = 0; r < rows; r++, x += n, out += n) {
        const REAL shift = lse[r], factor = g[r];
        EACH out[i] = factor * F(exp)(x[i] - shift);
    }
}
static void F(logsumexp_grad_columns_rows)(REAL *out, const REAL *g, const REAL *x, const REAL *lse, size rows, size step, size n)
{
    for (size r = 0; r < rows; r++, x += step, out += step) EACH out[i] = g[i] * F(exp)(x[i] - lse[i]);
}

/* Batch normalisation of channels that lie side by side. The gradient: sums of g and of g * (x - mean) first. */
static void F(square_columns_rows)(double *out, const REAL *x, const REAL *mean, size rows, size step, size n)
{
    REAL part[COLUMNS];
    EACH out[i] = 0;
    for (size at = 0; at < rows; at += 64) {
        const size end = rows - at < 64 ? rows : at + 64;
        EACH part[i] = 0;
        for (size r = at; r < end; r++, x += step) EACH part[i] += (x[i] - mean[i]) * (x[i] - mean[i]);
        EACH out[i] += part[i];
    }
}
static void F(product_columns_rows)(double *out, const REAL *g, const REAL *x, const REAL *mean, size rows, size step, size n)
{
    REAL part[COLUMNS];
    EACH out[i] = 0;
    for (size at = 0; at < rows; at += 64) {
        const size end = rows - at < 64 ? rows : at + 64;
        EACH part[i] = 0;
        for (size r = at; r < end; r++, x += step, g += step) EACH part[i] += g[i] * (x[i] - mean[i]);
        EACH out[i] += part[i];
    }
}
static void F(affine_columns_rows)(REAL *out, const REAL *x, const REAL *scale, const REAL *shift, size rows, size step, size n)
{
    for (size r = 0; r < rows; r++, x += step, out += step) EACH out[i] = x[i] * scale[i] + shift[i];
}
static void F(affine2_columns_rows)(REAL *out, const REAL *g, const REAL *x, const REAL *a, const REAL *b, const REAL *c,
                                    size rows, size step, size n)
{
    for (size r = 0; r < rows; r++, g += step, x += step, out += step) EACH out[i] = g[i] * a[i] + x[i] * b[i] + c[i];
}

static void F(logsumexp_rows)(REAL *out, REAL *rest, const REAL *x, size rows, size n)
{
    for (size r = 0; r < rows; r++, x += n) {
        const REAL top = F(row_max)(x, n);
        const REAL total = (REAL)log((double)F(exp_sum)(x, top, n));
        out[r] = top + total;
        if (rest) rest[r] = F(rest_of)(out[r], top, total);
    }
}
static void F(cross_entropy_grad_rows)(REAL *out, const REAL *x, const REAL *lse, const REAL *scale,
                                       const int64_t *target, size rows, size n)
{
    for (size r = 0; r < rows; r++, x += n, out += n) {
        const REAL shift = lse[r], factor = scale[r];
        if (factor == 0) memset(out, 0, n * sizeof(REAL));
        else EACH out[i] = F(exp)(x[i] - shift) * factor;
        if (target[r] >= 0) out[target[r]] -= factor;
    }
}

/* Normal numbers after Box and Muller, in the arrangement that PyTorch has. */
static void F(sixteens_rows)(REAL *x, size runs, REAL mean, REAL std)
{
    enum { RUNS = 64 };
    REAL radius[8 * RUNS], angle[8 * RUNS];
    for (size at = 0; at < runs; at += RUNS, x += 16 * RUNS) {
        const size part = runs - at < RUNS ? runs - at : RUNS, n = 8 * part;
        for (size r = 0; r < part; r++)
            for (int k = 0; k < 8; k++)
                radius[r * 8 + k] = ONE - x[r * 16 + k], angle[r * 8 + k] = (REAL)6.28318530717958647692 * x[r * 16 + 8 + k];
        EACH
        {
            const REAL square = (REAL)-2 * F(log)(radius[i]), a = angle[i];
            const REAL size_of = sizeof(REAL) == 4 ? (REAL)__builtin_sqrtf((float)square) : (REAL)__builtin_sqrt((double)square);
            radius[i] = size_of * F(sine)(a, 1), angle[i] = size_of * F(sine)(a, 0);
        }
        if (mean != 0 || std != ONE)
            EACH radius[i] = (REAL)((double)radius[i] * std + mean), angle[i] = (REAL)((double)angle[i] * std + mean);
        for (size r = 0; r < part; r++)
            for (int k = 0; k < 8; k++) x[r * 16 + k] = radius[r * 8 + k], x[r * 16 + 8 + k] = angle[r * 8 + k];
    }
}
