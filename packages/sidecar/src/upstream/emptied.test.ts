import { type Backend, type BackendObserver, BackendSource } from '@spock/discovery';
import type { ServiceInstance, ServiceQuery, ServiceSnapshot } from '@spock/protocol';
import { FakeClock, fakeSnapshot } from '@spock/testkit';
import { expect, it } from 'vitest';

import { UpstreamWatch } from './upstream-watch.ts';

const barista = { service: 'barista' };
const HOLD_MS = 10_000;

type Observer = BackendObserver<readonly ServiceInstance[]>;

function backendOf(name: string, watch: Backend['watch']): Backend {
	return {
		...{ name, watch, list: async () => [], close: async () => undefined },
		status: () => ({ name, state: 'up', addresses: [], error: null, lastSuccessAgeMs: 0 }),
	};
}

/** A registry, a sidecar that asks it, one that asks that, and so on, without the wire between them. */
function hops(count: number) {
	const clock = new FakeClock();
	const observers: Observer[] = [];
	const registry = backendOf('registry', (_query, observer) => {
		observers.push(observer);
		return { stop: () => undefined };
	});
	const sources = [new BackendSource({ backend: registry, clock })];
	while (sources.length < count) {
		const source = sources.at(-1) as BackendSource;
		const backend = backendOf('spock', (query, observer) => {
			return new UpstreamWatch<ServiceQuery, ServiceSnapshot, readonly ServiceInstance[]>({
				...{ source, query, observer, clock, verify: undefined },
				answerIn: ({ instances }) => instances,
				isConnected: () => true,
				knowsTime: () => true,
				process: () => 'one',
				whyStale: () => 'stale',
			});
		});
		sources.push(new BackendSource({ backend, clock }));
	}
	for (const source of sources) source.watch(barista, { next: () => undefined });
	const answer = (hosts: readonly string[]): void => {
		observers.at(-1)?.answered(fakeSnapshot('barista', 1, hosts).instances);
	};
	const served = (): readonly number[] => sources.map((source) => source.peek(barista)?.instances.length ?? -1);
	return { clock, sources, answer, served };
}

it('an empty answer is held back once, however many sidecars it comes through', async () => {
	const { clock, answer, served } = hops(4);
	answer(['10.0.0.1:80']);
	answer([]);
	await clock.advance(HOLD_MS - 1);
	expect(served()).toEqual([1, 1, 1, 1]);
	await clock.advance(1);
	answer([]);
	expect(served()).toEqual([0, 0, 0, 0]);
});

it('a drain through the first is believed at once by all', () => {
	const { sources, answer, served } = hops(3);
	answer(['10.0.0.1:80']);
	const instance = sources[0]?.peek(barista)?.instances[0]?.instance ?? '';
	sources[0]?.expectGone('barista', instance);
	answer([]);
	expect(served()).toEqual([0, 0, 0]);
});
