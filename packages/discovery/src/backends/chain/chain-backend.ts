import {
	type BackendStatus,
	type CallOptions,
	queryKey,
	type ServiceListEntry,
	type ServiceQuery,
	SpockError,
} from '@spock/protocol';
import { ageClockOf, type Clock, durationMsOption, systemClock } from '@spock/protocol/internal';

import {
	type AgedList,
	type Backend,
	type BackendObserver,
	type BackendWatch,
	listWithAge,
	type QueriesMax,
} from '../../foundation/backend.ts';
import type { Registrar } from '../../foundation/registrar.ts';
import { ChainWatch } from './chain-watch.ts';

/** How long a member may be silent before the next ones count. */
export const DEFAULT_FIRST_WORD_MS = 2000;
/** How long a member that knew a service must report that it is gone before another member's instances are served. */
export const DEFAULT_GONE_HOLD_MS = 10_000;
/** Most queries for which the members that know them are remembered. */
const KNOWN_MAX = 10_000;
/** Datacenters whose last lists are remembered, for each member. */
const LISTS_MAX = 64;

/** Options of {@link chainBackend}. */
export interface ChainBackendOptions {
	/** In order of precedence, at least two, no two of one name. Owned by the chain from now on: `close` closes them. */
	readonly backends: readonly Backend[];
	/** How long a member may be silent before the next ones count, in milliseconds. Default 2000. */
	readonly firstWordMs?: number;
	/**
	 * How long a member that knew a service must report that it is gone before the instances of the next member are served,
	 * in milliseconds. Default 10000.
	 */
	readonly goneHoldMs?: number;
	/** Default: the clock of the process. */
	readonly clock?: Clock;
}

/**
 * Several registries as one: for every query, the first that knows the service answers. A member that knew it still
 * answers, with its last instances, while it is unreachable; see docs/guide/backends.md for every rule. Throws a TypeError or
 * RangeError for an invalid option.
 */
export function chainBackend(options: ChainBackendOptions): Backend {
	return new ChainBackend(options);
}

/** The last list of a member, and when it was verified. */
interface LastList {
	readonly services: readonly ServiceListEntry[];
	readonly verifiedAtMs: number;
}

type Lists = Map<string, LastList>;

class ChainBackend implements Backend {
	readonly name: string;
	/** True when none of the members may lose what it knew. */
	readonly trustsEmpty: boolean;
	/** Of the first member that has keys. */
	readonly watchKey: Backend['watchKey'];
	/** Of the first member that takes registrations. */
	readonly registrar: Registrar | undefined;
	/** The least of its backends, for each of which every question is watched. */
	readonly queriesMax: Backend['queriesMax'];
	readonly #members: readonly Backend[];
	readonly #clock: Clock;
	readonly #firstWordMs: number;
	readonly #goneHoldMs: number;
	/** For each member the queries that it knew when it was last asked. */
	readonly #known: readonly Set<string>[];
	/** For each member the last list of each datacenter. */
	readonly #lists: readonly Lists[];
	readonly #watches = new Set<ChainWatch>();
	#closed = false;

	constructor({ backends, clock = systemClock, ...options }: ChainBackendOptions) {
		if (backends.length < 2) throw new TypeError('backends must name at least two backends');
		const names = backends.map(({ name }) => name);
		const twice = names.find((name, number) => names.indexOf(name) !== number);
		if (twice !== undefined) throw new TypeError(`backends must have different names; ${twice} is given twice`);
		this.name = names.join(',');
		this.#members = backends;
		this.trustsEmpty = backends.every(({ trustsEmpty }) => trustsEmpty === true);
		const keyed = backends.find(({ watchKey }) => watchKey !== undefined);
		this.watchKey = keyed?.watchKey?.bind(keyed);
		const limits = backends.flatMap(({ queriesMax }) => queriesMax ?? []);
		if (limits.length > 0) {
			const least = (kind: keyof QueriesMax): number => Math.min(...limits.map((limit) => limit[kind]));
			this.queriesMax = { services: least('services'), keys: least('keys'), lists: least('lists') };
		}
		this.registrar = backends.find(({ registrar }) => registrar !== undefined)?.registrar;
		this.#clock = clock;
		this.#firstWordMs = durationMsOption('firstWordMs', options.firstWordMs ?? DEFAULT_FIRST_WORD_MS);
		this.#goneHoldMs = durationMsOption('goneHoldMs', options.goneHoldMs ?? DEFAULT_GONE_HOLD_MS);
		this.#known = backends.map(() => new Set());
		this.#lists = backends.map(() => new Map());
	}

	watch(query: ServiceQuery, observer: BackendObserver): BackendWatch {
		this.#refuseIfClosed();
		const key = queryKey(query);
		const watch = new ChainWatch({
			members: this.#members,
			query,
			observer,
			clock: this.#clock,
			firstWordMs: this.#firstWordMs,
			goneHoldMs: this.#goneHoldMs,
			knew: (member) => (this.#known[member] as Set<string>).has(key),
			remember: (member, knows) => remember(this.#known[member] as Set<string>, key, knows),
		});
		watch.start();
		this.#watches.add(watch);
		return {
			used: () => watch.used(),
			retry: () => watch.retry(),
			stop: () => {
				watch.stop();
				this.#watches.delete(watch);
			},
		};
	}

	/** The list of {@link listWithAge}. */
	async list(
		query: { readonly datacenter?: string } = {},
		options: CallOptions = {},
	): Promise<readonly ServiceListEntry[]> {
		return (await this.listWithAge(query, options)).services;
	}

	/**
	 * The names that any member knows, with the tags of all; as old as the oldest member's list. A member that cannot list (DNS) is left
	 * out; one that is unreachable contributes its last list, and rejects if it has none.
	 */
	async listWithAge(query: { readonly datacenter?: string } = {}, options: CallOptions = {}): Promise<AgedList> {
		this.#refuseIfClosed();
		const lists = await Promise.all(this.#members.map((_member, number) => this.#listOf(number, query, options)));
		const given = lists.filter((list) => list !== undefined);
		if (given.length === 0) {
			throw new SpockError('UNKNOWN_FUNC', `none of the backends ${this.name} can list services`, {
				details: { backend: this.name },
			});
		}
		const tagsOf = new Map<string, Set<string>>();
		for (const { name, tags } of given.flatMap(({ services }) => services)) {
			const all = tagsOf.get(name) ?? new Set();
			for (const tag of tags) all.add(tag);
			tagsOf.set(name, all);
		}
		const services = [...tagsOf].sort(byName).map(([name, tags]) => ({ name, tags: [...tags].sort() }));
		const ageMs = Math.max(...given.map((list) => list.ageMs));
		return { services, ageMs, isLive: given.every(({ isLive }) => isLive) };
	}

	/** Resolves when any member answers: lookups of what it knows can be served then. */
	async probe(options: CallOptions = {}): Promise<void> {
		this.#refuseIfClosed();
		try {
			await Promise.any(
				this.#members.map(async (member) => {
					await (member.probe === undefined ? member.list({}, options) : member.probe(options));
				}),
			);
		} catch (reason) {
			throw (reason as AggregateError).errors[0];
		}
	}

	/** True if any member's is. */
	async mayRead(options: CallOptions = {}): Promise<boolean> {
		const each = this.#members.map((member) => member.mayRead?.(options).catch(() => false) ?? false);
		return (await Promise.all(each)).includes(true);
	}

	/** As well as its worst member. */
	status(): BackendStatus {
		const members = this.#members.map((member) => member.status());
		const worst = (['down', 'connecting', 'up'] as const).find((state) => members.some((one) => one.state === state));
		const ages = members.map(({ lastSuccessAgeMs }) => lastSuccessAgeMs).filter((age) => age !== null);
		const errors = members.filter(({ error }) => error !== null).map(({ name, error }) => `${name}: ${error}`);
		return {
			name: this.name,
			state: worst ?? 'connecting',
			addresses: members.flatMap(({ addresses }) => addresses),
			error: errors.length === 0 ? null : errors.join('; '),
			lastSuccessAgeMs: ages.length === 0 ? null : Math.min(...ages),
			members,
		};
	}

	async close(): Promise<void> {
		this.#closed = true;
		for (const watch of this.#watches) watch.stop();
		this.#watches.clear();
		await Promise.all(this.#members.map((member) => member.close()));
	}

	/** A member's list; undefined if it cannot list. */
	async #listOf(
		number: number,
		query: { readonly datacenter?: string },
		options: CallOptions,
	): Promise<AgedList | undefined> {
		const askedAtMs = ageClockOf(this.#clock).now();
		const lists = this.#lists[number] as Lists;
		const key = query.datacenter ?? '';
		try {
			const list = await listWithAge(this.#members[number] as Backend, query, options);
			if (lists.size >= LISTS_MAX && !lists.has(key)) lists.clear();
			lists.set(key, { services: list.services, verifiedAtMs: askedAtMs - list.ageMs });
			return list;
		} catch (error) {
			if (SpockError.is(error, 'UNKNOWN_FUNC')) return undefined;
			const known = lists.get(key);
			if (known === undefined || !SpockError.is(error, 'UNAVAILABLE')) throw error;
			return { services: known.services, ageMs: ageClockOf(this.#clock).now() - known.verifiedAtMs, isLive: false };
		}
	}

	#refuseIfClosed(): void {
		if (this.#closed) throw new SpockError('CLOSED', `the backends ${this.name} were closed`);
	}
}

function remember(known: Set<string>, key: string, knows: boolean): void {
	known.delete(key);
	if (!knows) return;
	const [oldest] = known;
	if (known.size >= KNOWN_MAX && oldest !== undefined) known.delete(oldest);
	known.add(key);
}

/** No two have the same. */
function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
	return left < right ? -1 : 1;
}
