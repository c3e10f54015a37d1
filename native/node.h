/* The fields of a node of the tape, wengert.graph.node.Node. */
#ifndef WENGERT_NODE_H
#define WENGERT_NODE_H

#include "wengert.h"

enum { OWN_EDGES = 3 };

typedef struct {
    PyObject_HEAD
    PyObject *edges; /* a tuple of pairs (node, output number) or None; NULL where they stand here: */
    PyObject *to[OWN_EDGES]; /* NULL for None */
    int output[OWN_EDGES], count; /* count: how many; 0 where `edges` has them */
    PyObject *seq, *hooks, *saved, *shape, *dtype;
} Node;

extern PyTypeObject NodeFieldsType;

#endif
