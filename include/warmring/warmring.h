/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything but libmemcached.h, which needs libmemcached's own headers.
 */
#ifndef WARMRING_WARMRING_H
#define WARMRING_WARMRING_H

#include <warmring/admin.h>
#include <warmring/client.h>
#include <warmring/common.h>
#include <warmring/fleet.h>
#include <warmring/memory.h>
#include <warmring/metrics.h>
#include <warmring/plan.h>
#include <warmring/ring.h>
#include <warmring/status.h>
#include <warmring/topology.h>

#endif
