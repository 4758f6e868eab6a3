import type { ServiceInstance, ServiceSnapshot, ServiceSource } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import type { RequestContext } from '../connection/answer.ts';
import { explainHandler } from './explain.ts';

function instance(number: number): ServiceInstance {
	const name = `api-${number}`;
	return {
		instance: name,
		host: '10.0.0.1',
		port: 8000,
		weight: 1,
		status: 'passing',
		tags: [],
		meta: {},
		zone: null,
		datacenter: null,
	};
}

/** How often a service of so many instances is explained, to three who ask at once, one of a shorter frame, and one later. */
async function timesMade(count: number, connections = 1): Promise<number> {
	let made = 0;
	const snapshot: ServiceSnapshot = {
		service: 'api',
		revision: 1,
		source: 'live',
		ageMs: 0,
		verifiedAt: 0,
		instances: Array.from({ length: count }, (_, number) => instance(number)),
	};
	const source = { get: async () => snapshot } as unknown as ServiceSource;
	const watchers = (): [] => {
		made++;
		return [];
	};
	const clock = new FakeClock();
	const handle = explainHandler(source, { count: () => connections, watchers }, clock);
	const ask = (frameBytesMax: number) => handle({ service: 'api' }, { caller: { frameBytesMax } } as RequestContext);
	const [first, second] = await Promise.all([ask(1_048_576), ask(1_048_576), ask(1_048_576)]);
	expect(second).toBe(first);
	await ask(65_536);
	await clock.advance(1000);
	await ask(1_048_576);
	return made;
}

describe('explain', () => {
	it('is made anew for every request', async () => {
		expect(await timesMade(1)).toBe(5);
	});

	it('is told again as it was for a moment where it is long, to who reads as much', async () => {
		expect(await timesMade(1000)).toBe(3);
	});

	it('is told again too where many connections were looked at', async () => {
		expect(await timesMade(1, 10_000)).toBe(3);
	});
});
