/* One rounded operation on rows of two operands, of which either may be one number a row, for one REAL type and one instruction set. */

#define EACH_ROW for (size r = 0; r < rows; r++, out += out_row, a += a_row, b += b_row)
#define ROWS(OPERATOR)                            \
    if (!a_step) EACH_ROW {                       \
        const REAL one = *a;                      \
        EACH out[i] = one OPERATOR b[i];          \
    }                                             \
    else if (!b_step) EACH_ROW {                  \
        const REAL one = *b;                      \
        EACH out[i] = a[i] OPERATOR one;          \
    }                                             \
    else EACH_ROW EACH out[i] = a[i] OPERATOR b[i];

static void F(broadcast_rows)(int operation, REAL *out, size out_row, const REAL *a, size a_row, int a_step, const REAL *b, size b_row,
                              int b_step, size rows, size n)
{
    if (operation == ROWS_ADD) { ROWS(+) }
    else if (operation == ROWS_SUBTRACT) { ROWS(-) }
    else if (operation == ROWS_MULTIPLY) { ROWS(*) }
    else { ROWS(/) }
}
#undef ROWS
#undef EACH_ROW
