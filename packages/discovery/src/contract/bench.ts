import { type ErrorCode, type ServiceInstance, type ServiceQuery, SpockError } from '@spock/protocol';

import type { Backend, BackendObserver, BackendWatch } from '../foundation/backend.ts';

/** An instance as a case needs it: passing, and otherwise as the registry's defaults are. */
export interface ContractInstance {
	readonly host: string;
	readonly port: number;
}

/** What a case needs: a backend of its own, and a hand on the registry behind it. */
export interface BackendFixture {
	readonly backend: Backend;
	/** Makes these the instances of a service, all passing; none takes the service out of the registry. */
	setService(service: string, instances: readonly ContractInstance[]): void | Promise<void>;
	/** Takes the registry out of reach, or brings it back. Needed with `canBeAway`. */
	setReachable?(isReachable: boolean): void | Promise<void>;
	/** Ends the backend, if the case has not, and the registry. */
	close(): void | Promise<void>;
}

/** What the backend is like. */
export interface BackendTraits {
	/** True if its registry may be out of reach; then a fixture has `setReachable`. Default true. */
	readonly canBeAway?: boolean;
	/** False if the registry cannot list its services. Default true. */
	readonly canList?: boolean;
	/** How long a case waits for what must happen, in milliseconds: well above what the backend may take. Default 20000. */
	readonly patienceMs?: number;
}

/** One promise of the contract, to be given to any test runner. */
export interface ContractCase {
	/** The promise, in words. */
	readonly name: string;
	/** Keeps it, or rejects with an AssertionError of node:assert, or an Error that says what was waited for in vain. */
	run(): Promise<void>;
}

/** A fixture, and how long to wait at it. */
export interface Bench extends BackendFixture {
	readonly patienceMs: number;
}

/** Cases by their names. */
export type Cases = Readonly<Record<string, (bench: Bench) => Promise<void>>>;

const LOOK_EVERY_MS = 5;

/** A watch that records its answers and errors. */
export interface RecordedWatch extends BackendWatch {
	readonly answers: (readonly ServiceInstance[])[];
	readonly errors: SpockError[];
	/** Count of answers and errors. */
	readonly told: number;
	/** `host:port` of the newest answer, sorted; undefined before the first. */
	places(): readonly string[] | undefined;
	/** Waits until the newest answer is these places. */
	shows(...places: readonly string[]): Promise<void>;
}

/** Starts a watch and records its answers and errors. */
export function recordWatch(bench: Bench, query: ServiceQuery): RecordedWatch {
	const answers: (readonly ServiceInstance[])[] = [];
	const errors: SpockError[] = [];
	const observer: BackendObserver = {
		answered: (instances) => answers.push(instances),
		failed: (error) => errors.push(error),
	};
	const watch = bench.backend.watch(query, observer);
	const places = (): readonly string[] | undefined =>
		answers
			.at(-1)
			?.map(({ host, port }) => `${host}:${port}`)
			.sort();
	return {
		answers,
		errors,
		get told() {
			return answers.length + errors.length;
		},
		places,
		shows: (...wanted) =>
			until(
				bench,
				`${query.service} at [${wanted.join(', ')}]`,
				() => String(places()) === String([...wanted].sort()),
				places,
			),
		stop: () => watch.stop(),
	};
}

/** Waits until the probe is true; rejects with an Error that says what was waited for and what was there instead. */
export async function until(
	{ patienceMs }: Bench,
	what: string,
	probe: () => boolean,
	seen: () => unknown = () => undefined,
): Promise<void> {
	const startedMs = performance.now();
	while (!probe()) {
		if (performance.now() - startedMs > patienceMs) {
			throw new Error(`waited ${patienceMs} ms in vain for ${what}; there was ${JSON.stringify(seen()) ?? 'nothing'}`);
		}
		await new Promise<void>((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
	}
}

/** For `assert.rejects` and `assert.throws`: a SpockError with one of these codes. */
export function hasCode(...codes: readonly ErrorCode[]): (error: unknown) => boolean {
	return (error) => SpockError.is(error) && codes.includes(error.code);
}
