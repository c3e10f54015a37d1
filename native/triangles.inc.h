/* Substitution in triangles for one REAL type and one instruction set. */

/* x = a^-1 x for a lower triangle of n rows, whose steps are in bytes; x has rows of one vector, one behind the other. */
static void F(substitute_panel)(const char *a, size row, size column, REAL *x, size n, int unit)
{
    enum { VECTORS = F(gemm_vectors) / 2, CHAINS = 4, WIDTH = VECTORS * F(gemm_step) };
    for (size i = 0; i < n; i++) {
        const char *line = a + i * row;
        F(vector) sum[CHAINS][VECTORS];
        for (int q = 0; q < CHAINS; q++)
            for (int l = 0; l < VECTORS; l++) sum[q][l] = (F(vector)){0};
        size j = 0;
#define ADD(q)                                                                                                         \
    do {                                                                                                               \
        const REAL factor = *(const REAL *)(line + (j + q) * column);                                                  \
        for (int l = 0; l < VECTORS; l++) sum[q][l] += factor * LOAD(x + (j + q) * WIDTH + l * F(gemm_step));            \
    } while (0)
        for (; j + CHAINS <= i; j += CHAINS)
            for (int q = 0; q < CHAINS; q++) ADD(q);
        for (; j < i; j++) ADD(0);
#undef ADD
        const REAL pivot = *(const REAL *)(line + i * column);
        for (int l = 0; l < VECTORS; l++) {
            REAL *to = x + i * WIDTH + l * F(gemm_step);
            F(vector) left = LOAD(to) - ((sum[0][l] + sum[1][l]) + (sum[2][l] + sum[3][l]));
            if (!unit) left /= pivot;
            STORE(to, left);
        }
    }
}
