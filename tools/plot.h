/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The picture of a plan.
 */
#ifndef TOOLS_PLOT_H
#define TOOLS_PLOT_H

#include "candidates.h"

/* Writes an SVG: CV and memory over points per weight, the target, and
 * `chosen` (NULL: none) marked. FAILED with a complaint. */
int plot_plan(const char *file, const candidates_t *candidates, const candidate_t *chosen,
              double target);

#endif
