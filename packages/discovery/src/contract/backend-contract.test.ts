import type { ServiceInstance, ServiceQuery } from '@spock/protocol';
import { SpockError } from '@spock/protocol';
import { describe, expect, it } from 'vitest';

import { instance } from '../../test/fake-backend-source.ts';
import type { Backend, BackendObserver } from '../foundation/backend.ts';
import type { BackendFixture, ContractInstance } from './bench.ts';
import { backendContract } from './index.ts';

/** What a backend does wrong. */
type Mistake =
	| 'unsorted'
	| 'not frozen'
	| 'deaf to stop'
	| 'open after close'
	| 'an unknown service fails'
	| 'away is empty'
	| 'the list is unsorted'
	| 'deaf to conditions'
	| 'changes a list it gave'
	| 'blind to the last instance';

interface Watching {
	readonly query: ServiceQuery;
	readonly observer: BackendObserver;
}

/** Nothing in this registry has tags, metadata, a datacenter or a peer. */
function isHere({ service: _, ...conditions }: ServiceQuery): boolean {
	return Object.keys(conditions).length === 0;
}

/** A registry in memory, with a backend that makes a mistake. */
function makeFixture(mistake?: Mistake): BackendFixture {
	const services = new Map<string, ServiceInstance[]>();
	const watches = new Set<Watching>();
	let isReachable = true;
	let isClosed = false;
	const away = (): SpockError => new SpockError('UNAVAILABLE', 'it is away');
	const refuse = (): void => {
		if (isClosed && mistake !== 'open after close') throw new SpockError('CLOSED', 'it was closed');
	};
	const tell = ({ query, observer }: Watching): void => {
		const { service } = query;
		const all = mistake === 'deaf to conditions' || isHere(query) ? (services.get(service) ?? []) : [];
		const isFailing = !isReachable && mistake !== 'away is empty';
		if (isFailing || (all.length === 0 && mistake === 'an unknown service fails')) observer.failed(away());
		else if (!isReachable) observer.answered(Object.freeze([]));
		else if (mistake === 'not frozen' || mistake === 'changes a list it gave') observer.answered(all);
		else if (all.length > 0 || mistake !== 'blind to the last instance' || !services.has(service)) {
			observer.answered(Object.freeze([...all]));
		}
	};
	const backend: Backend = {
		name: 'memory',
		watch: (query, observer) => {
			refuse();
			const watch = { query, observer };
			watches.add(watch);
			tell(watch);
			return { stop: () => void (mistake === 'deaf to stop' || watches.delete(watch)) };
		},
		list: async (_query, { signal } = {}) => {
			refuse();
			if (signal?.aborted) throw new SpockError('ABORTED', 'aborted');
			if (!isReachable) throw away();
			const names = [...services].filter(([, all]) => all.length > 0).map(([name]) => name);
			if (mistake !== 'the list is unsorted') names.sort();
			return names.map((name) => ({ name, tags: [] }));
		},
		status: () => {
			const error = isReachable ? null : 'it is away';
			return { name: 'memory', state: isReachable ? 'up' : 'down', addresses: [], error, lastSuccessAgeMs: 0 };
		},
		close: async () => {
			isClosed = true;
			watches.clear();
		},
	};
	const tellAll = (): void => {
		for (const watch of [...watches]) tell(watch);
	};
	const toInstance = ({ host, port }: ContractInstance): ServiceInstance => ({
		...instance(`${host}:${port}`, port),
		host,
	});
	// A registry that is away is asked again and again.
	const again = setInterval(() => isReachable || tellAll(), 5);
	return {
		backend,
		setService: (service, instances) => {
			const next = instances.map(toInstance);
			if (mistake !== 'unsorted') next.sort((left, right) => (left.instance < right.instance ? -1 : 1));
			const old = services.get(service);
			if (old !== undefined && mistake === 'changes a list it gave') old.splice(0, old.length, ...next);
			else services.set(service, next);
			tellAll();
		},
		setReachable: (reachable) => {
			isReachable = reachable;
			tellAll();
		},
		close: () => clearInterval(again),
	};
}

/** The promises that a backend breaks. */
async function broken(mistake?: Mistake): Promise<string[]> {
	const outcomes = backendContract(() => makeFixture(mistake), { patienceMs: 200 }).map(async ({ name, run }) =>
		run().then(
			() => undefined,
			() => name,
		),
	);
	return (await Promise.all(outcomes)).filter((name) => name !== undefined);
}

describe('the contract of a backend', () => {
	it('is kept by a backend without a mistake', async () => {
		expect(await broken()).toEqual([]);
	});

	it.each<[Mistake, string]>([
		['unsorted', 'a watch tells every instance of a service, whole, frozen and sorted by its name'],
		['not frozen', 'a watch tells every instance of a service, whole, frozen and sorted by its name'],
		['deaf to stop', 'two watches of one query are independent'],
		['open after close', 'close ends every watch'],
		['an unknown service fails', 'a service that nobody has registered is an empty answer and no failure'],
		['away is empty', 'a watch says that the registry is away'],
		['the list is unsorted', 'list gives the names of all services, sorted'],
		['deaf to conditions', 'what does not meet the conditions of a query is never its answer'],
		['changes a list it gave', 'a list that was told is never changed afterwards'],
		['blind to the last instance', 'a watch tells that instances have come and gone'],
	])('catches a backend whose mistake is: %s', async (mistake, promise) => {
		expect((await broken(mistake)).filter((name) => name.startsWith(promise))).toHaveLength(1);
	});

	it('says what a fixture lacks', async () => {
		const { setReachable: _left, ...fixture } = makeFixture();
		const away = backendContract(() => fixture).find(({ name }) => name.includes('is away'));
		await expect(away?.run()).rejects.toThrow('setReachable');
	});
});
