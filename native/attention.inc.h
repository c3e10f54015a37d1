/* Attention of one head, a block of queries after the other: the scores of a block are all that exists at a time, and
 * with a causal mask the keys behind the block are not looked at. */

/* How many of `keys` keys a query looks at. */
static inline size F(attention_looks)(const struct attention_head *h, size query, size keys)
{
    return h->causal && query + 1 < keys ? query + 1 : keys;
}

/* The weights of `rows` queries from the first on: softmax(scale q k^T + mask) over `keys` keys; or, where they are to be rounded, what
 * has to be divided by `totals`. */
static void F(attention_weights)(REAL *p, REAL *scaled, REAL *totals, const REAL *key_t, const struct attention_head *h, size first,
                                 size rows, size keys)
{
    const REAL *query = (const REAL *)h->query + first * h->query_row, scale = (REAL)h->scale;
    for (size i = 0; i < rows; i++)
        for (size j = 0; j < h->width; j++) scaled[i * h->width + j] = query[i * h->query_row + j] * scale;
    F(gemm)(p, keys, scaled, h->width, 1, key_t, h->keys, rows, keys, h->width, 0);
    REAL level[ATTENTION_BLOCK]; /* the largest score of each row; one step of all rows after the other, as in softmax_rows */
    for (size r = 0; r < rows; r++) {
        REAL *s = p + r * keys;
        const size n = F(attention_looks)(h, first + r, keys);
        if (h->mask_kind == 1) {
            const char *mask = (const char *)h->mask + (first + r) * h->mask_row;
            for (size i = 0; i < keys; i++) s[i] = mask[i * h->mask_step] ? s[i] : (REAL)-INFINITY;
        } else if (h->mask_kind == 2) {
            const REAL *mask = (const REAL *)h->mask + (first + r) * h->mask_row;
            for (size i = 0; i < keys; i++) s[i] += mask[i * h->mask_step];
        }
        for (size i = n; i < keys; i++) s[i] = 0;
        level[r] = F(row_max)(s, n);
    }
    for (size r = 0; r < rows; r++) {
        REAL *s = p + r * keys;
        const size n = F(attention_looks)(h, first + r, keys);
        const REAL top = level[r];
        if (top == (REAL)-INFINITY) EACH s[i] = s[i] != s[i] ? s[i] : 0; /* a row that may look nowhere gives zeros; NaN stays */
        else EACH s[i] = F(exp_minus)(top - s[i]);
    }
    for (size r = 0; r < rows; r++) {
        REAL *s = p + r * keys, total;
        const size n = F(attention_looks)(h, first + r, keys);
        LANE_SUM(total, s[i])
        if (level[r] == (REAL)-INFINITY) total = ONE;
        else if (totals) h->rounded((float *)s, n);
        level[r] = ONE / total;
        if (totals) totals[r] = total;
    }
    for (size r = 0; r < rows && !totals; r++) {
        REAL *s = p + r * keys;
        const size n = F(attention_looks)(h, first + r, keys);
        EACH s[i] *= level[r];
    }
}

static inline size F(attention_keys)(const struct attention_head *h, size first, size rows)
{
    return h->causal && first + rows < h->keys ? first + rows : h->keys;
}

static void F(attention_head)(const struct attention_head *h)
{
    REAL *key_t = h->work, *scaled = key_t + h->width * h->keys, *p = scaled + h->block * h->width;
    REAL *const totals = h->rounded ? p + h->block * h->keys : NULL;
    F(transposed)(key_t, h->key, h->key_row, h->keys, h->width);
    for (size first = 0; first < h->queries && !pool_stopped(); first += h->block) {
        const size rows = h->queries - first < h->block ? h->queries - first : h->block;
        const size keys = F(attention_keys)(h, first, rows);
        F(attention_weights)(p, scaled, totals, key_t, h, first, rows, keys);
        REAL *out = (REAL *)h->out + first * h->out_row;
        F(gemm)(out, h->out_row, p, keys, 1, h->value, h->value_row, rows, h->depth, keys, 0);
        for (size r = 0; totals && r < rows; r++, out += h->out_row)
            for (size i = 0; i < h->depth; i++) out[i] /= totals[r];
    }
}

static void F(attention_grad_head)(const struct attention_head *h)
{
    REAL *key_t = h->work, *scaled = key_t + h->width * h->keys, *p = scaled + h->block * h->width;
    REAL *d = p + h->block * h->keys, *value_t = d + h->block * h->keys;
    REAL *grad_key = h->grad_key, *grad_value = h->grad_value;
    F(transposed)(key_t, h->key, h->key_row, h->keys, h->width);
    F(transposed)(value_t, h->value, h->value_row, h->keys, h->depth);
    if (grad_key) memset(grad_key, 0, h->keys * h->width * sizeof(REAL));
    if (grad_value) memset(grad_value, 0, h->keys * h->depth * sizeof(REAL));
    for (size first = 0; first < h->queries && !pool_stopped(); first += h->block) {
        const size rows = h->queries - first < h->block ? h->queries - first : h->block;
        const size n = F(attention_keys)(h, first, rows);
        const REAL *g = (const REAL *)h->grad + first * h->grad_row;
        F(attention_weights)(p, scaled, NULL, key_t, h, first, rows, n);
        if (grad_value) F(gemm)(grad_value, h->depth, p, 1, n, g, h->grad_row, n, h->depth, rows, 1);
        if (!h->grad_query && !grad_key) continue;
        F(gemm)(d, n, g, h->grad_row, 1, value_t, h->keys, rows, n, h->depth, 0);
        for (size r = 0; r < rows; r++) {
            REAL *e = d + r * n, along;
            const REAL *w = p + r * n;
            LANE_SUM(along, e[i] * w[i])
            EACH e[i] = (e[i] - along) * w[i];
        }
        if (grad_key) F(gemm)(grad_key, h->width, d, 1, n, scaled, h->width, n, h->width, rows, 1);
        if (h->grad_query) {
            REAL *out = (REAL *)h->grad_query + first * h->width;
            const REAL scale = (REAL)h->scale;
            F(gemm)(out, h->width, d, n, 1, h->key, h->key_row, rows, h->width, n, 0);
            for (size i = 0; i < rows * h->width; i++) out[i] *= scale;
        }
    }
}
