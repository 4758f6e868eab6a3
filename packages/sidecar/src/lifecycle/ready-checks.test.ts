import type { BackendStatus } from '@spock/protocol';
import { expect, it } from 'vitest';

import { ReadyChecks } from './readiness.ts';

const backend: BackendStatus = { name: 'consul', state: 'down', addresses: [], error: 'no', lastSuccessAgeMs: null };

it('tells of each check since when it is as it is', () => {
	let at = 1000;
	const checks = new ReadyChecks(() => at);
	const phase = { name: 'phase', ok: true, reason: null };
	const why = 'the backend consul has not answered yet: no';
	expect(checks.look({ state: 'starting', answered: undefined, backend })).toEqual({
		ready: false,
		reasons: ['still starting', why],
		checks: [
			{ name: 'phase', ok: false, reason: 'still starting', since: 1000 },
			{ name: 'registry', ok: false, reason: why, since: 1000 },
		],
	});
	at = 2000;
	expect(checks.look({ state: 'serving', answered: undefined, backend }).checks).toEqual([
		{ ...phase, since: 2000 },
		{ name: 'registry', ok: false, reason: why, since: 1000 },
	]);
	at = 3000;
	const kept = `${why}; the last known answers are served`;
	expect(checks.look({ state: 'serving', answered: 'last-known-good', backend })).toEqual({
		ready: true,
		reasons: [kept],
		checks: [
			{ ...phase, since: 2000 },
			{ name: 'registry', ok: true, reason: kept, since: 3000 },
		],
	});
	at = 4000;
	// Another reason is no other state.
	expect(checks.look({ state: 'serving', answered: 'live', backend })).toEqual({
		ready: true,
		reasons: ['no'],
		checks: [
			{ ...phase, since: 2000 },
			{ name: 'registry', ok: true, reason: 'no', since: 3000 },
		],
	});
	expect(checks.look({ state: 'grace', answered: 'live', backend })).toMatchObject({
		ready: false,
		reasons: ['shutting down: grace'],
		checks: [{ ok: false, since: 4000 }, { since: 3000 }],
	});
});
