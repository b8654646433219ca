/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports of deletions that failed on new owners (fleet/keys.h), and what they
 * do to watermarks.
 */
#ifndef WR_FLEET_REPORTS_H
#define WR_FLEET_REPORTS_H

#include "fleet/crew.h"
#include "topology/file.h"

/*
 * Asks every server for reports of the migration in `parts`, and raises the
 * watermark of each new owner that one is about to the counter of now, in
 * parts->watermarks, which belong to the caller. The topology of the crew is
 * that of `parts`. OK; TRY_AGAIN while a fill begun before the last failure may
 * be under way; the fault of the server that cannot be asked.
 */
warmring_status_t wr_reports_heed(const wr_crew_t *crew, warmring_file_t *parts);

#endif
