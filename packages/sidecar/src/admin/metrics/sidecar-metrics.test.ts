import type { DiscoveryEvent } from '@spock/discovery';
import { describe, expect, it } from 'vitest';

import { SidecarMetrics } from './sidecar-metrics.ts';

const query = { service: 'barista' };

describe('the metrics of what keeps answers honest', () => {
	it.each<[DiscoveryEvent, string]>([
		[{ type: 'held', query, count: 2, holdMs: 10 }, 'spock_holds_total{outcome="begun"} 1'],
		[{ type: 'hold-ended', query, outcome: 'returned', heldMs: 5 }, 'spock_holds_total{outcome="returned"} 1'],
		[{ type: 'instances-refused', query, count: 3, added: 2, instances: [] }, 'spock_instances_refused_total 2'],
		[{ type: 'panic', query, active: true, healthy: 1, instances: 3 }, 'spock_panics_total 1'],
		[{ type: 'panic', query, active: false, healthy: 3, instances: 3 }, 'spock_panics_total 0'],
		[{ type: 'state-restored', what: 'barista', ageMs: 5 }, 'spock_state_files_total{outcome="restored"} 1'],
		[
			{ type: 'state-refused', file: 'f', refusal: 'torn', reason: 'r' },
			'spock_state_files_total{outcome="refused"} 1',
		],
		[{ type: 'state-write', outcome: 'ok' }, 'spock_state_files_total{outcome="written"} 1'],
		[
			{ type: 'state-write', outcome: 'failed', error: new Error('full'), isNews: false },
			'spock_state_files_total{outcome="write-failed"} 1',
		],
	])('%j', async (event, line) => {
		const metrics = new SidecarMetrics();
		metrics.discovered(event);
		expect((await metrics.registry.metrics()).split('\n')).toContain(line);
	});
});

it('connections that could not be accepted are counted by the code of the kernel', async () => {
	const metrics = new SidecarMetrics();
	for (const code of ['ENFILE', 'ENFILE', 'ENOBUFS'])
		metrics.observer.acceptFailed?.(Object.assign(new Error(code), { code }));
	metrics.observer.acceptFailed?.(Object.assign(new Error('EWHATEVER'), { code: 'EWHATEVER' }));
	const lines = (await metrics.registry.metrics())
		.split('\n')
		.filter((line) => line.startsWith('spock_accepts_failed'));
	expect(lines).toEqual([
		'spock_accepts_failed_total{code="EMFILE"} 0',
		'spock_accepts_failed_total{code="ENFILE"} 2',
		'spock_accepts_failed_total{code="ENOBUFS"} 1',
		'spock_accepts_failed_total{code="ENOMEM"} 0',
		'spock_accepts_failed_total{code="other"} 1',
	]);
});
