import {
	noInstanceError,
	type Picker,
	type PickerOptions,
	pickerOver,
	servedInstances,
	spareEjected,
	toAddress,
} from '@spock/balancer';
import {
	isServing,
	isStale,
	knownAgeMs,
	type ServiceAddress,
	type ServiceInstance,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	type SourceWatch,
	type SpockError,
} from '@spock/protocol';
import { inNeutralContext, isHost, isInteger, showAs } from '@spock/protocol/internal';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { InstanceRecords } from './instance-records.ts';

/** What a view needs of the options. */
export type ViewOptions = Pick<ResolvedOptions, 'policy' | 'random' | 'clock' | 'ejectedPercentMax'>;

/** An answer that is the same until the snapshot changes: a lookup then makes neither an object nor a promise. */
interface Answer {
	readonly address: ServiceAddress;
	readonly promise: Promise<ServiceAddress>;
}

/** One service as lookups see it: the newest snapshot and its picker, swapped at once. Watches for as long as it lives. */
export class ServiceView {
	/** Counted up by the sweep and set back by every lookup: a mark costs less than reading the clock. */
	unusedSweeps = 0;
	readonly query: ServiceQuery;
	readonly #options: ViewOptions;
	readonly #records: InstanceRecords;
	readonly #pickerOptions: PickerOptions;
	readonly #watch: SourceWatch;
	#snapshot: ServiceSnapshot | undefined;
	#picker: Picker | undefined;
	/** Those that the picker picks from. */
	#serving: readonly ServiceInstance[] = [];
	/** What the picker knows of ejections: of this revision of the records, and until then. */
	#recordsRevision = 0;
	#ejectedUntilMs = Number.POSITIVE_INFINITY;
	#answers = new Map<ServiceInstance, Answer>();
	#stale = false;
	#verifiedAtMs = 0;

	/** Starts to watch; throws what `source.watch` throws. */
	constructor(source: ServiceSource, query: ServiceQuery, options: ViewOptions, records: InstanceRecords) {
		const { random, clock } = options;
		this.query = query;
		this.#options = options;
		this.#records = records;
		this.#pickerOptions = { random, recordOf: (instance) => records.of(query, instance), now: () => clock.now() };
		this.#watch = source.watch(query, { next: (snapshot) => this.accept(snapshot) });
	}

	/** True once there is a snapshot to pick from. */
	get known(): boolean {
		return this.#snapshot !== undefined;
	}

	/** Takes a newer snapshot. The picker stays if the instances are the same: its turn is not lost when the age changes. */
	accept(snapshot: ServiceSnapshot): void {
		if (this.#picker === undefined || this.#snapshot?.instances !== snapshot.instances) {
			if (this.#records.size > 0 && this.#snapshot !== undefined) this.#forgive(this.#snapshot, snapshot);
			this.#arrange(snapshot);
			this.#answers = new Map();
		}
		this.#snapshot = snapshot;
		this.#stale = isStale(snapshot);
		this.#verifiedAtMs = this.#options.clock.now() - snapshot.ageMs;
	}

	/** True if the registry confirmed what is known within this time, as far as this process can know. */
	isWithin(maxAgeMs: number): boolean {
		const snapshot = this.#snapshot;
		return snapshot !== undefined && knownAgeMs(this.#aged(snapshot), this.#options.clock.wallNow()) <= maxAgeMs;
	}

	/** Takes the time of verification from a snapshot that was asked for and says the same. */
	renew({ source, revision, verifiedAt }: ServiceSnapshot): void {
		const known = this.#snapshot;
		if (known === undefined || known.revision !== revision || known.source !== 'live' || source !== 'live') return;
		this.#snapshot = { ...known, verifiedAt: Math.max(known.verifiedAt, verifiedAt) };
	}

	/** The next address, or undefined when there is no snapshot or no instance serves. */
	pick(key?: string): ServiceAddress | undefined {
		this.unusedSweeps = 0;
		const chosen = this.#choose(key);
		if (chosen === undefined) return undefined;
		return this.#addressOf(chosen);
	}

	/** As `pick`, in a promise that is already resolved. */
	lookUp(key?: string): Promise<ServiceAddress> | undefined {
		this.unusedSweeps = 0;
		const chosen = this.#choose(key);
		if (chosen === undefined) return undefined;
		return this.#stale ? Promise.resolve(this.#staleAddress(chosen)) : this.#answer(chosen).promise;
	}

	/** As `pick`, but another one than these, if any other serves. */
	pickOther(exclude: ReadonlySet<string> | undefined, key?: string): ServiceAddress | undefined {
		const address = this.pick(key);
		if (address === undefined || exclude?.has(address.instance) !== true) return address;
		const others = this.#serving.filter(({ instance }) => !exclude.has(instance));
		const chosen = pickerOver(this.#options.policy, others, this.#pickerOptions).pick({ key });
		return chosen === undefined ? address : this.#addressOf(chosen);
	}

	/** Instances that are served, and get no work of this client: their calls failed, or nobody can be sent to them. */
	get spared(): readonly ServiceInstance[] {
		this.#lookAgain();
		const serving = new Set(this.#serving);
		return this.#snapshot === undefined ? [] : servedInstances(this.#snapshot).filter((one) => !serving.has(one));
	}

	/** Every instance, healthy or not. */
	get instances(): readonly ServiceInstance[] {
		return this.#snapshot?.instances ?? [];
	}

	/** Why nothing can be picked; only when `known`. */
	noInstanceError(): SpockError {
		const snapshot = this.#snapshot as ServiceSnapshot;
		return noInstanceError(this.#aged(snapshot));
	}

	stop(): void {
		this.#watch.stop();
	}

	#choose(key: string | undefined): ServiceInstance | undefined {
		this.#lookAgain();
		return this.#picker?.pick(key === undefined ? undefined : { key });
	}

	/** Somebody was ejected since, or may come back. */
	#lookAgain(): void {
		const isSame =
			this.#recordsRevision === this.#records.revision &&
			(this.#ejectedUntilMs === Number.POSITIVE_INFINITY || this.#options.clock.now() < this.#ejectedUntilMs);
		if (!isSame && this.#snapshot !== undefined) this.#arrange(this.#snapshot);
	}

	/** The picker of this snapshot, without those that are ejected. */
	#arrange(snapshot: ServiceSnapshot): void {
		const { policy, clock, ejectedPercentMax } = this.#options;
		const records = this.#records;
		this.#recordsRevision = records.revision;
		// A source of anybody's may tell of an instance that nobody can be sent to: its caller would be blamed for that.
		const served = servedInstances(snapshot).filter(isCallable);
		const find = (one: ServiceInstance): ReturnType<InstanceRecords['find']> => records.find(this.query, one);
		const { serving, untilMs } = spareEjected(served, find, clock.now(), ejectedPercentMax);
		this.#serving = serving;
		this.#ejectedUntilMs = untilMs;
		this.#picker = pickerOver(policy, serving, this.#pickerOptions);
	}

	/** What failed before is forgotten of an instance that the registry calls well again. */
	#forgive(before: ServiceSnapshot, now: ServiceSnapshot): void {
		const failing = before.instances.filter((one) => (this.#records.find(this.query, one)?.failures ?? 0) > 0);
		for (const old of failing) {
			if (isServing(old)) continue;
			const { instance, host, port } = old;
			const next = now.instances.find((one) => one.instance === instance && one.host === host && one.port === port);
			if (next !== undefined && isServing(next)) this.#records.forgive(this.query, old);
		}
	}

	#addressOf(chosen: ServiceInstance): ServiceAddress {
		return this.#stale ? this.#staleAddress(chosen) : this.#answer(chosen).address;
	}

	#answer(chosen: ServiceInstance): Answer {
		let answer = this.#answers.get(chosen);
		if (answer === undefined) {
			// It outlives the lookup that it is made for.
			const address = this.#given(toAddress(chosen, this.#snapshot as ServiceSnapshot));
			answer = { address, promise: inNeutralContext(() => Promise.resolve(address)) };
			this.#answers.set(chosen, answer);
		}
		return answer;
	}

	#staleAddress(chosen: ServiceInstance): ServiceAddress {
		return this.#given(toAddress(chosen, this.#aged(this.#snapshot as ServiceSnapshot)));
	}

	#given(address: ServiceAddress): ServiceAddress {
		return this.#records.given(this.query, Object.freeze(address));
	}

	/** The snapshot with its age, which grows while it is stale. */
	#aged(snapshot: ServiceSnapshot): ServiceSnapshot {
		return this.#stale ? { ...snapshot, ageMs: this.#options.clock.now() - this.#verifiedAtMs } : snapshot;
	}
}

showAs(ServiceView, 'ServiceView', ({ query, known, instances }) => ({
	...query,
	known,
	instances: instances.length,
}));

/** True where its host and its port are what they are called. */
export function isCallable({ host, port }: ServiceInstance): boolean {
	return isHost(host) && isInteger(port, 0, 65_535);
}
