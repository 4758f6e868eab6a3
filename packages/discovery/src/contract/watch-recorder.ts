import { type ErrorCode, type ServiceInstance, type ServiceQuery, SpockError } from '@spock/protocol';

import type { BackendObserver, BackendWatch } from '../foundation/backend.ts';
import type { Bench } from './bench.ts';

const LOOK_EVERY_MS = 5;

/** A watch that keeps what it was told. */
export interface RecordedWatch extends BackendWatch {
	readonly answers: (readonly ServiceInstance[])[];
	readonly errors: SpockError[];
	/** Counts everything that was told. */
	readonly told: number;
	/** `host:port` of the newest answer, sorted; undefined before the first. */
	places(): readonly string[] | undefined;
	/** Waits until the newest answer is these places. */
	shows(...places: readonly string[]): Promise<void>;
}

/** Starts a watch and keeps what it is told. */
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
