/* Winograd's products: what winograd.c and winograd_plan.c share. */
#ifndef WENGERT_WINOGRAD_H
#define WENGERT_WINOGRAD_H

#include "conv.h"

/* The plan of results (or of gradients in the images), and what it makes of gradients of results; -1 if there is none. */
int winograd_plan(struct plan *p, const struct conv *v, int backward);
int winograd_spread(struct plan *to, const struct plan *p);

#endif
