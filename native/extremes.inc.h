/* The largest or the smallest of lines, with its first place, for one REAL type and one instruction set. NaN is beyond all others. */

#if SINGLE
typedef int32_t F(rank);
#else
typedef int64_t F(rank);
#endif

/* Whether v takes the place of what is there, which came before it. */
#define BEATS(v, there) ((least ? (v) < (there) : (v) > (there)) | (((v) != (v)) & ((there) == (there))))

/* `rows` rows of n columns, `step` apart. */
static inline __attribute__((always_inline)) void F(down)(REAL *restrict best, F(rank) *restrict place, const REAL *restrict x, size rows, size step, size n, int least)
{
    for (size c = 0; c < n; c++) best[c] = x[c], place[c] = 0;
    for (size r = 1; r < rows; r++) {
        const REAL *row = x + r * step;
        const F(rank) here = (F(rank))r;
#ifdef __GNUC__
#pragma GCC ivdep
#endif
        for (size c = 0; c < n; c++) {
            const REAL v = row[c], there = best[c];
            const int better = BEATS(v, there);
            best[c] = better ? v : there;
            place[c] = better ? here : place[c];
        }
    }
}

static void F(extreme_columns)(REAL *out, int64_t *places, const REAL *x, size rows, size step, size n, int least)
{
    F(rank) place[COLUMNS];
    if (least) F(down)(out, place, x, rows, step, n, 1);
    else F(down)(out, place, x, rows, step, n, 0);
    for (size c = 0; c < n; c++) places[c] = place[c];
}

/* A row as one of as many columns as fill a vector; the earliest of the equals among their results is the first of the row. */
static void F(extreme_rows)(REAL *out, int64_t *places, const REAL *x, size rows, size n, int least)
{
    enum { ACROSS = 64 / sizeof(REAL) };
    for (size r = 0; r < rows; r++, x += n) {
        REAL best[ACROSS], most = x[0];
        F(rank) place[ACROSS];
        size first = 0, at = 1;
        if (n >= 2 * ACROSS) {
            if (least) F(down)(best, place, x, n / ACROSS, ACROSS, ACROSS, 1);
            else F(down)(best, place, x, n / ACROSS, ACROSS, ACROSS, 0);
            most = best[0], first = place[0] * ACROSS;
            for (size k = 1; k < ACROSS; k++) {
                const size here = place[k] * ACROSS + k;
                const int equal = best[k] == most || (best[k] != best[k] && most != most);
                if (BEATS(best[k], most) || (equal && here < first)) most = best[k], first = here;
            }
            at = n / ACROSS * ACROSS;
        }
        for (; at < n; at++)
            if (BEATS(x[at], most)) most = x[at], first = at;
        out[r] = most, places[r] = first;
    }
}
#undef BEATS
