/* The gradients of recurrent layers' gradients: see wengert.arrays.recurrent_twice for the formulas. `_dash` is a derivative
 * along the direction that came in. A first walk takes the states' derivatives forwards and leaves those of the gates, a second
 * takes the gradients and their derivatives backwards, and leaves both for all gates. */

#define IN(k) ((const REAL *)v->arrays[k])
#define OUT(k) ((REAL *)v->arrays[k])
/* The row of sequence r in the step before, in `all`, or in `initial`. */
#define BEFORE(all, initial) (t && begin + r < v->count[t - 1] ? (all) + (v->first[t - 1] + begin + r) * n : (initial) + (begin + r) * n)

/* What gradients of `wide` gates, and their derivatives, add to those of the states before. */
static void F(dash_back)(const struct recurrent_twice *v, REAL *h, REAL *h_dash, const REAL *gates, const REAL *gates_dash, size rows, size wide)
{
    const size n = v->hidden;
    F(gemm_packed)(h_dash, n, gates_dash, wide, v->packed, rows, n, wide);
    if (v->along) F(gemm_packed)(h_dash, n, gates, wide, v->along, rows, n, wide);
    F(gemm_packed)(h, n, gates, wide, v->packed, rows, n, wide);
}

/* arrays: act, cells, c0, a (the gates before they are activated; the state's part is added), h, c, output, cells: derivatives */
static void F(lstm_dash_rows)(const struct recurrent_twice *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *state = OUT(4) + begin * n;
    STEPS(k)
        REAL *gates = OUT(3) + row * 4 * n;
        F(gemm_packed)(gates, 4 * n, state, n, v->packed, rows, 4 * n, n);
        for (size r = 0; r < rows; r++) {
            const REAL *restrict act = IN(0) + (row + r) * 4 * n, *restrict cell = IN(1) + (row + r) * n;
            const REAL *restrict before = BEFORE(IN(1), IN(2)), *restrict a = gates + r * 4 * n;
            REAL *restrict h = state + r * n, *restrict c = OUT(5) + (begin + r) * n;
            REAL *restrict out_row = OUT(6) + (row + r) * n, *restrict cell_row = OUT(7) + (row + r) * n;
            EACH
            {
                const REAL in = act[i], forget = act[n + i], new = act[2 * n + i], out = act[3 * n + i], tanh_c = F(tanh)(cell[i]);
                const REAL d = c[i] * forget + a[n + i] * before[i] * (forget * (ONE - forget)) + a[i] * new * (in * (ONE - in)) +
                               a[2 * n + i] * in * (ONE - new * new);
                c[i] = cell_row[i] = d;
                h[i] = out_row[i] = a[3 * n + i] * tanh_c * (out * (ONE - out)) + out * (ONE - tanh_c * tanh_c) * d;
            }
        }
    }
}

/* arrays: act, cells, c0, a (becomes the gates' derivative), grad, c0's and cells' derivatives, dh, dc, theirs, d of the gates */
static void F(lstm_grad_dash_rows)(const struct recurrent_twice *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *grad_h = OUT(7) + begin * n, *grad_h_dash = OUT(9) + begin * n;
    STEPS(v->steps - 1 - k)
        for (size r = 0; r < rows; r++) {
            const REAL *restrict act = IN(0) + (row + r) * 4 * n, *restrict cell = IN(1) + (row + r) * n, *restrict g = IN(4) + (row + r) * n;
            const REAL *restrict before = BEFORE(IN(1), IN(2)), *restrict before_dash = BEFORE(IN(6), IN(5)), *restrict cell_dash = IN(6) + (row + r) * n;
            REAL *restrict a = OUT(3) + (row + r) * 4 * n, *restrict d = OUT(11) + (row + r) * 4 * n, *restrict dh = grad_h + r * n;
            REAL *restrict dc = OUT(8) + (begin + r) * n, *restrict dh_dash = grad_h_dash + r * n, *restrict dc_dash = OUT(10) + (begin + r) * n;
            EACH
            {
                const REAL in = act[i], forget = act[n + i], new = act[2 * n + i], out = act[3 * n + i], tanh_c = F(tanh)(cell[i]);
                const REAL s_in = in * (ONE - in), s_forget = forget * (ONE - forget), s_new = ONE - new * new, s_out = out * (ONE - out);
                const REAL in_dash = s_in * a[i], forget_dash = s_forget * a[n + i], new_dash = s_new * a[2 * n + i], out_dash = s_out * a[3 * n + i];
                const REAL flat = ONE - tanh_c * tanh_c, tanh_dash = flat * cell_dash[i];
                const REAL h = dh[i] + g[i], h_dash = dh_dash[i], c = dc[i] + h * out * flat;
                const REAL c_dash = dc_dash[i] + h_dash * out * flat + h * (out_dash * flat - 2 * out * tanh_c * tanh_dash);
                d[i] = c * new * s_in;
                d[n + i] = c * before[i] * s_forget;
                d[2 * n + i] = c * in * s_new;
                d[3 * n + i] = h * tanh_c * s_out;
                a[i] = c_dash * new * s_in + c * (new_dash * s_in + new * (ONE - 2 * in) * in_dash);
                a[n + i] = c_dash * before[i] * s_forget + c * (before_dash[i] * s_forget + before[i] * (ONE - 2 * forget) * forget_dash);
                a[2 * n + i] = c_dash * in * s_new + c * (in_dash * s_new - 2 * in * new * new_dash);
                a[3 * n + i] = h_dash * tanh_c * s_out + h * (tanh_dash * s_out + tanh_c * (ONE - 2 * out) * out_dash);
                dc[i] = c * forget;
                dc_dash[i] = c_dash * forget + c * forget_dash;
                dh[i] = dh_dash[i] = 0;
            }
        }
        F(dash_back)(v, grad_h, grad_h_dash, IN(11) + row * 4 * n, IN(3) + row * 4 * n, rows, 4 * n);
    }
}

/* arrays: act, the state before each row, x (the input's part of the gates, becomes r, z, n), own (the state's part), h, output */
static void F(gru_dash_rows)(const struct recurrent_twice *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *state = OUT(4) + begin * n;
    STEPS(k)
        F(gemm_packed)(OUT(3) + row * 3 * n, 3 * n, state, n, v->packed, rows, 3 * n, n);
        for (size r = 0; r < rows; r++) {
            const REAL *restrict act = IN(0) + (row + r) * 4 * n, *restrict before = IN(1) + (row + r) * n, *restrict own = IN(3) + (row + r) * 3 * n;
            REAL *restrict x = OUT(2) + (row + r) * 3 * n, *restrict h = state + r * n, *restrict out = OUT(5) + (row + r) * n;
            EACH
            {
                const REAL reset = act[i], keep = act[n + i], new = act[2 * n + i];
                const REAL reset_dash = reset * (ONE - reset) * (x[i] + own[i]), keep_dash = keep * (ONE - keep) * (x[n + i] + own[n + i]);
                const REAL new_dash = (ONE - new * new) * (x[2 * n + i] + reset_dash * act[3 * n + i] + reset * own[2 * n + i]);
                x[i] = reset_dash, x[n + i] = keep_dash, x[2 * n + i] = new_dash;
                h[i] = out[i] = new_dash + keep * (h[i] - new_dash) + keep_dash * (before[i] - new);
            }
        }
    }
}

/* arrays: act, the state before each row, x and own (become derivatives of the gates' gradients), the derivative of the state
 * before, grad, dh, its derivative, d of the state's part */
static void F(gru_grad_dash_rows)(const struct recurrent_twice *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *grad_h = OUT(6) + begin * n, *grad_h_dash = OUT(7) + begin * n;
    STEPS(v->steps - 1 - k)
        for (size r = 0; r < rows; r++) {
            const REAL *restrict act = IN(0) + (row + r) * 4 * n, *restrict before = IN(1) + (row + r) * n;
            const REAL *restrict before_dash = IN(4) + (row + r) * n, *restrict g = IN(5) + (row + r) * n;
            REAL *restrict x = OUT(2) + (row + r) * 3 * n, *restrict own = OUT(3) + (row + r) * 3 * n, *restrict d = OUT(8) + (row + r) * 3 * n;
            REAL *restrict dh = grad_h + r * n, *restrict dh_dash = grad_h_dash + r * n;
            EACH
            {
                const REAL reset = act[i], keep = act[n + i], new = act[2 * n + i], part = act[3 * n + i];
                const REAL reset_dash = x[i], keep_dash = x[n + i], new_dash = x[2 * n + i];
                const REAL s_reset = reset * (ONE - reset), s_keep = keep * (ONE - keep), s_new = ONE - new * new;
                const REAL h = dh[i] + g[i], h_dash = dh_dash[i], m_new = (ONE - keep) * s_new, through = part * s_reset;
                const REAL m_new_dash = -keep_dash * s_new - 2 * (ONE - keep) * new * new_dash;
                const REAL through_dash = own[2 * n + i] * s_reset + part * (ONE - 2 * reset) * reset_dash;
                const REAL m_keep = (before[i] - new) * s_keep;
                const REAL m_keep_dash = (before_dash[i] - new_dash) * s_keep + (before[i] - new) * (ONE - 2 * keep) * keep_dash;
                d[i] = h * m_new * through;
                d[n + i] = h * m_keep;
                d[2 * n + i] = h * m_new * reset;
                x[i] = own[i] = h_dash * m_new * through + h * (m_new_dash * through + m_new * through_dash);
                x[n + i] = own[n + i] = h_dash * m_keep + h * m_keep_dash;
                x[2 * n + i] = h_dash * m_new + h * m_new_dash;
                own[2 * n + i] = h_dash * m_new * reset + h * (m_new_dash * reset + m_new * reset_dash);
                dh[i] = h * keep;
                dh_dash[i] = h_dash * keep + h * keep_dash;
            }
        }
        F(dash_back)(v, grad_h, grad_h_dash, IN(8) + row * 3 * n, IN(3) + row * 3 * n, rows, 3 * n);
    }
}

/* arrays: output, a (becomes the output's derivative), h */
static void F(elman_dash_rows)(const struct recurrent_twice *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *state = OUT(2) + begin * n;
    STEPS(k)
        const REAL *restrict out = IN(0) + row * n;
        REAL *restrict a = OUT(1) + row * n;
        F(gemm_packed)(a, n, state, n, v->packed, rows, n, n);
        if (v->relu) for (size i = 0; i < rows * n; i++) a[i] = out[i] > 0 ? a[i] : 0;
        else for (size i = 0; i < rows * n; i++) a[i] *= ONE - out[i] * out[i];
        memcpy(state, a, rows * n * sizeof(REAL));
    }
}

/* arrays: output, its derivative, grad, dh, its derivative, d, its derivative */
static void F(elman_grad_dash_rows)(const struct recurrent_twice *v, size begin, size end)
{
    const size n = v->hidden;
    REAL *grad_h = OUT(3) + begin * n, *grad_h_dash = OUT(4) + begin * n;
    STEPS(v->steps - 1 - k)
        const REAL *restrict out = IN(0) + row * n, *restrict a = IN(1) + row * n, *restrict g = IN(2) + row * n;
        REAL *restrict d = OUT(5) + row * n, *restrict d_dash = OUT(6) + row * n;
        for (size i = 0; i < rows * n; i++) {
            const REAL h = grad_h[i] + g[i], h_dash = grad_h_dash[i], m = v->relu ? (out[i] > 0 ? ONE : 0) : ONE - out[i] * out[i];
            d[i] = h * m;
            d_dash[i] = h_dash * m - (v->relu ? 0 : 2 * h * out[i] * a[i]);
        }
        memset(grad_h, 0, rows * n * sizeof(REAL));
        memset(grad_h_dash, 0, rows * n * sizeof(REAL));
        F(dash_back)(v, grad_h, grad_h_dash, d, d_dash, rows, n);
    }
}
#undef IN
#undef OUT
#undef BEFORE
