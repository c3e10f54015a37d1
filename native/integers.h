/* Whole numbers, and truth values, brought down along the middle of (before, n, after). integers.c */
#ifndef WENGERT_INTEGERS_H
#define WENGERT_INTEGERS_H

#include "wengert.h"

/* Whether an array is of a type that the others take. */
int are_integers(PyArrayObject *x);
void sum_integers(int type, const void *x, int64_t *out, size before, size n, size after);

/* And, unless `places` is NULL, where the first of them is. */
void extreme_integers(int type, const void *x, void *out, int64_t *places, size before, size n, size after, int least);

#endif
