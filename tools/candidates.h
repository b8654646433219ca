/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `warmring plan` compares: the same servers with more and fewer points.
 */
#ifndef TOOLS_CANDIDATES_H
#define TOOLS_CANDIDATES_H

#include <stdbool.h>

#include "servers.h"

enum { MOST_CANDIDATES = 24 };

typedef struct {
    double points_per_weight;
    double points; /* before ties */
    double cv_theory;
    bool measured; /* the ring was built, and what follows is known */
    double cv_measured;
    double max_over_mean;
    double bytes;
    double build_ms;
    double collisions; /* points that ties took away */
} candidate_t;

typedef struct {
    const servers_t *servers;
    double *weights;
    double weight;                     /* sum */
    candidate_t list[MOST_CANDIDATES]; /* fewest points first */
    size_t count;
} candidates_t;

/* Starts a list without any; ENDED_WELL, or FAILED with a complaint. Free it
 * in either case. */
int candidates_create(candidates_t *candidates, const servers_t *servers);
void candidates_free(candidates_t *candidates);

/* Adds a spread of usual densities, of which the largest ring has a few
 * million points. */
void candidates_add_usual(candidates_t *candidates);

/* Adds one density, unless it is there, and fills in the theory. */
void candidates_add(candidates_t *candidates, double points_per_weight);

/* The one of that density; NULL: none. */
candidate_t *candidates_find(candidates_t *candidates, double points_per_weight);

/* Builds and measures one, with no limit to its points but memory. */
int candidate_measure(const candidates_t *candidates, candidate_t *candidate);

/* The CV of theory at any density. */
double candidates_cv(const candidates_t *candidates, double points_per_weight);

#endif
