import { systemClock } from '@spock/protocol/internal';

import { pageFiles } from '../../admin/page-files.ts';
import type { StatusModel } from '../../admin/status-model.ts';
import { StatusSite } from '../../admin/status-site.ts';

/** The status page of a sidecar of this process; `failed` is told of a fault of ours. */
export function statusSiteOf(model: StatusModel, failed: (error: unknown) => void): StatusSite {
	return new StatusSite({ model, files: pageFiles, clock: systemClock, failed });
}
