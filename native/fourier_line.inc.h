/* Discrete Fourier transforms of single lines, for one REAL type and one instruction set: a line is a matrix of rows * columns numbers. Its
 * columns are transformed FOURIER_LINES at a time, as lines side by side are (fourier.inc.h), then turned and transposed, then its rows. */

/* A tile of transformed columns times its turns, to a tile of the matrix of rows. `first`: its first column has turns of 1, and infinities
 * stay what they are. */
static void F(fourier_bend)(F(parts) to, F(parts) from, size rows, const REAL *restrict w, int first)
{
    REAL re[FOURIER_LINES * FOURIER_LINES], im[FOURIER_LINES * FOURIER_LINES], *to_re[FOURIER_LINES], *to_im[FOURIER_LINES];
    const REAL *from_re[FOURIER_LINES], *from_im[FOURIER_LINES];
    for (size k = 0; k < FOURIER_LINES; k++) {
        to_re[k] = to.re + k * FOURIER_LINES, to_im[k] = to.im + k * FOURIER_LINES;
        from_re[k] = re + k * FOURIER_LINES, from_im[k] = im + k * FOURIER_LINES;
    }
    enum { L = FOURIER_LINES, S = VECTOR_BYTES / sizeof(REAL) };
    for (size k = 0; k < rows; k++, w += 2 * L)
#pragma GCC unroll 8
        for (size q = 0; q < L; q += S) {
            const F(span) x = *(const F(span) *)(from.re + k * L + q), y = *(const F(span) *)(from.im + k * L + q);
            const F(span) c = *(const F(span) *)(w + q), s = *(const F(span) *)(w + L + q), a = x * c - y * s, b = x * s + y * c;
            *(F(span) *)(re + k * L + q) = first && !q ? MIXED(a, x, FIRST) : a, *(F(span) *)(im + k * L + q) = first && !q ? MIXED(b, y, FIRST) : b;
        }
    for (size q = rows * FOURIER_LINES; q < FOURIER_LINES * FOURIER_LINES; q++) re[q] = im[q] = 0;
    F(fourier_transposed)(to_re, from_re);
    F(fourier_transposed)(to_im, from_im);
}

/* A row of columns: from pairs, or from `side`. */
static inline void F(fourier_row)(F(parts) to, const F(pair) *from, F(parts) side, size count)
{
    F(pair) tile[FOURIER_LINES] = {{0, 0}};
    if (from && count == FOURIER_LINES) F(parted)(to.re, to.im, from);
    else if (from) {
        memcpy(tile, from, count * sizeof *tile);
        F(parted)(to.re, to.im, tile);
    } else {
        memcpy(to.re, side.re, count * sizeof(REAL)), memcpy(to.im, side.im, count * sizeof(REAL));
        memset(to.re + count, 0, (FOURIER_LINES - count) * sizeof(REAL)), memset(to.im + count, 0, (FOURIER_LINES - count) * sizeof(REAL));
    }
}

/* m numbers, which lie in `from`, or as parts in `side`; to `to`, times scale, or to `side`. */
static void F(fourier_matrix)(const struct fourier *f, const F(pair) *from, F(parts) side, F(pair) *to, REAL *memory, int inverse, REAL scale)
{
    enum { L = FOURIER_LINES };
    const size rows = f->across.m, columns = f->along.m, tall = (columns + L - 1) / L * L, room = (rows > columns ? rows : columns) * L;
    const F(parts) a = {memory, memory + room}, b = {memory + 2 * room, memory + 3 * room};
    const F(parts) in = inverse ? (F(parts)){a.im, a.re} : a;
    REAL *const middle = memory + 4 * room;
    const REAL *w = f->bends;
    for (size j = 0; j < columns; j += L) {
        const size count = columns - j < L ? columns - j : L;
        for (size n = 0; n < rows; n++) {
            const size o = n * columns + j;
            F(fourier_row)((F(parts)){in.re + n * L, in.im + n * L}, from ? from + o : NULL, (F(parts)){side.re + o, side.im + o}, count);
        }
        const F(parts) z = F(fourier_stages)(&f->across, a, b);
        for (size k = 0; k < rows; k += L) {
            const size some = rows - k < L ? rows - k : L;
            REAL *const block = middle + 2 * tall * k;
            F(fourier_bend)((F(parts)){block + j * L, block + (tall + j) * L}, (F(parts)){z.re + k * L, z.im + k * L}, some, w, !j);
            w += 2 * some * L;
        }
    }
    for (size k = 0; k < rows; k += L) {
        const size count = rows - k < L ? rows - k : L;
        REAL *const block = middle + 2 * tall * k;
        F(parts) z = F(fourier_stages)(&f->along, (F(parts)){block, block + tall * L}, b);
        if (inverse) z = (F(parts)){z.im, z.re};
        for (size n = 0; n < columns; n++) {
            const size o = n * rows + k;
            if (to && count == L) F(paired)(to + o, z.re + n * L, z.im + n * L, scale);
            else if (to) {
                F(pair) tile[L];
                F(paired)(tile, z.re + n * L, z.im + n * L, scale);
                memcpy(to + o, tile, count * sizeof *tile);
            } else memcpy(side.re + o, z.re + n * L, count * sizeof(REAL)), memcpy(side.im + o, z.im + n * L, count * sizeof(REAL));
        }
    }
}

/* A length with large prime factors (Bluestein): numbers times a chirp are convolved with its conjugate, by transforms of a longer line. The
 * table is the chirp of the numbers, then the transform of the conjugate one, real and imaginary parts apart. */
static void F(fourier_chirped)(const struct fourier *f, const F(pair) *from, F(parts) side, F(pair) *to, REAL *memory, int inverse, REAL scale)
{
    const size m = f->plan.m, n = f->padded;
    const REAL *restrict c = f->chirp, *restrict s = c + m, *restrict re = s + m, *restrict im = re + n, sign = inverse ? -1 : 1;
    REAL *restrict x = memory, *restrict y = memory + n;
    for (size k = 0; k < m; k++) {
        const REAL a = from ? from[k].re : side.re[k], b = (from ? from[k].im : side.im[k]) * sign;
        x[k] = a * c[k] - b * s[k], y[k] = a * s[k] + b * c[k];
    }
    memset(x + m, 0, (n - m) * sizeof *x), memset(y + m, 0, (n - m) * sizeof *y);
    F(fourier_matrix)(f, NULL, (F(parts)){x, y}, NULL, memory + 2 * n, 0, 1);
    IVDEP
    for (size k = 0; k < n; k++) {
        const REAL a = x[k], b = y[k];
        x[k] = a * re[k] - b * im[k], y[k] = a * im[k] + b * re[k];
    }
    F(fourier_matrix)(f, NULL, (F(parts)){x, y}, NULL, memory + 2 * n, 1, 1);
    for (size k = 0; k < m; k++) {
        const REAL a = (x[k] * c[k] - y[k] * s[k]) * scale, b = (x[k] * s[k] + y[k] * c[k]) * (scale * sign);
        if (to) to[k] = (F(pair)){a, b};
        else side.re[k] = a, side.im[k] = b;
    }
}
static void F(fourier_lone)(const struct fourier *f, const F(pair) *from, F(parts) side, F(pair) *to, REAL *memory, int inverse, REAL scale)
{
    (f->padded ? F(fourier_chirped) : F(fourier_matrix))(f, from, side, to, memory, inverse, scale);
}

/* From the transform z of even and odd numbers to the first half of that of a real line. */
static void F(fourier_halves)(const struct fourier *f, F(pair) *restrict to, const REAL *restrict re, const REAL *restrict im, REAL scale)
{
    const REAL *restrict w = f->turns, half = (REAL)0.5;
    const size m = f->plan.m;
    to[0] = (F(pair)){(re[0] + im[0]) * scale, 0}, to[m] = (F(pair)){(re[0] - im[0]) * scale, 0};
    IVDEP
    for (size k = 1; k < m; k++) {
        const REAL a = re[k], b = im[k], c = re[m - k], d = im[m - k], er = (a - c) * half, ei = (b + d) * half;
        const REAL tr = er * w[2 * k] - ei * w[2 * k + 1], ti = er * w[2 * k + 1] + ei * w[2 * k];
        to[k].re = ((a + c) * half + ti) * scale, to[k].im = ((b - d) * half - tr) * scale;
    }
}

/* And back: `part` is room for m + 1 numbers. */
static void F(fourier_whole)(const struct fourier *f, F(parts) to, const F(pair) *restrict from, F(parts) part)
{
    const REAL *restrict w = f->turns;
    REAL *restrict to_re = to.re, *restrict to_im = to.im, *restrict re = part.re, *restrict im = part.im;
    const size m = f->plan.m;
    for (size k = 0; k <= m; k++) re[k] = from[k].re, im[k] = from[k].im;
    to_re[0] = re[0] + re[m], to_im[0] = re[0] - re[m];
    IVDEP
    for (size k = 1; k < m; k++) {
        const REAL a = re[k], b = im[k], c = re[m - k], d = im[m - k], er = a - c, ei = b + d;
        const REAL tr = er * w[2 * k] + ei * w[2 * k + 1], ti = ei * w[2 * k] - er * w[2 * k + 1];
        to_re[k] = a + c - ti, to_im[k] = b - d + tr;
    }
}

/* `width` numbers at each of `length` places that lie `step` of them apart, to or from a row of their own. */
static void F(fourier_gather)(REAL *restrict to, const REAL *restrict from, size length, size step, size width)
{
    for (size j = 0; j < length; j++)
        for (size k = 0; k < width; k++) to[j * width + k] = from[j * step * width + k];
}
static void F(fourier_scatter)(REAL *restrict to, const REAL *restrict from, size length, size step, size width)
{
    for (size j = 0; j < length; j++)
        for (size k = 0; k < width; k++) to[j * step * width + k] = from[j * width + k];
}

/* A real line of odd length as a complex one. */
static void F(fourier_odd)(const struct fourier *f, const REAL *from, REAL *to, F(parts) side, REAL *memory)
{
    const size m = f->plan.m, half = m / 2;
    const REAL scale = (REAL)f->scale;
    const int of_real = f->kind == FOURIER_OF_REAL;
    if (of_real) memcpy(side.re, from, m * sizeof(REAL)), memset(side.im, 0, m * sizeof(REAL));
    else {
        side.re[0] = from[0], side.im[0] = 0;
        for (size k = 1; k <= half; k++) side.re[k] = side.re[m - k] = from[2 * k], side.im[k] = from[2 * k + 1], side.im[m - k] = -from[2 * k + 1];
    }
    F(fourier_lone)(f, NULL, side, NULL, memory, !of_real, 1);
    if (of_real) for (size k = 0; k <= half; k++) to[2 * k] = side.re[k] * scale, to[2 * k + 1] = side.im[k] * scale;
    else for (size k = 0; k < m; k++) to[k] = side.re[k] * scale;
}

/* Lines one by one; `work` has room for what lone_room() says. */
static void F(fourier_line)(const struct fourier *f, void *work, size begin, size end)
{
    const size m = f->plan.m, room = m + 16, width = f->kind == FOURIER_OF_REAL ? 1 : 2, to_width = f->kind == FOURIER_TO_REAL ? 1 : 2;
    const F(parts) side = {work, (REAL *)work + room}, part = {side.im + room, side.im + 2 * room};
    REAL *const row = part.im + room, *const memory = row + 2 * room;
    for (size line = begin; line < end; line++) {
        const size o = line / f->inner, i = line % f->inner;
        const REAL *from = (const REAL *)f->from + (o * f->from_length * f->inner + i) * width;
        REAL *const into = (REAL *)f->to + (o * f->to_length * f->inner + i) * to_width, *const to = f->inner > 1 ? row : into;
        if (f->inner > 1) {
            F(fourier_gather)(row, from, f->kind == FOURIER_TO_REAL && f->odd ? m / 2 + 1 : f->kind == FOURIER_TO_REAL ? m + 1 : f->from_length, f->inner, width);
            from = row;
        }
        if (f->odd) F(fourier_odd)(f, from, to, side, memory);
        else if (f->kind == FOURIER_TO_REAL) {
            F(fourier_whole)(f, side, (const F(pair) *)from, part);
            F(fourier_lone)(f, NULL, side, (F(pair) *)to, memory, 1, (REAL)f->scale);
        } else if (f->kind == FOURIER_OF_REAL) {
            F(fourier_lone)(f, (const F(pair) *)from, side, NULL, memory, 0, 1);
            F(fourier_halves)(f, (F(pair) *)to, side.re, side.im, (REAL)f->scale);
        } else F(fourier_lone)(f, (const F(pair) *)from, side, (F(pair) *)to, memory, f->kind == FOURIER_INVERSE, (REAL)f->scale);
        if (f->inner > 1) F(fourier_scatter)(into, row, f->to_length, f->inner, to_width);
    }
}
#undef IVDEP
#undef LOW
#undef HIGH
#undef EVEN
#undef ODD
#undef FIRST
#undef MIXED
