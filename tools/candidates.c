/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Candidates: choosing, counting, building and measuring them.
 */
#include "candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <warmring/plan.h>

#include "report.h"

/* The most that a ring takes. */
static const double most_points_per_weight = UINT32_MAX;

/* Points of an average server, and the largest ring made of them. */
static const double usual[] = {10, 20, 50, 100, 160, 200, 500, 1000, 2000, 5000, 10000};
static const double largest_usual = 4e6;

/* How far apart two of them may be, in proportion, and be one. */
static const double alike = 1e-12;

int candidates_create(candidates_t *candidates, const servers_t *servers) {
    *candidates = (candidates_t){.servers = servers};
    candidates->weights = calloc(servers->count, sizeof *candidates->weights);
    if (candidates->weights == NULL) {
        return fail("out of memory");
    }
    for (size_t i = 0; i < servers->count; i++) {
        candidates->weights[i] = servers->servers[i].weight;
        candidates->weight += candidates->weights[i];
    }
    double cv;
    warmring_status_t status = warmring_plan_cv(candidates->weights, servers->count, 1, &cv);
    return status == WARMRING_OK ? ENDED_WELL : servers_complain(servers, status);
}

void candidates_free(candidates_t *candidates) {
    free(candidates->weights);
    *candidates = (candidates_t){0};
}

/* By the rule of v2. */
static double points_at(const candidates_t *candidates, double points_per_weight) {
    double points = 0;
    for (size_t i = 0; i < candidates->servers->count; i++) {
        double weight = candidates->weights[i];
        points += weight > 0 ? fmax(1, round(weight * points_per_weight)) : 0;
    }
    return points;
}

double candidates_cv(const candidates_t *candidates, double points_per_weight) {
    double cv;
    return warmring_plan_cv(candidates->weights, candidates->servers->count, points_per_weight,
                            &cv) == WARMRING_OK
               ? cv
               : NAN;
}

candidate_t *candidates_find(candidates_t *candidates, double points_per_weight) {
    for (size_t i = 0; i < candidates->count; i++) {
        double other = candidates->list[i].points_per_weight;
        if (fabs(other - points_per_weight) <= alike * points_per_weight) {
            return &candidates->list[i];
        }
    }
    return NULL;
}

void candidates_add(candidates_t *candidates, double points_per_weight) {
    size_t place = candidates->count;
    if (place == MOST_CANDIDATES || candidates_find(candidates, points_per_weight) != NULL) {
        return;
    }
    while (place > 0 && candidates->list[place - 1].points_per_weight > points_per_weight) {
        candidates->list[place] = candidates->list[place - 1];
        place--;
    }
    candidates->count++;
    candidates->list[place] = (candidate_t){
        .points_per_weight = points_per_weight,
        .points = points_at(candidates, points_per_weight),
        .cv_theory = candidates_cv(candidates, points_per_weight),
    };
}

void candidates_add_usual(candidates_t *candidates) {
    double servers = 0;
    for (size_t i = 0; i < candidates->servers->count; i++) {
        servers += candidates->weights[i] > 0;
    }
    double unit = pow(10, floor(log10(candidates->weight / servers)));
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        double points_per_weight = unit < 1 ? usual[i] * round(1 / unit) : usual[i] / unit;
        points_per_weight = fmin(points_per_weight, most_points_per_weight);
        if (i == 0 || points_at(candidates, points_per_weight) <= largest_usual) {
            candidates_add(candidates, points_per_weight);
        }
    }
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1000 + (double)now.tv_nsec / 1e6;
}

int candidate_measure(const candidates_t *candidates, candidate_t *candidate) {
    const servers_t *servers = candidates->servers;
    warmring_ring_options_t options = {.size = sizeof options,
                                       .points_per_weight = candidate->points_per_weight,
                                       .max_points = UINT32_MAX};
    warmring_plan_balance_t balance = {.size = sizeof balance};
    warmring_ring_t *ring;
    double begin = now_ms();
    warmring_status_t status =
        warmring_ring_create(servers->servers, servers->count, &options, &ring);
    if (status != WARMRING_OK) {
        return servers_complain(servers, status);
    }
    candidate->build_ms = now_ms() - begin;
    candidate->measured = warmring_plan_balance(ring, &balance) == WARMRING_OK;
    candidate->cv_measured = balance.cv;
    candidate->max_over_mean = balance.max_over_mean;
    candidate->collisions = (double)balance.collisions;
    candidate->bytes = (double)warmring_ring_bytes(ring);
    warmring_ring_free(ring);
    return ENDED_WELL;
}
