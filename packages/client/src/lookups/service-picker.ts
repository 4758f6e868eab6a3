import {
	type Picker,
	type PickerOptions,
	plannedPicker,
	servedInstances,
	spareEjected,
	toAddress,
} from '@spock/balancer';
import {
	isServing,
	type ServiceAddress,
	type ServiceInstance,
	type ServiceQuery,
	type ServiceSnapshot,
} from '@spock/protocol';
import { inNeutralContext, isHost, isInteger, showAs } from '@spock/protocol/internal';
import { sharesChannel } from '../foundation/diagnostics.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { SnapshotFollower, StoredSnapshot } from '../snapshots/stored-snapshot.ts';
import type { InstanceRecords } from './instance-records.ts';
import type { WorkPlanner } from './work-planner.ts';

/** What a picker needs of the options. */
export type PickerSettings = Pick<ResolvedOptions, 'policy' | 'random' | 'clock' | 'ejectedPercentMax'>;

/** An answer that is the same until the snapshot changes: a lookup then makes neither an object nor a promise. */
interface Answer {
	readonly address: ServiceAddress;
	readonly promise: Promise<ServiceAddress>;
}

/** One service as lookups see it: the picker over its stored snapshot, without the instances that calls failed at. */
export class ServicePicker implements SnapshotFollower<ServiceSnapshot> {
	readonly stored: StoredSnapshot<ServiceQuery, ServiceSnapshot>;
	readonly query: ServiceQuery;
	readonly #options: PickerSettings;
	readonly #records: InstanceRecords;
	readonly #planner: WorkPlanner;
	readonly #pickerOptions: PickerOptions;
	readonly #ended: () => void;
	#picker: Picker | undefined;
	/** Those that get work, of this client or of others. */
	#serving: readonly ServiceInstance[] = [];
	/** What the picker knows of ejections: of this revision of the records, and until then. */
	#recordsRevision = 0;
	#ejectedUntilMs = Number.POSITIVE_INFINITY;
	#answers = new Map<ServiceInstance, Answer>();

	/** Follows the snapshot as long as it is stored; then calls `ended`. */
	constructor(
		stored: StoredSnapshot<ServiceQuery, ServiceSnapshot>,
		options: PickerSettings,
		records: InstanceRecords,
		planner: WorkPlanner,
		ended: () => void,
	) {
		const { random, clock } = options;
		const { query } = stored;
		this.stored = stored;
		this.query = query;
		this.#options = options;
		this.#records = records;
		this.#planner = planner;
		this.#pickerOptions = { random, recordOf: (instance) => records.of(query, instance), now: () => clock.now() };
		this.#ended = ended;
		stored.follower = this;
		if (stored.current !== undefined) this.#arrange(stored.current);
	}

	/** True once there is a snapshot to pick from. */
	get known(): boolean {
		return this.stored.current !== undefined;
	}

	/** The picker stays if the instances are the same: its turn is not lost when the age changes. */
	changed(snapshot: ServiceSnapshot, before: ServiceSnapshot | undefined): void {
		if (before?.instances === snapshot.instances) return;
		if (this.#records.size > 0 && before !== undefined) this.#forgive(before, snapshot);
		this.#arrange(snapshot);
		this.#answers = new Map();
	}

	ended(): void {
		this.#ended();
	}

	/** The next address, or undefined when there is no snapshot or no instance serves. */
	pick(key?: string): ServiceAddress | undefined {
		this.stored.unusedSweeps = 0;
		const { current } = this.stored;
		if (current === undefined) return undefined;
		const chosen = this.#choose(current, key);
		return chosen && this.#addressOf(chosen, current);
	}

	/** As `pick`, in a promise that is already resolved. */
	lookUp(key?: string): Promise<ServiceAddress> | undefined {
		this.stored.unusedSweeps = 0;
		const { current } = this.stored;
		if (current === undefined) return undefined;
		const chosen = this.#choose(current, key);
		if (chosen === undefined) return undefined;
		return this.stored.isStale
			? Promise.resolve(this.#staleAddress(chosen, current))
			: this.#answer(chosen, current).promise;
	}

	/** As `pick`, but another one than these, if any other serves. */
	pickOther(exclude: ReadonlySet<string> | undefined, key?: string): ServiceAddress | undefined {
		const { current } = this.stored;
		const address = this.pick(key);
		if (current === undefined || address === undefined || exclude?.has(address.instance) !== true) return address;
		const others = this.#serving.filter(({ instance }) => !exclude.has(instance));
		const plan = this.#planner.plan(this.query, current, others);
		const chosen = plannedPicker(this.#options.policy, plan, this.#pickerOptions).pick({ key });
		return chosen === undefined ? address : this.#addressOf(chosen, current);
	}

	/** Instances that are served and get no work from this client: their calls failed, or their address is unusable. */
	get spared(): readonly ServiceInstance[] {
		const { current } = this.stored;
		if (current === undefined) return [];
		this.#lookAgain(current);
		const serving = new Set(this.#serving);
		return servedInstances(current).filter((one) => !serving.has(one));
	}

	/** Every instance, healthy or not. */
	get instances(): readonly ServiceInstance[] {
		return this.stored.current?.instances ?? [];
	}

	#choose(current: ServiceSnapshot, key: string | undefined): ServiceInstance | undefined {
		this.#lookAgain(current);
		return this.#picker?.pick(key === undefined ? undefined : { key });
	}

	/** Arranges the picker again if an instance was ejected since, or may come back. */
	#lookAgain(current: ServiceSnapshot): void {
		const isSame =
			this.#recordsRevision === this.#records.revision &&
			(this.#ejectedUntilMs === Number.POSITIVE_INFINITY || this.#options.clock.now() < this.#ejectedUntilMs);
		if (!isSame) this.#arrange(current);
	}

	/** The picker of this snapshot, without those that are ejected. */
	#arrange(snapshot: ServiceSnapshot): void {
		const { clock, ejectedPercentMax } = this.#options;
		const records = this.#records;
		this.#recordsRevision = records.revision;
		// Any source may report an instance with an unusable address: a call to it would fail as if its caller were at fault.
		const served = servedInstances(snapshot).filter(isCallable);
		const find = (one: ServiceInstance): ReturnType<InstanceRecords['find']> => records.find(this.query, one);
		const { serving, untilMs } = spareEjected(served, find, clock.now(), ejectedPercentMax);
		this.#serving = serving;
		this.#ejectedUntilMs = untilMs;
		const plan = this.#planner.plan(this.query, snapshot, serving);
		this.#picker = plannedPicker(this.#options.policy, plan, this.#pickerOptions);
		const zone = this.#planner.zone();
		if (!sharesChannel.hasSubscribers || zone === undefined || plan.zones === undefined) return;
		sharesChannel.publish({ query: this.query, zone, shares: plan.zones });
	}

	/**
	 * Failures are forgotten of an instance that is new in the registry or healthy again: it is another process, perhaps in its old
	 * place. When it comes and not when it leaves, as calls to the old process may still fail after that.
	 */
	#forgive(before: ServiceSnapshot, now: ServiceSnapshot): void {
		const failing = now.instances.filter((one) => (this.#records.find(this.query, one)?.failures ?? 0) > 0);
		for (const one of failing) {
			const { instance, host, port } = one;
			const old = before.instances.find((it) => it.instance === instance && it.host === host && it.port === port);
			if (old === undefined || (isServing(one) && !isServing(old))) this.#records.forgive(this.query, one);
		}
	}

	#addressOf(chosen: ServiceInstance, current: ServiceSnapshot): ServiceAddress {
		return this.stored.isStale ? this.#staleAddress(chosen, current) : this.#answer(chosen, current).address;
	}

	#answer(chosen: ServiceInstance, current: ServiceSnapshot): Answer {
		let answer = this.#answers.get(chosen);
		if (answer === undefined) {
			// It outlives the lookup that it is made for.
			const address = this.#given(toAddress(chosen, current));
			answer = { address, promise: inNeutralContext(() => Promise.resolve(address)) };
			this.#answers.set(chosen, answer);
		}
		return answer;
	}

	#staleAddress(chosen: ServiceInstance, { source, verifiedAt }: ServiceSnapshot): ServiceAddress {
		return this.#given(toAddress(chosen, { source, verifiedAt, ageMs: this.stored.ageMs }));
	}

	#given(address: ServiceAddress): ServiceAddress {
		return this.#records.given(this.query, Object.freeze(address));
	}
}

showAs(ServicePicker, 'ServicePicker', ({ query, known, instances }) => ({
	...query,
	known,
	instances: instances.length,
}));

/** True for an instance whose host and port can be called. */
export function isCallable({ host, port }: ServiceInstance): boolean {
	return isHost(host) && isInteger(port, 0, 65_535);
}
