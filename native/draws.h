/* Random numbers of a few elements, drawn while other threads wait: what factories.c asks of random.c. */
#ifndef WENGERT_DRAWS_H
#define WENGERT_DRAWS_H

#include "wengert.h"

#include <numpy/random/bitgen.h>

/* The last three: the numbers below the length in a random order, ones and zeros, and times between events. */
enum { DRAW_UNIFORM, DRAW_NORMAL, DRAW_INTEGERS, DRAW_ORDER, DRAW_TRUTHS, DRAW_WAITS };
enum { DRAWN = 4096 }; /* elements at most */

struct draw {
    int kind, has_spare;
    double mean, std, spare; /* uniform: the lower end, the width; truths: the probability of one; waits: the rate */
    uint64_t base, divisor;  /* of integers */
};

/* Fill `n` elements of float32 or float64, of int64 with integers or an order; 0 where the bits are none of NumPy's generators. */
int draw_numbers(PyObject *bits, struct draw *what, void *to, size n, int type);

/* The next words of 32 bits. */
void draw_words(bitgen_t *from, uint32_t *to, size n);

/* twister(seed): a generator of those of twister.c, begun from 32 bits */
PyObject *twister(PyObject *module, PyObject *seed);

#endif
