/* Recurrent layers: all steps for the sequences [begin, end) of a batch, which no other sequence touches. The rows of a
 * step that belong to them are `rows`, from `row` on. Matrices are packed into panels (gemm.inc.h).
 *
 * LSTM (gates i, f, g, o) and GRU (r, z, n) leave the activated gates, four parts a row, for their gradients: the GRU's
 * fourth is what the state contributes to n. */

/* to = rows of numbers times the weight, in panels, plus rows `plus_row` apart (the same for all with 0; none with NULL). */
#define TIMES_WEIGHT(to, columns, plus, plus_row, from, depth)                                                       \
    if (v->by_pairs) {                                                                                               \
        F(rows_of)(to, plus, plus_row, rows, columns);                                                               \
        v->by_pairs((float *)(to), columns, (const float *)(from), depth, v->packed, (uint16_t *)v->narrow + begin * ((depth) + (depth) % 2), rows, columns, depth); \
    } else F(gemm_onto)(to, columns, plus, plus_row, from, depth, v->packed, rows, columns, depth)

static void F(rows_of)(REAL *to, const REAL *from, size from_row, size rows, size columns)
{
    for (size r = 0; r < rows; r++, to += columns) {
        if (!from) memset(to, 0, columns * sizeof(REAL));
        else if (to != from + r * from_row) memcpy(to, from + r * from_row, columns * sizeof(REAL));
    }
}

#define STEPS(order)                                                                                                 \
    for (size k = 0; k < v->steps; k++) {                                                                            \
        const size t = order;                                                                                        \
        const size stop = end < v->count[t] ? end : v->count[t], rows = stop - begin, row = v->first[t] + begin;     \
        if (pool_stopped()) return;                                                                                  \
        if (rows <= 0) continue;

static void F(lstm_rows)(const struct recurrent *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *state = (REAL *)v->h + begin * n, *memory = (REAL *)v->c + begin * n;
    STEPS(k)
        REAL *act = (REAL *)v->act + row * 4 * n;
        TIMES_WEIGHT(act, 4 * n, (const REAL *)v->gates + row * 4 * n, 4 * n, state, n);
        for (size r = 0; r < rows; r++, act += 4 * n) {
            REAL *restrict cell = (REAL *)v->cells + (row + r) * n, *restrict out = (REAL *)v->output + (row + r) * n;
            REAL *restrict h = state + r * n, *restrict c = memory + r * n;
            for (size i = 0; i < 2 * n; i++) act[i] = F(sigmoid)(act[i]);
            for (size i = 2 * n; i < 3 * n; i++) act[i] = F(tanh)(act[i]);
            for (size i = 3 * n; i < 4 * n; i++) act[i] = F(sigmoid)(act[i]);
            EACH c[i] = cell[i] = act[n + i] * c[i] + act[i] * act[2 * n + i];
            EACH h[i] = out[i] = act[3 * n + i] * F(tanh)(c[i]);
        }
    }
}

static void F(lstm_grad_rows)(const struct recurrent *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *grad_h = (REAL *)v->h + begin * n, *grad_c = (REAL *)v->c + begin * n;
    STEPS(v->steps - 1 - k)
        for (size r = 0; r < rows; r++) {
            const REAL *restrict act = (const REAL *)v->act + (row + r) * 4 * n, *restrict cell = (const REAL *)v->cells + (row + r) * n;
            const REAL *restrict before = t && begin + r < v->count[t - 1] ? (const REAL *)v->cells + (v->first[t - 1] + begin + r) * n
                                                                          : (const REAL *)v->c0 + (begin + r) * n;
            const REAL *restrict g = v->grad ? (const REAL *)v->grad + (row + r) * n : NULL;
            REAL *restrict d = (REAL *)v->gates + (row + r) * 4 * n, *restrict dh = grad_h + r * n, *restrict dc = grad_c + r * n;
            if (g) EACH dh[i] += g[i];
            EACH
            {
                const REAL in = act[i], forget = act[n + i], new = act[2 * n + i], out = act[3 * n + i];
                const REAL tanh_c = F(tanh)(cell[i]), c = dc[i] + dh[i] * out * (ONE - tanh_c * tanh_c);
                d[i] = c * new * (in * (ONE - in));
                d[n + i] = c * before[i] * (forget * (ONE - forget));
                d[2 * n + i] = c * in * (ONE - new * new);
                d[3 * n + i] = dh[i] * tanh_c * (out * (ONE - out));
                dc[i] = c * forget;
                dh[i] = 0;
            }
        }
        TIMES_WEIGHT(grad_h, n, grad_h, n, (const REAL *)v->gates + row * 4 * n, 4 * n);
    }
}

static void F(gru_rows)(const struct recurrent *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *state = (REAL *)v->h + begin * n, *own = (REAL *)v->work + begin * 3 * n;
    STEPS(k)
        TIMES_WEIGHT(own, 3 * n, (const REAL *)v->bias, 0, state, n);
        for (size r = 0; r < rows; r++) {
            const REAL *restrict x = (const REAL *)v->gates + (row + r) * 3 * n, *restrict mine = own + r * 3 * n;
            REAL *restrict act = (REAL *)v->act + (row + r) * 4 * n, *restrict out = (REAL *)v->output + (row + r) * n, *restrict h = state + r * n;
            for (size i = 0; i < 2 * n; i++) act[i] = F(sigmoid)(x[i] + mine[i]);
            EACH act[3 * n + i] = mine[2 * n + i];
            EACH act[2 * n + i] = F(tanh)(x[2 * n + i] + act[i] * mine[2 * n + i]);
            EACH h[i] = out[i] = act[2 * n + i] + act[n + i] * (h[i] - act[2 * n + i]);
        }
    }
}

/* `gates` gets the gradient of the input's part of the gates, `own` that of the state's part. */
static void F(gru_grad_rows)(const struct recurrent *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *grad_h = (REAL *)v->h + begin * n;
    STEPS(v->steps - 1 - k)
        for (size r = 0; r < rows; r++) {
            const REAL *restrict act = (const REAL *)v->act + (row + r) * 4 * n;
            const REAL *restrict before = t && begin + r < v->count[t - 1] ? (const REAL *)v->output + (v->first[t - 1] + begin + r) * n
                                                                          : (const REAL *)v->h0 + (begin + r) * n;
            const REAL *restrict g = v->grad ? (const REAL *)v->grad + (row + r) * n : NULL;
            REAL *restrict d = (REAL *)v->gates + (row + r) * 3 * n, *restrict own = (REAL *)v->own + (row + r) * 3 * n, *restrict dh = grad_h + r * n;
            if (g) EACH dh[i] += g[i];
            EACH
            {
                const REAL reset = act[i], keep = act[n + i], new = act[2 * n + i];
                const REAL d_new = dh[i] * (ONE - keep) * (ONE - new * new);
                d[i] = own[i] = d_new * act[3 * n + i] * (reset * (ONE - reset));
                d[n + i] = own[n + i] = dh[i] * (before[i] - new) * (keep * (ONE - keep));
                d[2 * n + i] = d_new;
                own[2 * n + i] = d_new * reset;
                dh[i] *= keep;
            }
        }
        TIMES_WEIGHT(grad_h, n, grad_h, n, (const REAL *)v->own + row * 3 * n, 3 * n);
    }
}

static void F(elman_rows)(const struct recurrent *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *state = (REAL *)v->h + begin * n;
    STEPS(k)
        REAL *out = (REAL *)v->output + row * n;
        TIMES_WEIGHT(out, n, (const REAL *)v->gates + row * n, n, state, n);
        if (v->relu) for (size i = 0; i < rows * n; i++) out[i] = out[i] < 0 ? 0 : out[i];
        else for (size i = 0; i < rows * n; i++) out[i] = F(tanh)(out[i]);
        memcpy(state, out, rows * n * sizeof(REAL));
    }
}

static void F(elman_grad_rows)(const struct recurrent *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *grad_h = (REAL *)v->h + begin * n;
    STEPS(v->steps - 1 - k)
        const REAL *restrict out = (const REAL *)v->output + row * n, *restrict g = v->grad ? (const REAL *)v->grad + row * n : NULL;
        REAL *restrict d = (REAL *)v->gates + row * n;
        if (g) for (size i = 0; i < rows * n; i++) grad_h[i] += g[i];
        if (v->relu) for (size i = 0; i < rows * n; i++) d[i] = out[i] > 0 ? grad_h[i] : 0;
        else for (size i = 0; i < rows * n; i++) d[i] = grad_h[i] * (ONE - out[i] * out[i]);
        memset(grad_h, 0, rows * n * sizeof(REAL));
        TIMES_WEIGHT(grad_h, n, grad_h, n, d, n);
    }
}
#include "recurrent_twice.inc.h"
#undef STEPS
#undef TIMES_WEIGHT
