import assert from 'node:assert/strict';

import type { ServiceQuery, SpockError } from '@spock/protocol';

import { BackendSource } from '../backend-source.ts';
import { type Bench, type Cases, hasCode, recordWatch, until } from './bench.ts';

const barista: ServiceQuery = { service: 'barista' };
const at = (port: number): { host: string; port: number } => ({ host: '10.0.0.1', port });

/** What a backend promises when its registry is out of reach, and when it is back. */
export function awayCases(canList: boolean): Cases {
	return {
		'a watch says that the registry is away, tells nothing as true meanwhile, and goes on by itself': async (bench) => {
			await bench.setService('barista', [at(80)]);
			const watch = recordWatch(bench, barista);
			await watch.shows('10.0.0.1:80');
			await setReachable(bench, false);
			// What was on its way already may come behind the first failure.
			await until(bench, 'a second failure', () => watch.errors.length > 1);
			const answers = watch.answers.length;
			await until(bench, 'a third failure', () => watch.errors.length > 2);
			assert.equal(watch.answers.length, answers, 'nothing can be verified while the registry is away');
			const [error] = watch.errors as [SpockError];
			assert.ok(hasCode('UNAVAILABLE', 'TIMEOUT')(error), `UNAVAILABLE is right, not ${error.code}`);
			assert.ok(error.retryable && error.message !== '');
			await setReachable(bench, true);
			await until(bench, 'an answer', () => watch.answers.length > answers);
			assert.deepEqual(watch.places(), ['10.0.0.1:80']);
			await bench.setService('barista', [at(81)]);
			await watch.shows('10.0.0.1:81');
		},

		'a watch that is started while the registry is away fails, and answers when it is back': async (bench) => {
			await bench.setService('barista', [at(80)]);
			await setReachable(bench, false);
			const watch = recordWatch(bench, barista);
			await until(bench, 'a failure', () => watch.errors.length > 0);
			assert.deepEqual(watch.answers, []);
			await setReachable(bench, true);
			await watch.shows('10.0.0.1:80');
		},

		'status says whether the registry answers, and why not': async (bench) => {
			await bench.setService('barista', [at(80)]);
			await recordWatch(bench, barista).shows('10.0.0.1:80');
			assert.equal(bench.backend.status().state, 'up');
			assert.equal(bench.backend.status().error, null);
			await setReachable(bench, false);
			await until(bench, 'the state', () => bench.backend.status().state === 'down');
			const { error, lastSuccessAgeMs } = bench.backend.status();
			assert.ok(typeof error === 'string' && error !== '', 'a state that is not up has an error');
			assert.ok(typeof lastSuccessAgeMs === 'number' && lastSuccessAgeMs >= 0, 'it knows when it was last well');
			await setReachable(bench, true);
			await until(bench, 'the state', () => bench.backend.status().state === 'up');
		},

		'behind the cache lookups go on while the registry is away, and say so': async (bench) => {
			await bench.setService('barista', [at(80)]);
			const source = new BackendSource({ backend: bench.backend });
			assert.equal((await source.get(barista)).source, 'live');
			await setReachable(bench, false);
			await until(bench, 'the stale snapshot', () => source.peek(barista)?.source === 'last-known-good');
			const { instances } = await source.get(barista);
			assert.deepEqual(
				instances.map(({ port }) => port),
				[80],
			);
			await setReachable(bench, true);
			await until(bench, 'the live snapshot', () => source.peek(barista)?.source === 'live');
			await source.close();
		},

		...(canList && {
			'list rejects while the registry is away': async (bench: Bench) => {
				await setReachable(bench, false);
				const list = bench.backend.list({}, { timeoutMs: 2000 });
				await assert.rejects(list, hasCode('UNAVAILABLE', 'TIMEOUT'));
			},
		}),

		'probe, if there is one, rejects while the registry is away': async (bench) => {
			if (bench.backend.probe === undefined) return;
			await setReachable(bench, false);
			await assert.rejects(bench.backend.probe({ timeoutMs: 2000 }), hasCode('UNAVAILABLE', 'TIMEOUT'));
		},
	};
}

async function setReachable(bench: Bench, isReachable: boolean): Promise<void> {
	if (bench.setReachable === undefined) {
		throw new TypeError('the fixture needs setReachable; a backend that is never away says so: { canBeAway: false }');
	}
	await bench.setReachable(isReachable);
}
