import assert from 'node:assert/strict';

import type { ServiceQuery, SpockError } from '@spock/protocol';

import { BackendSource } from '../backend-source.ts';
import type { BackendFixture, Cases } from './backend-contract.ts';
import { hasCode, recordWatch, until } from './watch-recorder.ts';

const barista: ServiceQuery = { service: 'barista' };
const at = (port: number): { host: string; port: number } => ({ host: '10.0.0.1', port });

/** What a backend promises when its registry is out of reach, and when it is back. */
export function awayCases(canList: boolean): Cases {
	return {
		'a watch says that the registry is away, tells nothing as true meanwhile, and goes on by itself': async (
			fixture,
		) => {
			await fixture.setService('barista', [at(80)]);
			const watch = recordWatch(fixture.backend, barista);
			await watch.shows('10.0.0.1:80');
			await setReachable(fixture, false);
			await until('a failure', () => watch.errors.length > 0);
			const answers = watch.answers.length;
			await until('a second failure', () => watch.errors.length > 1);
			assert.equal(watch.answers.length, answers, 'nothing can be verified while the registry is away');
			const [error] = watch.errors as [SpockError];
			assert.ok(hasCode('UNAVAILABLE', 'TIMEOUT')(error), `UNAVAILABLE is right, not ${error.code}`);
			assert.ok(error.retryable && error.message !== '');
			await setReachable(fixture, true);
			await until('an answer', () => watch.answers.length > answers);
			assert.deepEqual(watch.places(), ['10.0.0.1:80']);
			await fixture.setService('barista', [at(81)]);
			await watch.shows('10.0.0.1:81');
		},

		'a watch that is started while the registry is away fails, and answers when it is back': async (fixture) => {
			await fixture.setService('barista', [at(80)]);
			await setReachable(fixture, false);
			const watch = recordWatch(fixture.backend, barista);
			await until('a failure', () => watch.errors.length > 0);
			assert.deepEqual(watch.answers, []);
			await setReachable(fixture, true);
			await watch.shows('10.0.0.1:80');
		},

		'status says whether the registry answers, and why not': async (fixture) => {
			await fixture.setService('barista', [at(80)]);
			await recordWatch(fixture.backend, barista).shows('10.0.0.1:80');
			assert.equal(fixture.backend.status().state, 'up');
			assert.equal(fixture.backend.status().error, null);
			await setReachable(fixture, false);
			await until('the state', () => fixture.backend.status().state === 'down');
			const { error, lastSuccessAgeMs } = fixture.backend.status();
			assert.ok(typeof error === 'string' && error !== '', 'a state that is not up has an error');
			assert.ok(typeof lastSuccessAgeMs === 'number' && lastSuccessAgeMs >= 0, 'it knows when it was last well');
			await setReachable(fixture, true);
			await until('the state', () => fixture.backend.status().state === 'up');
		},

		'behind the cache lookups go on while the registry is away, and say so': async (fixture) => {
			await fixture.setService('barista', [at(80)]);
			const source = new BackendSource({ backend: fixture.backend });
			assert.equal((await source.get(barista)).source, 'live');
			await setReachable(fixture, false);
			await until('the stale snapshot', () => source.peek(barista)?.source === 'last-known-good');
			const { instances } = await source.get(barista);
			assert.deepEqual(
				instances.map(({ port }) => port),
				[80],
			);
			await setReachable(fixture, true);
			await until('the live snapshot', () => source.peek(barista)?.source === 'live');
			await source.close();
		},

		...(canList && {
			'list rejects while the registry is away': async (fixture: BackendFixture) => {
				await setReachable(fixture, false);
				const list = fixture.backend.list({}, { timeoutMs: 2000 });
				await assert.rejects(list, hasCode('UNAVAILABLE', 'TIMEOUT'));
			},
		}),

		'probe, if there is one, rejects while the registry is away': async (fixture) => {
			if (fixture.backend.probe === undefined) return;
			await setReachable(fixture, false);
			await assert.rejects(fixture.backend.probe({ timeoutMs: 2000 }), hasCode('UNAVAILABLE', 'TIMEOUT'));
		},
	};
}

async function setReachable(fixture: BackendFixture, isReachable: boolean): Promise<void> {
	if (fixture.setReachable === undefined) {
		throw new TypeError('the fixture needs setReachable; a backend that is never away says so: { canBeAway: false }');
	}
	await fixture.setReachable(isReachable);
}
