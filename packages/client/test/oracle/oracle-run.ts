import { setTimeout as delay } from 'node:timers/promises';

import { type ConsulDirect, queryText, type Truth, truthOf } from './consul-direct.ts';
import { brokenPromise } from './old-views.ts';
import type { Change } from './planned-instance.ts';
import type { RegistryWorkload } from './registry-workload.ts';
import type { Standing, View } from './view-fleet.ts';

/** Consul is quiet when it says the same twice, this far apart. */
const QUIET_MS = 250;
/** When it is counted who has not agreed yet. */
const LOOKED_AT_MS = 1000;
/** A service that has vanished is believed after 10 s, and this is added for a busy machine. */
const HOLD_MS_MAX = 15_000;
const POLL_MS = 50;
const READS_AT_ONCE = 16;
const EXAMPLES_MAX = 5;
const CHANGES_SHOWN = 12;

/** Options of {@link runOracle}. */
export interface OracleOptions {
	readonly consul: ConsulDirect;
	readonly workload: RegistryWorkload;
	readonly views: readonly View[];
	/** Further changes after those of the workload, for each burst. */
	readonly more?: () => readonly Change[];
	/** How long changes go on, in milliseconds. */
	readonly durationMs: number;
	/** A view that differs from Consul for longer than this after the last change is wrong, in milliseconds. */
	readonly agreementMsMax: number;
	/** True where services are polled: until then a view may be old, see `brokenPromise`. Default false: none may be old. */
	readonly mayBeOld?: boolean;
	/** Called after each quiet moment. */
	readonly afterEach?: () => void;
	/** Called after the first quiet moment: from then on the registry, or the way to it, may misbehave. */
	readonly afterFirst?: () => void;
}

/** What a run has found. */
export interface OracleReport {
	readonly rounds: number;
	readonly changes: number;
	/** Changes that Consul itself refused, and why. */
	readonly refused: readonly string[];
	readonly compared: number;
	/** Views that had not agreed a second after the last change. */
	readonly lateAfterOneSecond: number;
	/** Views that were held back as documented when they were first compared. */
	readonly held: number;
	/** Views that differed and said that they are old, once for each quiet moment. */
	readonly old: number;
	/** Entries that nobody can send work to, summed over the quiet moments. */
	readonly broken: number;
	/** From the last change of a service, acknowledged by Consul, to the watch that shows it, in milliseconds. */
	readonly convergence: { readonly count: number; readonly p50: number; readonly p99: number; readonly max: number };
	/** From then until all views agreed, polled, in milliseconds. */
	readonly allAgreed: { readonly p50: number; readonly p99: number; readonly max: number };
	/** Views that never agreed, with what they had and what Consul has. The first ends the run. */
	readonly divergences: readonly string[];
}

/** The answers of Consul to all questions at one moment. */
type Truths = ReadonlyMap<string, Truth>;

/** Changes the registry and compares, again and again, until the time is over or a view has stayed wrong. */
export async function runOracle(options: OracleOptions): Promise<OracleReport> {
	const run = new Run(options);
	await run.apply(options.workload.start());
	await run.compare();
	options.afterFirst?.();
	const endMs = performance.now() + options.durationMs;
	while (performance.now() < endMs && run.divergences.length === 0) {
		await run.apply([...options.workload.burst(), ...(options.more?.() ?? [])]);
		await run.compare();
		options.afterEach?.();
	}
	// What was held back is believed in the end.
	if (run.divergences.length === 0) await run.compareAfterHolds();
	return run.report();
}

class Run {
	readonly divergences: string[] = [];
	readonly #options: OracleOptions;
	readonly #lastChangeMs = new Map<string, number>();
	/** When something of a service was taken out last: what was held back then is so for its whole time, whatever comes meanwhile. */
	readonly #emptiedMs = new Map<string, number>();
	readonly #convergenceMs: number[] = [];
	readonly #allAgreedMs: number[] = [];
	readonly #recent: string[] = [];
	#rounds = 0;
	#changes = 0;
	readonly #refused: string[] = [];
	#compared = 0;
	#late = 0;
	#held = 0;
	#old = 0;
	#broken = 0;

	constructor(options: OracleOptions) {
		this.#options = options;
	}

	async apply(changes: readonly (Change & { readonly pauseMs?: number })[]): Promise<void> {
		for (const change of changes) {
			this.#changes++;
			this.#recent.push(change.what);
			if (this.#recent.length > CHANGES_SHOWN) this.#recent.shift();
			await change.apply(this.#options.consul).catch((error: unknown) => {
				const refused = `refused by Consul: ${change.what}: ${String(error).slice(0, 200)}`;
				this.#refused.push(refused);
				this.#recent.push(refused);
			});
			const nowMs = performance.now();
			for (const service of change.services) {
				this.#lastChangeMs.set(service, nowMs);
				if (change.mayEmpty === true) this.#emptiedMs.set(service, nowMs);
			}
			await delay(change.pauseMs ?? 0);
		}
	}

	/** Compares every view with Consul until all agree, or one has not for too long. */
	async compare(): Promise<void> {
		this.#rounds++;
		const quietMs = performance.now();
		let truths = await this.#whenQuiet();
		let left = this.#options.views;
		this.#compared += left.length;
		for (const truth of truths.values()) this.#broken += truth.broken;
		let isFirst = true;
		let isCounted = false;
		const old = new Set<View>();
		for (;;) {
			const outcome = await this.#differing(left, truths, isFirst);
			left = outcome.map(({ view }) => view);
			for (const { view, isOld } of outcome) if (isOld) old.add(view);
			const broken = outcome.filter(({ isBroken }) => isBroken);
			if (broken.length > 0) {
				this.#diverged(broken, truths);
				return;
			}
			isFirst = false;
			const sinceMs = performance.now() - quietMs;
			if (left.length === 0) break;
			if (sinceMs > LOOKED_AT_MS && !isCounted) {
				isCounted = true;
				this.#late += left.length;
			}
			if (sinceMs > this.#options.agreementMsMax) {
				this.#diverged(outcome, truths);
				return;
			}
			await delay(POLL_MS);
			// It may still have changed, a check that Consul's agent was late to tell of.
			truths = await this.#read();
		}
		this.#old += old.size;
		this.#allAgreedMs.push(performance.now() - quietMs);
	}

	/** Compares once more, when nothing may be held back any longer. */
	async compareAfterHolds(): Promise<void> {
		const startedMs = performance.now();
		const truths = await this.#whenQuiet();
		let left = this.#options.views;
		let outcome: readonly Differing[] = [];
		do {
			outcome = await this.#differing(left, truths, false, true);
			left = outcome.map(({ view }) => view);
			if (left.length === 0) return;
			await delay(POLL_MS * 4);
		} while (performance.now() - startedMs < this.#holdMsMax);
		this.#diverged(outcome, truths);
	}

	report(): OracleReport {
		return {
			rounds: this.#rounds,
			changes: this.#changes,
			refused: this.#refused,
			compared: this.#compared,
			lateAfterOneSecond: this.#late,
			held: this.#held,
			old: this.#old,
			broken: this.#broken,
			convergence: { count: this.#convergenceMs.length, ...quantiles(this.#convergenceMs) },
			allAgreed: quantiles(this.#allAgreedMs),
			divergences: this.divergences,
		};
	}

	async #differing(
		views: readonly View[],
		truths: Truths,
		isFirst: boolean,
		isFinal = false,
	): Promise<readonly Differing[]> {
		const differing: Differing[] = [];
		await Promise.all(
			views.map(async (view) => {
				const truth = truths.get(queryText(view.query)) as Truth;
				const whole = truths.get(queryText({ service: view.query.service })) as Truth;
				const standing = await view.compare(truth, whole);
				if (standing.is === 'held' && isFirst) this.#held++;
				if (standing.is === 'held' && isFinal) differing.push({ view, found: 'still held back' });
				if (standing.is === 'diverged' && standing.isHeld === true && this.#mayBeHeld(view)) return;
				if (standing.is === 'diverged') differing.push(this.#judge(view, standing));
				if (standing.is !== 'agreed' || standing.sinceMs === undefined || isFinal) return;
				const changedMs = this.#lastChangeMs.get(view.query.service);
				// One that agreed before the last change was not concerned by it.
				if (changedMs !== undefined && standing.sinceMs > changedMs)
					this.#convergenceMs.push(standing.sinceMs - changedMs);
			}),
		);
		return differing;
	}

	#judge(view: View, { found, told }: Extract<Standing, { is: 'diverged' }>): Differing {
		if (told === undefined || this.#options.mayBeOld !== true) return { view, found };
		const changedMs = this.#lastChangeMs.get(view.query.service) ?? Number.NEGATIVE_INFINITY;
		const broken = brokenPromise(told, performance.timeOrigin + changedMs);
		if (broken !== undefined) return { view, found: `${broken}: ${found}`, isBroken: true };
		return { view, found, isOld: !told.isLive };
	}

	#mayBeHeld({ query }: View): boolean {
		return performance.now() - (this.#emptiedMs.get(query.service) ?? Number.NEGATIVE_INFINITY) < this.#holdMsMax;
	}

	/** What is seen late is held back from then on. */
	get #holdMsMax(): number {
		const { mayBeOld = false, agreementMsMax } = this.#options;
		return HOLD_MS_MAX + (mayBeOld ? agreementMsMax : 0);
	}

	#diverged(outcome: readonly Differing[], truths: Truths): void {
		for (const { view, found } of outcome.slice(0, EXAMPLES_MAX)) {
			const truth = truths.get(queryText(view.query));
			const text = `${view.name}: ${found}\nConsul:\n${truth?.text}\nlast changes:\n${this.#recent.join('\n')}`;
			// Metadata at their limits are long, and of one character.
			this.divergences.push(text.replaceAll(/(.)\1{15,}/g, '$1…'));
		}
		if (outcome.length > EXAMPLES_MAX) this.divergences.push(`and ${outcome.length - EXAMPLES_MAX} more`);
	}

	/** The truth, when it is the same as a moment before. */
	async #whenQuiet(): Promise<Truths> {
		for (let before = await this.#read(); ; ) {
			await delay(QUIET_MS);
			const now = await this.#read();
			if ([...now].every(([name, { text }]) => before.get(name)?.text === text)) return now;
			before = now;
		}
	}

	async #read(): Promise<Truths> {
		const { consul, workload } = this.#options;
		const found = new Map<string, Truth>();
		for (let start = 0; start < workload.services.length; start += READS_AT_ONCE) {
			await Promise.all(
				workload.services.slice(start, start + READS_AT_ONCE).map(async (service) => {
					const entries = await consul.read(service);
					for (const query of workload.questionsOf(service)) found.set(queryText(query), truthOf(entries, query));
				}),
			);
		}
		return found;
	}
}

interface Differing {
	readonly view: View;
	readonly found: string;
	/** It breaks what is promised, however soon it would agree. */
	readonly isBroken?: boolean;
	readonly isOld?: boolean;
}

function quantiles(values: readonly number[]): { readonly p50: number; readonly p99: number; readonly max: number } {
	const sorted = [...values].sort((left, right) => left - right);
	const at = (share: number): number =>
		round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
	return { p50: at(0.5), p99: at(0.99), max: round(sorted.at(-1) ?? 0) };
}

function round(ms: number): number {
	return Math.round(ms * 10) / 10;
}
