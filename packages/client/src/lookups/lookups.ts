import { explain, inspectionOf, noInstanceError, plannedPicker, servedInstances, toAddress } from '@spock/balancer';
import {
	type CallOptions,
	type ExplainReply,
	encodePayload,
	encodeRequestTail,
	type GetServiceData,
	type ReadOptions,
	type ServiceAddress,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
} from '@spock/protocol';
import { ageClockOf } from '@spock/protocol/internal';
import { type CallTraits, makeTraits, QUESTION, timeLeft } from '../calls/outgoing-call.ts';
import { closedError, throwIfAborted } from '../foundation/errors.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { Scope } from '../foundation/scope.ts';
import { readAddress } from '../snapshots/read-snapshot.ts';
import { assertAge } from '../snapshots/stored-snapshot.ts';
import { ADDRESS } from '../snapshots/subscription-kind.ts';
import type { RemoteSource } from '../sources/remote-source.ts';
import { type InstanceRecords, type Lease, RecordedLease } from './instance-records.ts';
import {
	type AcquireOptions,
	checkCallOptions,
	type GetServiceOptions,
	type LookupOptions,
	type PickNowOptions,
	type ServiceOrQuery,
	sourceOptions,
	toQuery,
} from './lookup-options.ts';
import { NameHints } from './name-hints.ts';
import type { ServicePicker } from './service-picker.ts';
import type { ServicePickers } from './service-pickers.ts';
import type { WorkPlanner } from './work-planner.ts';

/** Services whose request for one address is cached. */
const REQUESTS_MAX = 1024;

/** The request for one address of a service, but for its id, its deadline and its signal. */
interface AddressRequest {
	readonly func: 'getService';
	readonly tail: string;
	readonly traits: CallTraits;
}

/** What lookups need; the client owns all of it. */
export interface LookupsSetup {
	readonly options: ResolvedOptions;
	/** Lookups are refused when it has ended. */
	readonly scope: Scope;
	readonly pickers: ServicePickers;
	readonly records: InstanceRecords;
	readonly planner: WorkPlanner;
	readonly source: ServiceSource;
	/** The source when it is a sidecar; undefined in direct mode. */
	readonly sidecar: RemoteSource | undefined;
}

/** Lookups of one address: from a stored snapshot, or by waiting for one, or by asking the sidecar. */
export class Lookups {
	readonly #setup: LookupsSetup;
	/** Fields of their own: every lookup reads them. */
	readonly #sidecar: RemoteSource | undefined;
	readonly #asksAlways: boolean;
	readonly #requests = new Map<string, AddressRequest>();
	readonly #hints: NameHints;

	constructor(setup: LookupsSetup) {
		this.#setup = setup;
		this.#sidecar = setup.sidecar;
		this.#asksAlways = setup.options.lookups === 'remote';
		this.#hints = new NameHints((options) => setup.source.list({}, sourceOptions(options, setup.options)));
	}

	/** The sidecar, if this lookup goes over the wire: by option of the client, or of this lookup. */
	asked(options: LookupOptions | undefined): RemoteSource | undefined {
		return options?.fresh === true || this.isRemote ? this.#sidecar : undefined;
	}

	/** `diplomat.getService`, where the answer is not known in this process, or is not to be taken from there. */
	getService(service: ServiceOrQuery, options: GetServiceOptions): Promise<ServiceAddress> {
		checkCallOptions(options);
		if (typeof service === 'string' && isPlain(options) && this.#setup.scope.isOpen) {
			const asked = this.asked(options);
			if (asked !== undefined) return this.#askByName(asked, service, options.signal);
		}
		return this.#lookUp(service, options);
	}

	/** `diplomat.pick`. */
	pick(service: ServiceOrQuery, options: PickNowOptions | undefined): ServiceAddress | undefined {
		const { pickers, scope } = this.#setup;
		const picker = pickers.find(service) ?? (scope.isOpen ? pickers.open(toQuery(service)) : undefined);
		if (options !== undefined) checkCallOptions(options);
		if (options?.maxAgeMs !== undefined) {
			if (picker?.stored.isYoung(options.maxAgeMs) !== true) return undefined;
		}
		if (options?.exclude !== undefined) return picker?.pickOther(options.exclude, options.key);
		return picker?.pick(options?.key);
	}

	/** `diplomat.acquire`. */
	async acquire(service: ServiceOrQuery, options: AcquireOptions): Promise<Lease> {
		checkCallOptions(options);
		const { exclude, ...lookup } = options;
		if (lookup.fresh !== true) {
			const lease = this.tryAcquire(service, options);
			if (lease !== undefined) return lease;
		}
		const address = await this.getService(service, lookup);
		const isOther = exclude?.has(address.instance) !== true;
		return this.#lease(
			service,
			isOther ? address : (this.#setup.pickers.find(service)?.pickOther(exclude, lookup.key) ?? address),
		);
	}

	/** `diplomat.tryAcquire`. */
	tryAcquire(service: ServiceOrQuery, options: PickNowOptions): Lease | undefined {
		if (!this.#setup.scope.isOpen || this.isRemote) return undefined;
		const address = this.pick(service, options);
		return address && this.#lease(service, address);
	}

	/** `diplomat.explain`: what the sidecar or the source answers, with what is known here. `complete` is for a source. */
	async explain(query: ServiceQuery, options: CallOptions, complete: ReadOptions): Promise<ExplainReply> {
		const { pickers, source } = this.#setup;
		if (this.#sidecar !== undefined && !this.#isStoodInFor) {
			return pickers.explain(query, await this.#sidecar.call('explain', query, QUESTION, options));
		}
		const inspection = (await source.inspect?.(query, complete)) ?? inspectionOf(await source.get(query, complete));
		return pickers.explain(query, explain(query, inspection));
	}

	#lease(service: ServiceOrQuery, address: ServiceAddress): Lease {
		const query = typeof service === 'string' ? { service } : service;
		return new RecordedLease(query, address, this.#setup.records, this.#setup.options.clock);
	}

	/** True when lookups go over the wire one by one: by option, or because the sidecar cannot push. */
	get isRemote(): boolean {
		const sidecar = this.#sidecar;
		return sidecar !== undefined && (this.#asksAlways || sidecar.pushes === false) && !this.#isStoodInFor;
	}

	/** True while the sidecar is away and a fallback stands in for it. */
	get #isStoodInFor(): boolean {
		return this.#sidecar?.isStoodInFor === true;
	}

	async #lookUp(service: ServiceOrQuery, options: GetServiceOptions): Promise<ServiceAddress> {
		const { signal, key } = options;
		const query = toQuery(service);
		throwIfAborted(signal, 'getService');
		if (!this.#setup.scope.isOpen) throw closedError();
		const asked = this.asked(options);
		const { maxAgeMs } = options;
		const known = asked === undefined ? this.#setup.pickers.find(query) : undefined;
		const answerKnown = known?.stored.isYoung(maxAgeMs) ? known.lookUp(key) : undefined;
		if (answerKnown !== undefined) return answerKnown;
		const remaining = timeLeft(options, this.#setup.options);
		const refuse = (error: unknown): Promise<never> => this.#refuse(error, query, remaining().timeoutMs);
		if (asked !== undefined) return this.#ask(asked, query, options).catch(refuse);
		const left = await this.#whenGreeted(options);
		const picker = this.isRemote ? undefined : this.#setup.pickers.open(query, left.timeoutMs);
		// At `subscriptionsMax`, or where it cannot push. While it is away, a stored snapshot is the better choice.
		const isAsked = picker === undefined && !this.#isStoodInFor;
		if (isAsked && this.#sidecar !== undefined) return this.#ask(this.#sidecar, query, left).catch(refuse);
		let snapshot = picker?.stored.read();
		if (picker === undefined || snapshot === undefined || !picker.stored.isYoung(maxAgeMs)) {
			snapshot = await this.#setup.source.get(query, sourceOptions(left, this.#setup.options));
			if (picker === undefined) return this.#pickOnce(query, snapshot, key) ?? refuse(noInstanceError(snapshot));
			if (this.#sidecar === undefined) verifyDirect(picker.stored, snapshot);
			// The answer may be newer than the stored snapshot, which a push is about to replace.
			if (!picker.stored.isYoung(maxAgeMs)) {
				return this.#pickOnce(query, snapshot, key) ?? refuse(noInstanceError(snapshot));
			}
		}
		return picker.lookUp(key) ?? refuse(noInstanceError(snapshot));
	}

	/** Rejects with an error, and with the name that was meant where the service is unknown. */
	async #refuse(error: unknown, query: ServiceQuery, timeoutMs: number): Promise<never> {
		const isAway = this.#sidecar !== undefined && this.#sidecar.connection.state !== 'ready';
		throw isAway ? error : await this.#hints.named(error, query, timeoutMs);
	}

	/** Whether a sidecar pushes is known when it has answered hello: a first lookup waits for that, within its deadline. */
	async #whenGreeted(options: GetServiceOptions): Promise<GetServiceOptions> {
		const sidecar = this.#sidecar;
		if (sidecar === undefined || sidecar.pushes !== undefined || this.#isStoodInFor) return options;
		const left = timeLeft(options, this.#setup.options);
		const refusal = sidecar.connection.refusal('getService');
		if (refusal !== undefined) throw refusal;
		await sidecar.connection.ready(left());
		return left();
	}

	#ask(sidecar: RemoteSource, query: ServiceQuery, options: GetServiceOptions): Promise<ServiceAddress> {
		const { key, maxAgeMs } = options;
		const data: GetServiceData = {
			...query,
			...(key !== undefined && { key }),
			...(maxAgeMs !== undefined && { maxAgeMs }),
		};
		const ages = ageClockOf(this.#setup.options.clock);
		const askedAtMs = ages.now();
		const left = timeLeft(options, this.#setup.options);
		const request = (asked: CallOptions): Promise<ServiceAddress> =>
			this.#given(query, sidecar.call('getService', data, ADDRESS, asked));
		if (maxAgeMs === undefined) return request(options);
		return request(options).then(async (given) => {
			// The reply may have waited for this process.
			const address = ages.waitedMs(askedAtMs) > maxAgeMs ? await request(left()) : given;
			// A sidecar that does not know maxAgeMs has not checked the age.
			assertAge(address.ageMs ?? 0, maxAgeMs, 'service', query.service);
			return address;
		});
	}

	#pickOnce(query: ServiceQuery, snapshot: ServiceSnapshot, key: string | undefined): ServiceAddress | undefined {
		const { options, planner } = this.#setup;
		const plan = planner.plan(query, snapshot, servedInstances(snapshot));
		const chosen = plannedPicker(options.policy, plan, options).pick({ key });
		if (chosen === undefined) return undefined;
		return this.#setup.records.given(query, Object.freeze(toAddress(chosen, snapshot)));
	}

	/** Equal replies are one object, for any service: an address that may be reported needs a copy for each. */
	#given(query: ServiceQuery, answer: Promise<ServiceAddress>): Promise<ServiceAddress> {
		if (this.#asksAlways) return answer;
		return answer.then((address) => this.#setup.records.given(query, Object.freeze({ ...address })));
	}

	/** The common lookup over the wire: its frame is made once for each service. */
	#askByName(sidecar: RemoteSource, service: string, signal: AbortSignal | undefined): Promise<ServiceAddress> {
		let request = this.#requests.get(service);
		if (request === undefined) {
			try {
				request = this.#addressRequest(toQuery(service));
			} catch (error) {
				return Promise.reject(error);
			}
			if (this.#requests.size >= REQUESTS_MAX) this.#requests.clear();
			this.#requests.set(service, request);
		}
		const { func, tail, traits } = request;
		const { timeoutMs } = this.#setup.options;
		return sidecar.connection.call({ func, tail, traits, timeoutMs, signal }) as Promise<ServiceAddress>;
	}

	/**
	 * Equal replies are one address for each service, which can be reported: with a copy for each reply, 64 calls in flight took
	 * 1.3 times as long.
	 */
	#addressRequest(query: ServiceQuery): AddressRequest {
		const tail = encodeRequestTail('getService', encodePayload(query));
		if (this.#asksAlways) return { func: 'getService', tail, traits: ADDRESS };
		const read = (data: unknown): ServiceAddress => this.#setup.records.given(query, readAddress(data));
		return { func: 'getService', tail, traits: makeTraits({ ...ADDRESS, read }) };
	}
}

/** Both are of one source; without a stored snapshot this is the first, since the source is watched for it. */
function verifyDirect(stored: ServicePicker['stored'], snapshot: ServiceSnapshot): void {
	if (stored.current === undefined) stored.put(snapshot);
	else stored.verify(snapshot);
}

/** True for a lookup whose frame depends on nothing but the service's name. */
function isPlain({ key, timeoutMs, maxAgeMs }: GetServiceOptions): boolean {
	return key === undefined && timeoutMs === undefined && maxAgeMs === undefined;
}
