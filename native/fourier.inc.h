/* Discrete Fourier transforms of FOURIER_LINES lines side by side, for one REAL type and one instruction set: every number of a line is a row of
 * a buffer, real and imaginary parts apart, and each stage (Stockham's, of radix 4, 2, 3, 5 or a larger prime) goes along whole rows. */

/* A row, FOURIER_LINES numbers at a time: a length that the compiler knows. */
#define IVDEP _Pragma("GCC ivdep")
#define ALONG for (size at = 0; at < run; at += FOURIER_LINES) IVDEP for (size q = at; q < at + FOURIER_LINES; q++)

typedef struct {
    REAL *re, *im;
} F(parts);

/* Numbers of a row that are in one register. */
typedef REAL F(span) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));

/* Mixtures of two registers: their halves interleaved, their numbers of even and odd places, the first number of the second one. */
#if VECTOR_BYTES / (4 + 4 * !SINGLE) == 16
#define LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define FIRST 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#elif VECTOR_BYTES / (4 + 4 * !SINGLE) == 8
#define LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#define EVEN 0, 2, 4, 6, 8, 10, 12, 14
#define ODD 1, 3, 5, 7, 9, 11, 13, 15
#define FIRST 8, 1, 2, 3, 4, 5, 6, 7
#elif VECTOR_BYTES / (4 + 4 * !SINGLE) == 4
#define LOW 0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#define EVEN 0, 2, 4, 6
#define ODD 1, 3, 5, 7
#define FIRST 4, 1, 2, 3
#else
#define LOW 0, 2
#define HIGH 1, 3
#define EVEN 0, 2
#define ODD 1, 3
#define FIRST 2, 1
#endif
#ifdef __clang__
#define MIXED(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#if SINGLE
typedef int32_t F(shuffling) __attribute__((vector_size(VECTOR_BYTES)));
#else
typedef int64_t F(shuffling) __attribute__((vector_size(VECTOR_BYTES)));
#endif
#define MIXED(a, b, ...) __builtin_shuffle(a, b, (F(shuffling)){__VA_ARGS__})
#endif

/* y = u times the twiddle */
#define TURNED(k, ur, ui)                                            \
    do {                                                             \
        const REAL r_ = (ur), i_ = (ui);                             \
        to_re[(k) * run + q] = plain ? r_ : r_ * w[2 * (k)] - i_ * w[2 * (k) + 1]; \
        to_im[(k) * run + q] = plain ? i_ : r_ * w[2 * (k) + 1] + i_ * w[2 * (k)]; \
    } while (0)

/* The places [p, end) of a stage; `plain`: the twiddles are 1, and infinities stay what they are. */
static inline __attribute__((always_inline)) void F(fourier_places)(F(parts) to, F(parts) from, const int radix, size far, size run, const REAL *w,
                                                                    size p, size end, const int plain)
{
    for (; p < end; p++, w += 2 * radix) {
        const REAL *restrict x = from.re + p * run, *restrict y = from.im + p * run;
        REAL *restrict to_re = to.re + radix * p * run, *restrict to_im = to.im + radix * p * run;
        if (radix == 4) {
            ALONG {
                const REAL ar = x[q] + x[q + 2 * far], ai = y[q] + y[q + 2 * far], br = x[q] - x[q + 2 * far], bi = y[q] - y[q + 2 * far];
                const REAL cr = x[q + far] + x[q + 3 * far], ci = y[q + far] + y[q + 3 * far];
                const REAL dr = y[q + far] - y[q + 3 * far], di = x[q + 3 * far] - x[q + far];
                to_re[q] = ar + cr, to_im[q] = ai + ci;
                TURNED(1, br + dr, bi + di);
                TURNED(2, ar - cr, ai - ci);
                TURNED(3, br - dr, bi - di);
            }
        } else if (radix == 2) {
            ALONG {
                const REAL r = x[q] - x[q + far], i = y[q] - y[q + far];
                to_re[q] = x[q] + x[q + far], to_im[q] = y[q] + y[q + far];
                TURNED(1, r, i);
            }
        } else if (radix == 3) {
            const REAL s = (REAL)0.86602540378443864676;
            ALONG {
                const REAL ar = x[q + far] + x[q + 2 * far], ai = y[q + far] + y[q + 2 * far];
                const REAL br = x[q] - (REAL)0.5 * ar, bi = y[q] - (REAL)0.5 * ai;
                const REAL cr = s * (y[q + far] - y[q + 2 * far]), ci = s * (x[q + 2 * far] - x[q + far]);
                to_re[q] = x[q] + ar, to_im[q] = y[q] + ai;
                TURNED(1, br + cr, bi + ci);
                TURNED(2, br - cr, bi - ci);
            }
        } else if (radix == 5) {
            const REAL c1 = (REAL)0.30901699437494742410, s1 = (REAL)0.95105651629515357212, c2 = (REAL)-0.80901699437494742410, s2 = (REAL)0.58778525229247312917;
            ALONG {
                const REAL ar = x[q + far] + x[q + 4 * far], ai = y[q + far] + y[q + 4 * far], br = x[q + far] - x[q + 4 * far], bi = y[q + far] - y[q + 4 * far];
                const REAL cr = x[q + 2 * far] + x[q + 3 * far], ci = y[q + 2 * far] + y[q + 3 * far], dr = x[q + 2 * far] - x[q + 3 * far], di = y[q + 2 * far] - y[q + 3 * far];
                const REAL er = x[q] + c1 * ar + c2 * cr, ei = y[q] + c1 * ai + c2 * ci, fr = x[q] + c2 * ar + c1 * cr, fi = y[q] + c2 * ai + c1 * ci;
                const REAL gr = s1 * bi + s2 * di, gi = -s1 * br - s2 * dr, hr = s2 * bi - s1 * di, hi = s1 * dr - s2 * br;
                to_re[q] = x[q] + ar + cr, to_im[q] = y[q] + ai + ci;
                TURNED(1, er + gr, ei + gi);
                TURNED(2, fr + hr, fi + hi);
                TURNED(3, fr - hr, fi - hi);
                TURNED(4, er - gr, ei - gi);
            }
        }
    }
}
#undef TURNED

/* The same for an odd radix; `roots` has its roots of one. Numbers at equal distance from the first one meet the same cosine and
 * opposite sines. */
static void F(fourier_prime)(F(parts) to, F(parts) from, int radix, size far, size run, const REAL *w, const REAL *roots, size places)
{
    enum { MOST = FOURIER_PRIME / 2, L = VECTOR_BYTES / sizeof(REAL) };
#define AT(p) (*(F(span) *)(p))
    const int half = radix / 2;
    for (size p = 0; p < places; p++, w += 2 * radix)
        for (size at = 0; at < run; at += L) {
            REAL *x = from.re + p * run + at, *y = from.im + p * run + at;
            REAL *to_re = to.re + radix * p * run + at, *to_im = to.im + radix * p * run + at;
            const F(span) first_re = AT(x), first_im = AT(y);
            F(span) sum_re[MOST], sum_im[MOST], less_re[MOST], less_im[MOST], all_re = first_re, all_im = first_im;
            for (int k = 0; k < half; k++) {
                const size one = (k + 1) * far, other = (radix - 1 - k) * far;
                all_re += sum_re[k] = AT(x + one) + AT(x + other), all_im += sum_im[k] = AT(y + one) + AT(y + other);
                less_re[k] = AT(x + one) - AT(x + other), less_im[k] = AT(y + one) - AT(y + other);
            }
            AT(to_re) = all_re, AT(to_im) = all_im;
            for (int j = 1; j <= half; j++) {
                F(span) er = first_re, ei = first_im, gr = {0}, gi = {0};
                for (int k = 0, place = j; k < half; k++) {
                    const REAL c = roots[2 * place], s = roots[2 * place + 1]; /* minus the sine */
                    er += c * sum_re[k], ei += c * sum_im[k], gr -= s * less_im[k], gi += s * less_re[k];
                    place = place + j < radix ? place + j : place + j - radix;
                }
                const REAL *one = w + 2 * j, *other = w + 2 * (radix - j);
                const size low = j * run, high = (radix - j) * run;
                const F(span) ar = er + gr, ai = ei + gi, br = er - gr, bi = ei - gi;
                if (p) {
                    AT(to_re + low) = ar * one[0] - ai * one[1], AT(to_im + low) = ar * one[1] + ai * one[0];
                    AT(to_re + high) = br * other[0] - bi * other[1], AT(to_im + high) = br * other[1] + bi * other[0];
                } else AT(to_re + low) = ar, AT(to_im + low) = ai, AT(to_re + high) = br, AT(to_im + high) = bi;
            }
        }
#undef AT
}

/* One stage: `left` numbers are still to be transformed, in rows of `run`; w has `radix` twiddles for each of left / radix places. */
static void F(fourier_stage)(F(parts) to, F(parts) from, int radix, size left, size run, const REAL *w, const REAL *roots)
{
    const size m = left / radix, far = m * run;
#define PLACES(r)                                                          \
    case r:                                                                \
        F(fourier_places)(to, from, r, far, run, w, 0, 1, 1);              \
        F(fourier_places)(to, from, r, far, run, w + 2 * r, 1, m, 0);      \
        break;
    switch (radix) {
        PLACES(2) PLACES(3) PLACES(4) PLACES(5)
    default: F(fourier_prime)(to, from, radix, far, run, w, roots, m);
    }
#undef PLACES
}

/* All stages; the buffer that has the result. */
static F(parts) F(fourier_stages)(const struct fourier_plan *f, F(parts) a, F(parts) b)
{
    const REAL *w = f->twiddles, *roots = f->roots;
    size left = f->m, run = FOURIER_LINES;
    for (int k = 0; k < f->stages; k++) {
        F(fourier_stage)(b, a, f->radix[k], left, run, w, roots);
        if (f->radix[k] > 5) roots += 2 * f->radix[k];
        w += 2 * left, left /= f->radix[k], run *= f->radix[k];
        const F(parts) other = a;
        a = b, b = other;
    }
    return a;
}

typedef struct {
    REAL re, im;
} F(pair);

/* Where the lanes of a block lie: the first pair of each, and how far the next pair of the same lane is, in pairs. */
struct F(lanes) {
    char *at[FOURIER_LINES];
    size step, count;
    int side_by_side; /* lanes are neighbours in memory, but for a few gaps */
};

/* `width`: 2 for complex numbers, 1 for real ones, which are taken in pairs. */
static struct F(lanes) F(fourier_lanes)(const struct fourier *f, const void *all, size length, size first, size count, size width)
{
    struct F(lanes) lanes = {.step = f->inner, .count = count, .side_by_side = f->inner >= 4};
    for (size k = 0; k < count; k++) {
        const size o = (first + k) / f->inner, i = (first + k) % f->inner;
        lanes.at[k] = (char *)all + (o * length * f->inner + i) * width * sizeof(REAL);
    }
    for (size k = count; k < FOURIER_LINES; k++) lanes.at[k] = lanes.at[count - 1]; /* read, not written */
    return lanes;
}

enum { F(TILE_ROWS) = 8 };

/* Between a tile of pairs and rows of the buffer. */
static inline __attribute__((always_inline)) void F(parted)(REAL *re, REAL *im, const F(pair) *pairs)
{
    enum { S = VECTOR_BYTES / sizeof(REAL) };
#pragma GCC unroll 8
    for (size k = 0; k < FOURIER_LINES; k += S) {
        const F(span) a = *(const F(span) *)(pairs + k), b = *(const F(span) *)(pairs + k + S / 2);
        *(F(span) *)(re + k) = MIXED(a, b, EVEN), *(F(span) *)(im + k) = MIXED(a, b, ODD);
    }
}
static inline __attribute__((always_inline)) void F(paired)(F(pair) *pairs, const REAL *re, const REAL *im, REAL scale)
{
    enum { S = VECTOR_BYTES / sizeof(REAL) };
#pragma GCC unroll 8
    for (size k = 0; k < FOURIER_LINES; k += S) {
        const F(span) a = *(const F(span) *)(re + k) * scale, b = *(const F(span) *)(im + k) * scale;
        *(F(span) *)(pairs + k) = MIXED(a, b, LOW), *(F(span) *)(pairs + k + S / 2) = MIXED(a, b, HIGH);
    }
}

/* A square of as many numbers as a register has, transposed: the rows of one half are interleaved with those of the other, again and again. */
static inline __attribute__((always_inline)) void F(fourier_square)(REAL *const *to, size to_column, const REAL *const *from, size column)
{
    enum { S = VECTOR_BYTES / sizeof(REAL) };
    F(span) row[S], next[S];
#pragma GCC unroll 16
    for (int k = 0; k < S; k++) row[k] = *(const F(span) *)(from[k] + column);
#pragma GCC unroll 4
    for (int half = 1; half < S; half *= 2) {
#pragma GCC unroll 8
        for (int k = 0; k < S / 2; k++) next[2 * k] = MIXED(row[k], row[k + S / 2], LOW), next[2 * k + 1] = MIXED(row[k], row[k + S / 2], HIGH);
#pragma GCC unroll 16
        for (int k = 0; k < S; k++) row[k] = next[k];
    }
#pragma GCC unroll 16
    for (int k = 0; k < S; k++) *(F(span) *)(to[k] + to_column) = row[k];
}
static inline __attribute__((always_inline)) void F(fourier_transposed)(REAL *const *to, const REAL *const *from)
{
    enum { S = VECTOR_BYTES / sizeof(REAL) };
    for (size k = 0; k < FOURIER_LINES; k += S)
        for (size q = 0; q < FOURIER_LINES; q += S) F(fourier_square)(to + q, k, from + k, q);
}

/* Lines that are apart from each other: 16 REALs of each, which are 8 numbers of a complex one (`width` 2) or 16 of a real one. */
static void F(fourier_load_apart)(F(parts) to, const struct F(lanes) *lanes, size numbers, const size width)
{
    enum { L = FOURIER_LINES };
    REAL part[L * L] = {0}, unused[L], *rows[L];
    const REAL *from[L];
    for (size j = 0; j < numbers; j += L / width) {
        const size n = numbers - j < L / width ? numbers - j : L / width, bytes = n * width * sizeof(REAL);
        for (size k = 0; k < L; k++) {
            const char *there = lanes->at[k] + j * width * sizeof(REAL);
            rows[k] = k / width >= n ? unused : (width == 2 && k % 2 ? to.im : to.re) + (j + k / width) * L;
            from[k] = n == L / width ? (const REAL *)there : memcpy(part + k * L, there, bytes);
        }
        F(fourier_transposed)(rows, from);
    }
}
static void F(fourier_store_apart)(const struct F(lanes) *lanes, F(parts) from, size numbers, REAL scale)
{
    enum { L = FOURIER_LINES, TWO = 2, ROWS = L / TWO };
    REAL part[L * L] = {0}, scaled[L * L] = {0}, *to[L];
    const REAL *rows[L];
    for (size k = 0; k < L; k++) rows[k] = scaled + k * L;
    for (size j = 0; j < numbers; j += ROWS) {
        const size n = numbers - j < ROWS ? numbers - j : ROWS;
        for (size k = 0; k < n; k++)
            for (size q = 0; q < L; q++) scaled[TWO * k * L + q] = from.re[(j + k) * L + q] * scale, scaled[(TWO * k + 1) * L + q] = from.im[(j + k) * L + q] * scale;
        for (size k = 0; k < L; k++) to[k] = n == ROWS && k < lanes->count ? (REAL *)(lanes->at[k] + j * TWO * sizeof(REAL)) : part + k * L;
        F(fourier_transposed)(to, rows);
        for (size k = 0; k < lanes->count && n < ROWS; k++) memcpy(lanes->at[k] + j * TWO * sizeof(REAL), part + k * L, n * TWO * sizeof(REAL));
    }
}

static void F(fourier_load)(F(parts) to, const struct F(lanes) *lanes, size numbers)
{
    if (lanes->step == 1) {
        F(fourier_load_apart)(to, lanes, numbers, 2);
        return;
    }
    F(pair) tile[F(TILE_ROWS)][FOURIER_LINES];
    const size step = lanes->step * sizeof(F(pair));
    size runs = 0, begin[FOURIER_LINES + 1];
    for (size k = 0; k < FOURIER_LINES; k++)
        if (!k || lanes->at[k] != lanes->at[k - 1] + sizeof(F(pair))) begin[runs++] = k;
    begin[runs] = FOURIER_LINES;
    for (size j = 0; j < numbers; j += F(TILE_ROWS)) {
        const size n = numbers - j < F(TILE_ROWS) ? numbers - j : F(TILE_ROWS);
        if (runs == 1) {
            for (size r = 0; r < n; r++)
                F(parted)(to.re + (j + r) * FOURIER_LINES, to.im + (j + r) * FOURIER_LINES, (const F(pair) *)(lanes->at[0] + (j + r) * step));
            continue;
        }
        if (lanes->side_by_side) {
            for (size r = 0; r < n; r++)
                for (size k = 0; k < runs; k++) memcpy(&tile[r][begin[k]], lanes->at[begin[k]] + (j + r) * step, (begin[k + 1] - begin[k]) * sizeof(F(pair)));
        } else if (n == F(TILE_ROWS)) {
            for (size k = 0; k < FOURIER_LINES; k++)
                for (size r = 0; r < F(TILE_ROWS); r++) memcpy(&tile[r][k], lanes->at[k] + (j + r) * step, sizeof(F(pair)));
        } else
            for (size k = 0; k < FOURIER_LINES; k++)
                for (size r = 0; r < n; r++) memcpy(&tile[r][k], lanes->at[k] + (j + r) * step, sizeof(F(pair)));
        for (size r = 0; r < n; r++) F(parted)(to.re + (j + r) * FOURIER_LINES, to.im + (j + r) * FOURIER_LINES, tile[r]);
    }
}

static void F(fourier_store)(const struct F(lanes) *lanes, F(parts) from, size numbers, REAL scale)
{
    if (lanes->step == 1) {
        F(fourier_store_apart)(lanes, from, numbers, scale);
        return;
    }
    F(pair) tile[F(TILE_ROWS)][FOURIER_LINES];
    const size step = lanes->step * sizeof(F(pair)), count = lanes->count;
    size runs = 0, begin[FOURIER_LINES + 1];
    for (size k = 0; k < count; k++)
        if (!k || lanes->at[k] != lanes->at[k - 1] + sizeof(F(pair))) begin[runs++] = k;
    begin[runs] = count;
    for (size j = 0; j < numbers; j += F(TILE_ROWS)) {
        const size n = numbers - j < F(TILE_ROWS) ? numbers - j : F(TILE_ROWS);
        for (size r = 0; r < n; r++) F(paired)(tile[r], from.re + (j + r) * FOURIER_LINES, from.im + (j + r) * FOURIER_LINES, scale);
        if (lanes->side_by_side) {
            for (size r = 0; r < n; r++)
                for (size k = 0; k < runs; k++) memcpy(lanes->at[begin[k]] + (j + r) * step, &tile[r][begin[k]], (begin[k + 1] - begin[k]) * sizeof(F(pair)));
        } else if (n == F(TILE_ROWS)) {
            for (size k = 0; k < count; k++)
                for (size r = 0; r < F(TILE_ROWS); r++) memcpy(lanes->at[k] + (j + r) * step, &tile[r][k], sizeof(F(pair)));
        } else
            for (size k = 0; k < count; k++)
                for (size r = 0; r < n; r++) memcpy(lanes->at[k] + (j + r) * step, &tile[r][k], sizeof(F(pair)));
    }
}

/* Real numbers as those of a buffer: one by one, or (`twos`) by turns as real and imaginary parts. */
static void F(fourier_load_real)(F(parts) to, const struct F(lanes) *lanes, size numbers, int twos)
{
    if (lanes->step == 1 && !twos) {
        F(fourier_load_apart)(to, lanes, numbers, 1);
        memset(to.im, 0, numbers * FOURIER_LINES * sizeof(REAL));
        return;
    }
    for (size j = 0; j < numbers; j++) {
        REAL *row = (twos && j % 2 ? to.im : to.re) + (twos ? j / 2 : j) * FOURIER_LINES;
        for (size k = 0; k < FOURIER_LINES; k++) row[k] = ((const REAL *)lanes->at[k])[j * lanes->step];
        if (!twos) memset(to.im + j * FOURIER_LINES, 0, FOURIER_LINES * sizeof(REAL));
    }
}
static void F(fourier_store_real)(const struct F(lanes) *lanes, F(parts) from, size numbers, int twos, REAL scale)
{
    for (size j = 0; j < numbers; j++) {
        const REAL *row = (twos && j % 2 ? from.im : from.re) + (twos ? j / 2 : j) * FOURIER_LINES;
        for (size k = 0; k < lanes->count; k++) ((REAL *)lanes->at[k])[j * lanes->step] = row[k] * scale;
    }
}
/* The other half of m numbers, whose transform is real. */
static void F(fourier_mirror)(F(parts) x, size m)
{
    for (size q = 0; q < FOURIER_LINES; q++) x.im[q] = 0;
    for (size k = 1; k <= m / 2; k++)
        for (size q = 0; q < FOURIER_LINES; q++) {
            x.re[(m - k) * FOURIER_LINES + q] = x.re[k * FOURIER_LINES + q];
            x.im[(m - k) * FOURIER_LINES + q] = -x.im[k * FOURIER_LINES + q];
        }
}

/* From the transform z of even and odd numbers to that of a real line, whose first half it is (forwards), or back. */
static inline __attribute__((always_inline)) void F(fourier_real)(const struct fourier *f, F(parts) to, F(parts) z, const int forwards)
{
    const REAL *w = f->turns, half = forwards ? (REAL)0.5 : 1;
    const size m = f->plan.m, last = m * FOURIER_LINES;
    for (size q = 0; q < FOURIER_LINES; q++) { /* real numbers */
        const REAL first = z.re[q], second = forwards ? z.im[q] : z.re[last + q];
        to.re[q] = first + second;
        if (forwards) to.im[q] = to.im[last + q] = 0, to.re[last + q] = first - second;
        else to.im[q] = first - second;
    }
    for (size k = 1; k < m; k++) {
        const REAL *restrict a = z.re + k * FOURIER_LINES, *restrict b = z.im + k * FOURIER_LINES;
        const REAL *restrict c = z.re + (m - k) * FOURIER_LINES, *restrict d = z.im + (m - k) * FOURIER_LINES;
        REAL *restrict re = to.re + k * FOURIER_LINES, *restrict im = to.im + k * FOURIER_LINES;
        const REAL wr = w[2 * k], wi = w[2 * k + 1];
        for (size q = 0; q < FOURIER_LINES; q++) { /* forwards w e, backwards conj(w) e, each turned by a quarter */
            const REAL er = (a[q] - c[q]) * half, ei = (b[q] + d[q]) * half;
            const REAL tr = forwards ? er * wr - ei * wi : er * wr + ei * wi, ti = forwards ? er * wi + ei * wr : ei * wr - er * wi;
            re[q] = (a[q] + c[q]) * half + (forwards ? ti : -ti), im[q] = (b[q] - d[q]) * half + (forwards ? -tr : tr);
        }
    }
}

/* The lines of blocks of FOURIER_LINES; `work` has room for four times m + 1 rows. */
static void F(fourier)(const struct fourier *f, void *work, size begin, size end)
{
    const size room = (f->plan.m + 1) * FOURIER_LINES;
    REAL *memory = work;
    const F(parts) a = {memory, memory + room}, b = {memory + 2 * room, memory + 3 * room};
    for (size block = begin; block < end; block++) {
        const size first = block * FOURIER_LINES, count = f->lines - first < FOURIER_LINES ? f->lines - first : FOURIER_LINES;
        F(parts) x = a, y = b;
        const int of_real = f->kind == FOURIER_OF_REAL, to_real = f->kind == FOURIER_TO_REAL;
        const size real = of_real ? f->from_length : f->to_length; /* length of a real line */
        const struct F(lanes) in = F(fourier_lanes)(f, f->from, f->from_length, first, count, of_real ? 1 : 2);
        const struct F(lanes) out = F(fourier_lanes)(f, f->to, f->to_length, first, count, to_real ? 1 : 2);
        if (to_real && !f->odd) {
            F(fourier_load)(b, &in, f->plan.m + 1);
            F(fourier_real)(f, a, b, 0);
        } else if (to_real) {
            F(fourier_load)(a, &in, f->plan.m / 2 + 1);
            F(fourier_mirror)(a, f->plan.m);
        } else if (of_real && (f->odd || f->inner > 1)) F(fourier_load_real)(a, &in, real, !f->odd);
        else F(fourier_load)(a, &in, f->plan.m);
        const int inverse = f->kind == FOURIER_INVERSE || to_real;
        if (inverse) x = (F(parts)){a.im, a.re}, y = (F(parts)){b.im, b.re};
        F(parts) z = F(fourier_stages)(&f->plan, x, y);
        if (inverse) z = (F(parts)){z.im, z.re};
        if (of_real && !f->odd) {
            const F(parts) to = z.re == a.re ? b : a;
            F(fourier_real)(f, to, z, 1);
            F(fourier_store)(&out, to, f->plan.m + 1, (REAL)f->scale);
        } else if (to_real && (f->odd || f->inner > 1)) F(fourier_store_real)(&out, z, real, !f->odd, (REAL)f->scale);
        else F(fourier_store)(&out, z, of_real ? f->plan.m / 2 + 1 : f->plan.m, (REAL)f->scale);
    }
}
#undef ALONG
