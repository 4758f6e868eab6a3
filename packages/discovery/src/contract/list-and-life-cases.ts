import assert from 'node:assert/strict';

import { type Cases, hasCode, recordWatch } from './bench.ts';

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

/** What a backend promises of its name, its status and its end. */
export function lifeCases(canList: boolean): Cases {
	return {
		'status has the name of the backend, and its state before the first answer is no failure': async ({ backend }) => {
			assert.ok(backend.name !== '');
			const { name, state, addresses } = backend.status();
			assert.equal(name, backend.name);
			assert.notEqual(state, 'down');
			assert.ok(Array.isArray(addresses));
		},

		'close ends every watch, is idempotent, and nothing can be started after it': async (bench) => {
			const { backend, setService } = bench;
			await setService('barista', HERE);
			const watch = recordWatch(bench, { service: 'barista' });
			await watch.shows('10.0.0.1:80');
			await backend.close();
			await backend.close();
			const { told } = watch;
			await setService('barista', []);
			await new Promise<void>((resolve) => setImmediate(resolve));
			assert.equal(watch.told, told);
			assert.throws(() => recordWatch(bench, { service: 'barista' }), hasCode('CLOSED'));
			if (canList) await assert.rejects(backend.list({}), hasCode('CLOSED'));
			watch.stop();
		},

		'close before the first answer silences the watch': async (bench) => {
			const { backend, setService } = bench;
			await setService('barista', HERE);
			const watch = recordWatch(bench, { service: 'barista' });
			const { told } = watch;
			await backend.close();
			assert.equal(watch.told, told);
		},
	};
}
