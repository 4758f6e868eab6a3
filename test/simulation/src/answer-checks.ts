import {
	isAskedFor,
	isServing,
	type KeySnapshot,
	type ServiceAddress,
	type ServiceQuery,
	type ServiceSnapshot,
} from '@spock/protocol';

import type { AnswerLog } from './answer-log.ts';
import { keyName, questionName } from './question-name.ts';
import { QUERY_MS, WAIT_MS } from './registry-query.ts';
import { WALL_EPOCH_MS } from './sim-process.ts';
import type { WorldContext } from './world-context.ts';

/** For so long what explained an empty answer may be what a client knows. */
const EXPLAINED_MS = 60_000;

/** A process does not notice that it stood still for less than this. */
const UNNOTICED_MS = 1000;

/** Rounding to whole milliseconds, once on each side. */
const ROUNDING_MS = 3;

/** What an answer says of its age. */
interface AgeClaim {
	readonly isLive: boolean;
	readonly ageMs: number;
	readonly verifiedAt: number;
}

/** What is known of the caller when an answer reaches it. */
export interface AnswerContext {
	/** What was asked to be the greatest age, if anything. */
	readonly maxAgeMs?: number | undefined;
	/** It is no wonder that the answer is live: there is a connection that was greeted, or it came over one just now. */
	readonly isConnected: boolean;
	/** The sidecar was asked, and has said how old it is by its own clock. */
	readonly isFresh?: boolean;
	/** Its process has gone on for so long, in milliseconds: a standstill is noticed by the next tick. */
	readonly resumedForMs?: number;
	/** For how long its sidecar's processes have been dead or stopped, and none of their bytes has come, in milliseconds. */
	readonly quietForMs?: number;
	/** For how long nobody can have vouched for it, because there is no connection, in milliseconds. */
	readonly lostForMs?: number;
}

/** Compares what one client is told with what the registry had told its sidecar. */
export class AnswerChecks {
	readonly #world: WorldContext;
	readonly #logs: readonly AnswerLog[];
	/** After its sidecar fell silent, a client takes it for alive this long at most, in milliseconds. */
	readonly #silenceMs: number;
	/** How much later than the sidecar with the log its own may know that the registry fails, in milliseconds. */
	readonly #behindMs: number;

	/** `logs`: of its sidecar's host, or the one that this asks, and, where it may ask the registry itself, of its own. */
	constructor(world: WorldContext, logs: readonly AnswerLog[], heartbeatMs: number, behindMs = 0) {
		this.#behindMs = behindMs;
		this.#world = world;
		this.#logs = logs;
		this.#silenceMs = heartbeatMs * 4 + behindMs;
	}

	address(query: ServiceQuery, address: ServiceAddress, context: AnswerContext): number | undefined {
		this.#world.counts.checked++;
		const text = (): string => JSON.stringify(address);
		const { registry } = this.#world;
		const [, version, at, number] = /^v(\d+)\.i(\d+)\.s(\d+)$/.exec(address.host) ?? [];
		const { service } = query;
		if (number !== String(registry.numberOf(service)) || address.port !== 10_000 + Number(at)) {
			this.#world.fail('answers reach their caller', `who asked for ${query.service} was given ${text()}`);
			return undefined;
		}
		const item = registry.services.get(service)?.byNumber(Number(version));
		const instance = item?.value.find(({ host }) => host === address.host);
		if (instance === undefined || !isServing(instance) || !isAskedFor(query, instance)) {
			this.#world.fail('answers are what the registry had', `${text()} never was an instance to send work to`);
			return undefined;
		}
		const { stale, ageMs = 0, verifiedAt = 0 } = address;
		this.#age(questionName(query), Number(version), { isLive: stale !== true, ageMs, verifiedAt }, context, text);
		return Number(version);
	}

	/** Gives the version; 0 for an empty list. */
	snapshot(query: ServiceQuery, snapshot: ServiceSnapshot, context: AnswerContext): number | undefined {
		this.#world.counts.checked++;
		const name = questionName(query);
		const text = (): string => describe(snapshot);
		if (questionName(snapshot) !== name) {
			this.#world.fail('answers reach their caller', `who asked for ${name} was given ${text()}`);
			return undefined;
		}
		const [first] = snapshot.instances;
		if (first === undefined) {
			if (!this.#isExplained(query)) this.empty(name, text);
			return 0;
		}
		const version = Number(first.meta['version']);
		const all = this.#world.registry.services.get(query.service)?.byNumber(version)?.value ?? [];
		const had = all.filter((one) => isAskedFor(query, one));
		const isSame =
			had.length === snapshot.instances.length &&
			had.every((one, at) => {
				const other = snapshot.instances[at];
				return one.instance === other?.instance && one.host === other.host && one.status === other.status;
			});
		if (!isSame) {
			this.#world.fail('answers are what the registry had', `${text()} is not what version ${version} was`);
			return undefined;
		}
		this.#age(name, version, claimOf(snapshot), context, text);
		return version;
	}

	key(key: string, snapshot: KeySnapshot, context: AnswerContext): number | undefined {
		this.#world.counts.checked++;
		const text = (): string => JSON.stringify(snapshot);
		if (snapshot.key !== key || snapshot.prefix === true) {
			this.#world.fail('answers reach their caller', `who asked for the key ${key} was given ${text()}`);
			return undefined;
		}
		const name = keyName(key);
		if (snapshot.value === null) {
			this.empty(name, text);
			return 0;
		}
		const [, of, version] = /^(.+)@(\d+)$/.exec(snapshot.value) ?? [];
		if (of !== key || this.#world.registry.keys.get(key)?.byNumber(Number(version)) === undefined) {
			this.#world.fail('answers are what the registry had', `${text()} never was the value of ${key}`);
			return undefined;
		}
		this.#age(name, Number(version), claimOf(snapshot), context, text);
		return Number(version);
	}

	/** "Nothing" was served. */
	empty(name: string, text: () => string): void {
		if (this.#logs.some((log) => log.mayBeEmpty(name))) return;
		this.#world.fail(
			'an empty answer is held back',
			`${text()}, although the registry has not said so for long enough`,
		);
	}

	/** Whether a lookup of this query may find that nobody can be sent work. */
	mayFindNobody(query: ServiceQuery): boolean {
		const name = questionName(query);
		return this.#isExplained(query) || this.#logs.some((log) => log.mayBeEmpty(name) || log.mayBeIll(name));
	}

	/** Whether the service was there of late, and nothing of it had what the query asks for: "nothing" is no loss of data then. */
	#isExplained(query: ServiceQuery): boolean {
		if (query.tags === undefined && query.meta === undefined) return false;
		const { versions = [] } = this.#world.registry.services.get(query.service) ?? {};
		return versions.some(({ value }, at) => {
			const untilMs = versions[at + 1]?.fromMs ?? Number.POSITIVE_INFINITY;
			const isLate = untilMs > this.#world.nowMs - EXPLAINED_MS;
			return isLate && value.length > 0 && !value.some((one) => isAskedFor(query, one));
		});
	}

	#age(name: string, version: number, claim: AgeClaim, context: AnswerContext, text: () => string): void {
		const { maxAgeMs, isConnected, isFresh = false, lostForMs = 0 } = context;
		const { resumedForMs = Number.POSITIVE_INFINITY, quietForMs = 0 } = context;
		const confirmed = this.#logs.map((log) => log.confirmedMs(name, version) ?? Number.NEGATIVE_INFINITY);
		const confirmedMs = Math.max(...confirmed);
		const { nowMs, network } = this.#world;
		if (confirmedMs === Number.NEGATIVE_INFINITY) {
			this.#world.fail(
				'answers are what the registry had',
				`${text()}: no sidecar of this client was told version ${version}`,
			);
			return;
		}
		const trueAgeMs = nowMs - confirmedMs;
		// Over each hop.
		const transitMs = (network.longestTransitMs + ROUNDING_MS) * (this.#behindMs > 0 ? 2 : 1);
		const says = (): string =>
			`${text()} says ${JSON.stringify(claim)}; the registry confirmed it ${trueAgeMs.toFixed(1)} ms ago`;
		if (claim.verifiedAt > WALL_EPOCH_MS + confirmedMs + UNNOTICED_MS + ROUNDING_MS) {
			this.#world.fail('ages are true', says());
		}
		// A sidecar vouches for what it was told within a wait: whoever loses it counts from then.
		const liveMs = WAIT_MS * (17 / 16) + QUERY_MS + this.#silenceMs + transitMs;
		if (claim.isLive) {
			if (trueAgeMs > liveMs && resumedForMs > UNNOTICED_MS)
				this.#world.fail('ages are true', `${says()}: it cannot be live`);
			const failingMs = Math.min(...this.#logs.map((log) => log.failingForMs(name)));
			if (isFresh && failingMs > transitMs + this.#behindMs)
				this.#world.fail('ages are true', `${says()}: the registry fails for ${failingMs} ms`);
			if (!isConnected) this.#world.fail('ages are true', `${says()}: it cannot be live without a connection`);
		} else if (claim.ageMs < trueAgeMs - (isFresh && this.#behindMs === 0 ? transitMs + UNNOTICED_MS : liveMs))
			this.#world.fail('ages are true', says());
		// One that has ended since may have confirmed it while those that are left were failing.
		const failsForMs = Math.min(trueAgeMs, ...this.#logs.map((log) => log.failingForMs(name)));
		const silentMs = Math.max(failsForMs - transitMs, quietForMs);
		if (!claim.isLive && claim.ageMs < silentMs - UNNOTICED_MS - this.#behindMs) {
			this.#world.fail('ages are true', `${says()}, and no process has vouched for it for ${silentMs} ms`);
		}
		if (!claim.isLive && claim.ageMs < lostForMs - ROUNDING_MS) {
			this.#world.fail('ages are true', `${says()}, and there is no connection for ${lostForMs} ms`);
		}
		if (maxAgeMs !== undefined && trueAgeMs > maxAgeMs + transitMs + UNNOTICED_MS) {
			this.#world.fail('ages are true', `${says()}, and the caller wanted it within ${maxAgeMs} ms`);
		}
	}
}

function claimOf({ source, ageMs, verifiedAt }: ServiceSnapshot | KeySnapshot): AgeClaim {
	return { isLive: source !== 'last-known-good', ageMs, verifiedAt };
}

function describe({ service, tags, revision, source, ageMs, verifiedAt, instances, held }: ServiceSnapshot): string {
	const hosts = instances.map(({ host }) => host).slice(0, 4);
	return JSON.stringify({ service, tags, revision, source, ageMs, verifiedAt, held, count: instances.length, hosts });
}
