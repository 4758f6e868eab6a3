import assert from 'node:assert/strict';

import type { Cases } from './bench.ts';
import { hasCode } from './watch-recorder.ts';

const HERE = [{ host: '10.0.0.1', port: 80 }];

/** What `list` and `probe` promise while the registry is well. */
export function listCases(canList: boolean): Cases {
	const probe: Cases = {
		'probe, if there is one, resolves while the registry answers': async ({ backend }) => {
			await backend.probe?.({ timeoutMs: 10_000 });
		},
	};
	if (!canList) {
		return {
			...probe,
			'list rejects with UNKNOWN_FUNC, because this registry cannot list': async ({ backend }) => {
				await assert.rejects(backend.list({}), hasCode('UNKNOWN_FUNC'));
			},
		};
	}
	return {
		...probe,
		'list gives the names of all services, sorted': async ({ backend, setService }) => {
			await setService('waiter', HERE);
			await setService('barista', HERE);
			const names = (await backend.list({})).map(({ name }) => name);
			assert.deepEqual(names, [...names].sort());
			assert.ok(names.includes('barista') && names.includes('waiter'), `barista and waiter must be in ${names}`);
		},

		'list leaves a service out that is gone': async ({ backend, setService }) => {
			await setService('waiter', HERE);
			await setService('barista', HERE);
			await setService('waiter', []);
			const names = (await backend.list({})).map(({ name }) => name);
			assert.ok(names.includes('barista') && !names.includes('waiter'), `only barista must be in ${names}`);
		},

		'list rejects with ABORTED when its signal was aborted': async ({ backend }) => {
			await assert.rejects(backend.list({}, { signal: AbortSignal.abort() }), hasCode('ABORTED'));
		},
	};
}
