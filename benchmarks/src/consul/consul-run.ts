import type { RealConsul } from '@spock/testkit/real-consul';

import type { Run } from '../run.ts';

/** What the measurements on Consul share. */
export interface ConsulRun extends Run {
	/** One server, of this run alone. */
	readonly consul: RealConsul;
}
