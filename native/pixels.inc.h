/* Images whose channels lie innermost: a vector is neighbouring channels of a pixel. Sums and products over the pixels of windows, for
 * depthwise convolutions; and the way from pixels to planes and back. */

/* to (columns x rows) = from (rows x columns), turned in squares of registers; the last ones overlap those before. `to` may be written
 * over between its rows, if they lie without gaps. */
static void F(pixels_turned)(REAL *to, size to_row, const REAL *from, size from_row, size rows, size columns)
{
#ifdef TURNS
    const size lanes = F(lanes);
    F(vector) square[F(lanes)];
    REAL part[F(lanes)];
    if (rows >= lanes && columns >= lanes) {
        for (size i0 = 0; i0 < rows; i0 += lanes)
            for (size j0 = 0; j0 < columns; j0 += lanes) {
                const size i = i0 + lanes < rows ? i0 : rows - lanes, j = j0 + lanes < columns ? j0 : columns - lanes;
                for (int k = 0; k < F(lanes); k++) square[k] = LOAD(from + (i + k) * from_row + j);
                F(turn)(square);
                for (int k = 0; k < F(lanes); k++) STORE(to + (j + k) * to_row + i, square[k]);
            }
        return;
    }
    if (columns >= lanes && rows > 2) { /* whole vectors are written: what is too much is written over by the next */
        for (size j0 = 0; j0 < columns; j0 += lanes) {
            const size j = j0 + lanes < columns ? j0 : columns - lanes, there = to_row == rows ? columns * rows - lanes : -1;
            for (int k = 0; k < F(lanes); k++) square[k] = k < rows ? LOAD(from + k * from_row + j) : (F(vector)){0};
            F(turn)(square);
            for (int k = 0; k < F(lanes); k++) {
                REAL *at = to + (j + k) * to_row;
                if ((j + k) * rows <= there) STORE(at, square[k]);
                else {
                    STORE(part, square[k]);
                    F(conv_move)(at, part, rows);
                }
            }
        }
        return;
    }
    if (rows >= lanes && columns > 2) {
        const size end = (rows - 1) * from_row + columns - lanes;
        for (size i0 = 0; i0 < rows; i0 += lanes) {
            const size i = i0 + lanes < rows ? i0 : rows - lanes;
            for (int k = 0; k < F(lanes); k++) {
                const REAL *at = from + (i + k) * from_row;
                if ((i + k) * from_row > end) F(conv_move)(part, at, columns), at = part;
                square[k] = LOAD(at);
            }
            F(turn)(square);
            for (size j = 0; j < columns; j++) STORE(to + j * to_row + i, square[j]);
        }
        return;
    }
#endif
    for (size j = 0; j < columns; j++)
        for (size i = 0; i < rows; i++) to[j * to_row + i] = from[i * from_row + j];
}

/* The place of a vector of channels: the last one overlaps that before. */
static inline size F(pixels_place)(size vector, size channels)
{
    return (vector + 1) * F(gemm_step) <= channels ? vector * F(gemm_step) : channels - F(gemm_step);
}

/* COUNT neighbouring results, of some vectors of channels. */
DEPTHWISE F(pixels_results)(REAL *out, const REAL *source, const REAL *weight, const REAL *bias, const struct pixels *v, size first, size last, const int COUNT)
{
    const size step = v->step, out_step = v->out_step, channels = v->channels, taps = v->taps, *tap = v->tap, *offset = v->offset;
    for (size k = first; k < last; k++) {
        const size c = F(pixels_place)(k, channels);
        F(vector) sum[8];
        UNROLLED (int i = 0; i < COUNT; i++) sum[i] = bias ? LOAD(bias + c) : (F(vector)){0};
        for (size t = 0; t < taps; t++) {
            const F(vector) w = LOAD(weight + tap[t] * channels + c);
            const REAL *at = source + offset[t] + c;
            UNROLLED (int i = 0; i < COUNT; i++) sum[i] += w * LOAD(at + i * step);
        }
        UNROLLED (int i = 0; i < COUNT; i++) STORE(out + i * out_step + c, sum[i]);
    }
}
/* One result, four vectors of channels at a time: sums that do not wait for each other. */
static void F(pixels_single)(REAL *out, const REAL *source, const REAL *weight, const REAL *bias, const struct pixels *v)
{
    const size channels = v->channels, taps = v->taps, *tap = v->tap, *offset = v->offset;
    for (size k = v->first; k < v->last; k += 4) {
        F(vector) sum[4];
        size c[4];
        UNROLLED (int i = 0; i < 4; i++) {
            c[i] = F(pixels_place)(k + i < v->last ? k + i : v->last - 1, channels);
            sum[i] = bias ? LOAD(bias + c[i]) : (F(vector)){0};
        }
        for (size t = 0; t < taps; t++) {
            const REAL *w = weight + tap[t] * channels, *at = source + offset[t];
            UNROLLED (int i = 0; i < 4; i++) sum[i] += LOAD(w + c[i]) * LOAD(at + c[i]);
        }
        UNROLLED (int i = 0; i < 4; i++) STORE(out + c[i], sum[i]);
    }
}

/* The results of a run; the last of a longer one are computed twice. */
static void F(pixels_sums)(REAL *out, const REAL *source, const REAL *weight, const REAL *bias, const struct pixels *v)
{
    const size together = v->taps > 16 ? 1 : v->last - v->first; /* vectors: what many taps see of more would not stay in the first cache */
    const size alone = v->count < 4 ? v->count : v->count % 4 == 1, count = v->count - alone;
    for (size x = count; x < v->count; x++) F(pixels_single)(out + x * v->out_step, source + x * v->step, weight, bias, v);
    for (size k = v->first; k < v->last && count; k += together)
        for (size x0 = 0, n; x0 < count; x0 += n) {
            n = count >= 8 && count - x0 > 4 ? 8 : 4;
            const size x = x0 + n <= count ? x0 : count - n;
            if (n == 8) F(pixels_results)(out + x * v->out_step, source + x * v->step, weight, bias, v, k, k + together, 8);
            else F(pixels_results)(out + x * v->out_step, source + x * v->step, weight, bias, v, k, k + together, 4);
        }
}

/* What the pixels of a run add to the sums of TAPS taps. */
DEPTHWISE F(pixels_taps)(REAL *sums, const REAL *source, const REAL *grad, const struct pixels *v, size c, size t, size k, const int TAPS)
{
    F(vector) sum[9];
    const REAL *at[9];
    UNROLLED (int i = 0; i < TAPS; i++) sum[i] = (F(vector)){0}, at[i] = source + v->offset[t + i] + c;
    grad += c;
    for (size x = 0, from = 0; x < v->count; x++, from += v->step, grad += v->out_step) {
        const F(vector) g = LOAD(grad);
        UNROLLED (int i = 0; i < TAPS; i++) sum[i] += g * LOAD(at[i] + from);
    }
    UNROLLED (int i = 0; i < TAPS; i++) {
        REAL *to = sums + v->tap[t + i] * v->room + k * F(gemm_step);
        STORE(to, LOAD(to) + sum[i]);
    }
}
static void F(pixels_products)(REAL *sums, const REAL *source, const REAL *grad, const struct pixels *v)
{
    for (size k = v->first; k < v->last; k++) {
        const size c = F(pixels_place)(k, v->channels);
        for (size t = 0, n; t < v->taps; t += n) {
            const size left = v->taps - t;
            n = left >= 9 ? 9 : left >= 6 ? 6 : left >= 3 ? 3 : 1;
            if (n == 9) F(pixels_taps)(sums, source, grad, v, c, t, k, 9);
            else if (n == 6) F(pixels_taps)(sums, source, grad, v, c, t, k, 6);
            else if (n == 3) F(pixels_taps)(sums, source, grad, v, c, t, k, 3);
            else F(pixels_taps)(sums, source, grad, v, c, t, k, 1);
        }
    }
}

/* Sums of vectors of channels, a row for each tap, to channels and taps. */
static void F(pixels_leave)(REAL *out, const REAL *sums, const struct pixels *v, size taps)
{
    for (size k = v->first; k < v->last; k++) {
        const size c = F(pixels_place)(k, v->channels);
        for (size i = 0; i < F(gemm_step); i++)
            for (size t = 0; t < taps; t++) out[(c + i) * taps + t] = sums[t * v->room + k * F(gemm_step) + i];
    }
}
#undef DEPTHWISE
#undef UNROLLED
