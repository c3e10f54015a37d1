/* Steps of the recursions over alignments (alignments.c) for one REAL type and one instruction set: logarithms of
 * probabilities, -inf for what cannot be. The number of states is a multiple of the lanes, so no loop has a rest. */

/* out = log(exp(row) + exp(one) + exp(two, or skip if that is -inf)) + emitted */
static void F(alignment_step)(REAL *restrict out, const REAL *row, const REAL *one, const REAL *two, const REAL *restrict skip,
                              const REAL *restrict emitted, size n)
{
    for (size i = 0; i < n; i++) {
        const REAL a = row[i], b = one[i], c = skip[i] < 0 ? skip[i] : two[i], ab = a > b ? a : b, most = ab > c ? ab : c;
        const REAL shift = most > -(REAL)INFINITY ? most : (REAL)0;
        const REAL sum = F(exp)(a - shift) + F(exp)(b - shift) + F(exp)(c - shift), value = F(log)(sum) + shift;
        out[i] = (sum > (REAL)0 ? value : sum == (REAL)0 ? -(REAL)INFINITY : sum) + emitted[i];
    }
}
/* The share of all alignments that is in each state; both halves count what is emitted there. */
static void F(alignment_share)(REAL *restrict out, const REAL *restrict before, const REAL *restrict after,
                               const REAL *restrict emitted, REAL loss, size n)
{
    for (size i = 0; i < n; i++) out[i] = F(exp)(before[i] + after[i] + (loss - emitted[i]));
}
/* out = (exp(x) - out) * g; where x is -inf, NaN, as in PyTorch */
static void F(alignment_slope)(REAL *restrict out, const REAL *restrict x, REAL g, size n)
{
    for (size i = 0; i < n; i++) {
        const REAL slope = (F(exp)(x[i]) - out[i]) * g;
        out[i] = x[i] == -(REAL)INFINITY ? (REAL)NAN : slope;
    }
}
