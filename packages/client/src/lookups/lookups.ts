import { createPicker, explain, inspectionOf, noInstanceError, toAddress } from '@spock/balancer';
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
	tooOldError,
} from '@spock/protocol';

import { throwIfAborted } from '../calls/call.ts';
import { QUESTION } from '../calls/call-traits.ts';
import { closedError } from '../foundation/closed-error.ts';
import type { ResolvedOptions } from '../foundation/options.ts';
import type { Scope } from '../foundation/scope.ts';
import { timeLeft } from '../foundation/time-left.ts';
import { ADDRESS } from '../snapshots/snapshot-traits.ts';
import type { FallbackSource } from '../sources/fallback-source.ts';
import type { SidecarSource } from '../sources/sidecar-source.ts';
import type { InstanceRecords } from './instance-records.ts';
import {
	checkCallOptions,
	type GetServiceOptions,
	type LookupOptions,
	type ServiceOrQuery,
	sourceOptions,
	toQuery,
} from './lookup-options.ts';
import type { ServiceViews } from './service-views.ts';

/** Requests for one address whose frame is remembered, by the name of the service. */
const TAILS_MAX = 1024;

/** What lookups need; all of it is the client's. */
export interface LookupsSetup {
	readonly options: ResolvedOptions;
	/** Lookups are refused when it has ended. */
	readonly scope: Scope;
	readonly views: ServiceViews;
	readonly records: InstanceRecords;
	readonly source: ServiceSource;
	/** The source when it is a sidecar; undefined in direct mode. */
	readonly sidecar: SidecarSource | undefined;
	/** The source, when it is a sidecar with another one to stand in for it. */
	readonly fallback: FallbackSource | undefined;
}

/** Lookups of one address that are not answered by a view at once: what has to be waited or asked for. */
export class Lookups {
	readonly #setup: LookupsSetup;
	/** Fields of their own: every lookup looks at them. */
	readonly #sidecar: SidecarSource | undefined;
	readonly #asksAlways: boolean;
	readonly #tails = new Map<string, string>();

	constructor(setup: LookupsSetup) {
		this.#setup = setup;
		this.#sidecar = setup.sidecar;
		this.#asksAlways = setup.options.lookups === 'remote';
	}

	/** The sidecar, if this lookup goes over the wire: as every other, or because its caller wants it so. */
	asked(options: LookupOptions | undefined): SidecarSource | undefined {
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

	/** `diplomat.explain`: what the sidecar or the source answers, with what is known here. `complete` is for a source. */
	async explain(query: ServiceQuery, options: CallOptions, complete: ReadOptions): Promise<ExplainReply> {
		const { views, source } = this.#setup;
		if (this.#sidecar !== undefined && !this.#isStoodInFor) {
			return views.explain(query, await this.#sidecar.call('explain', query, QUESTION, options));
		}
		const inspection = (await source.inspect?.(query, complete)) ?? inspectionOf(await source.get(query, complete));
		return views.explain(query, explain(query, inspection));
	}

	/** True when lookups go over the wire one by one: by option, or because the sidecar cannot push. */
	get isRemote(): boolean {
		const sidecar = this.#sidecar;
		return sidecar !== undefined && (this.#asksAlways || sidecar.pushes === false) && !this.#isStoodInFor;
	}

	/** True while the sidecar is away and a fallback stands in for it. */
	get #isStoodInFor(): boolean {
		return this.#setup.fallback?.isAway === true;
	}

	async #lookUp(service: ServiceOrQuery, options: GetServiceOptions): Promise<ServiceAddress> {
		const { signal, key } = options;
		const query = toQuery(service);
		throwIfAborted(signal, 'getService');
		if (!this.#setup.scope.isOpen) throw closedError();
		const asked = this.asked(options);
		if (asked !== undefined) return this.#ask(asked, query, options);
		const { maxAgeMs } = options;
		const known = this.#setup.views.find(query);
		const answerKnown = maxAgeMs === undefined || known?.isWithin(maxAgeMs) ? known?.lookUp(key) : undefined;
		if (answerKnown !== undefined) return answerKnown;
		const left = await this.#whenGreeted(options);
		const view = this.isRemote ? undefined : this.#setup.views.open(query);
		// At `subscriptionsMax`, or where it cannot push. One that is away is no better asked than where a view waits for it.
		const isAsked = view === undefined && !this.#isStoodInFor;
		if (isAsked && this.#sidecar !== undefined) return this.#ask(this.#sidecar, query, left);
		if (view === undefined || !view.known || (maxAgeMs !== undefined && !view.isWithin(maxAgeMs))) {
			const snapshot = await this.#setup.source.get(query, sourceOptions(left, this.#setup.options));
			if (view === undefined) return this.#pickOnce(query, snapshot, key);
			if (!view.known) view.accept(snapshot);
			view.renew(snapshot);
			// What was asked for may say something else than what is known here, which a push is about to replace.
			if (maxAgeMs !== undefined && !view.isWithin(maxAgeMs)) return this.#pickOnce(query, snapshot, key);
		}
		const answer = view.lookUp(key);
		if (answer === undefined) throw view.noInstanceError();
		return answer;
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

	#ask(sidecar: SidecarSource, query: ServiceQuery, options: GetServiceOptions): Promise<ServiceAddress> {
		const { key, maxAgeMs } = options;
		const data: GetServiceData = {
			...query,
			...(key !== undefined && { key }),
			...(maxAgeMs !== undefined && { maxAgeMs }),
		};
		const answer = this.#given(query, sidecar.call('getService', data, ADDRESS, options));
		if (maxAgeMs === undefined) return answer;
		// A sidecar that knows nothing of maxAgeMs has looked at no age.
		return answer.then((address) => {
			const { ageMs = 0 } = address;
			if (ageMs > maxAgeMs) throw tooOldError('service', query.service, ageMs, maxAgeMs);
			return address;
		});
	}

	#pickOnce(query: ServiceQuery, snapshot: ServiceSnapshot, key: string | undefined): ServiceAddress {
		const { policy, random } = this.#setup.options;
		const chosen = createPicker(policy, snapshot, { random }).pick({ key });
		if (chosen === undefined) throw noInstanceError(snapshot);
		return this.#setup.records.given(query, Object.freeze(toAddress(chosen, snapshot)));
	}

	/** Equal replies are one object, whatever service they are about: of what may be reported there is a copy for each. */
	#given(query: ServiceQuery, answer: Promise<ServiceAddress>): Promise<ServiceAddress> {
		if (this.#asksAlways) return answer;
		return answer.then((address) => this.#setup.records.given(query, Object.freeze({ ...address })));
	}

	/** The common lookup over the wire: its frame is made once for each service. */
	#askByName(sidecar: SidecarSource, service: string, signal: AbortSignal | undefined): Promise<ServiceAddress> {
		let tail = this.#tails.get(service);
		if (tail === undefined) {
			try {
				tail = encodeRequestTail('getService', encodePayload(toQuery(service)));
			} catch (error) {
				return Promise.reject(error);
			}
			if (this.#tails.size >= TAILS_MAX) this.#tails.clear();
			this.#tails.set(service, tail);
		}
		const { timeoutMs } = this.#setup.options;
		const request = { func: 'getService', tail, traits: ADDRESS, timeoutMs, signal };
		return this.#given({ service }, sidecar.connection.call(request) as Promise<ServiceAddress>);
	}
}

/** True for a lookup whose frame depends on nothing but the service's name. */
function isPlain({ key, timeoutMs, maxAgeMs }: GetServiceOptions): boolean {
	return key === undefined && timeoutMs === undefined && maxAgeMs === undefined;
}
