import type { BackendSource } from '@spock/discovery';
import { systemClock } from '@spock/protocol/internal';

import type { ChangeLog } from '../admin/change-log.ts';
import { pageFiles } from '../admin/page-files.ts';
import type { SidecarMetrics } from '../admin/sidecar-metrics.ts';
import { StatusModel } from '../admin/status-model.ts';
import { StatusSite } from '../admin/status-site.ts';
import type { Sidecar } from '../sidecar.ts';

/** What the status page shows. */
export interface StatusSiteParts {
	readonly sidecar: Sidecar;
	readonly source: BackendSource;
	readonly metrics: SidecarMetrics;
	readonly changes: ChangeLog;
	/** Told of a fault of ours. */
	readonly failed: (error: unknown) => void;
}

/** The status page of a sidecar of this process. */
export function statusSiteOf({ sidecar, source, metrics, changes, failed }: StatusSiteParts): StatusSite {
	const model = new StatusModel({
		sidecar,
		known: (query) => source.known(query),
		durations: () => metrics.durations(),
		changes,
		clock: systemClock,
	});
	return new StatusSite({ model, files: pageFiles, clock: systemClock, failed });
}
