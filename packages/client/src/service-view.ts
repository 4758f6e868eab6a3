import { createPicker, noInstanceError, type Picker, toAddress } from '@spock/balancer';
import {
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

import type { ResolvedOptions } from './options.ts';

/** What a view needs of the options. */
export type ViewOptions = Pick<ResolvedOptions, 'policy' | 'random' | 'clock'>;

/** An answer that is the same until the snapshot changes: a lookup then makes neither an object nor a promise. */
interface Answer {
	readonly address: ServiceAddress;
	readonly promise: Promise<ServiceAddress>;
}

/** One service as lookups see it: the newest snapshot and its picker, swapped at once. Watches for as long as it lives. */
export class ServiceView {
	/** Counted up by the sweep and set back by every lookup: a mark costs less than reading the clock. */
	unusedSweeps = 0;
	readonly #options: ViewOptions;
	readonly #watch: SourceWatch;
	#snapshot: ServiceSnapshot | undefined;
	#picker: Picker | undefined;
	#answers = new Map<ServiceInstance, Answer>();
	#stale = false;
	#verifiedAtMs = 0;

	/** Starts to watch; throws what `source.watch` throws. */
	constructor(source: ServiceSource, query: ServiceQuery, options: ViewOptions) {
		this.#options = options;
		this.#watch = source.watch(query, { next: (snapshot) => this.accept(snapshot) });
	}

	/** True once there is a snapshot to pick from. */
	get known(): boolean {
		return this.#snapshot !== undefined;
	}

	/** Takes a newer snapshot. The picker stays if the instances are the same: its turn is not lost when the age changes. */
	accept(snapshot: ServiceSnapshot): void {
		const { policy, random, clock } = this.#options;
		if (this.#picker === undefined || this.#snapshot?.instances !== snapshot.instances) {
			this.#picker = createPicker(policy, snapshot, { random });
			this.#answers = new Map();
		}
		this.#snapshot = snapshot;
		this.#stale = isStale(snapshot);
		this.#verifiedAtMs = clock.now() - snapshot.ageMs;
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
		return this.#stale ? this.#staleAddress(chosen) : this.#answer(chosen).address;
	}

	/** As `pick`, in a promise that is already resolved. */
	lookUp(key?: string): Promise<ServiceAddress> | undefined {
		this.unusedSweeps = 0;
		const chosen = this.#choose(key);
		if (chosen === undefined) return undefined;
		return this.#stale ? Promise.resolve(this.#staleAddress(chosen)) : this.#answer(chosen).promise;
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
		return this.#picker?.pick(key === undefined ? undefined : { key });
	}

	#answer(chosen: ServiceInstance): Answer {
		let answer = this.#answers.get(chosen);
		if (answer === undefined) {
			const address = Object.freeze(toAddress(chosen, this.#snapshot as ServiceSnapshot));
			answer = { address, promise: Promise.resolve(address) };
			this.#answers.set(chosen, answer);
		}
		return answer;
	}

	#staleAddress(chosen: ServiceInstance): ServiceAddress {
		return Object.freeze(toAddress(chosen, this.#aged(this.#snapshot as ServiceSnapshot)));
	}

	/** The snapshot with its age, which grows while it is stale. */
	#aged(snapshot: ServiceSnapshot): ServiceSnapshot {
		return this.#stale ? { ...snapshot, ageMs: this.#options.clock.now() - this.#verifiedAtMs } : snapshot;
	}
}
