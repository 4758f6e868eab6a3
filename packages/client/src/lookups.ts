import { createPicker, noInstanceError, toAddress } from '@spock/balancer';
import {
	encodePayload,
	encodeRequestTail,
	type GetServiceData,
	type ServiceAddress,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	tooOldError,
} from '@spock/protocol';

import { throwIfAborted } from './call.ts';
import { ADDRESS } from './call-traits.ts';
import { closedError } from './closed-error.ts';
import type { FallbackSource } from './fallback-source.ts';
import {
	checkCallOptions,
	type GetServiceOptions,
	type LookupOptions,
	type ServiceOrQuery,
	sourceOptions,
	toQuery,
} from './lookup-options.ts';
import type { ResolvedOptions } from './options.ts';
import type { Scope } from './scope.ts';
import { ServiceViews } from './service-views.ts';
import type { SidecarSource } from './sidecar-source.ts';
import { timeLeft } from './time-left.ts';

/** Requests for one address whose frame is remembered, by the name of the service. */
const TAILS_MAX = 1024;

/** What `diplomat.pick` is told besides the service. */
export interface PickOptions {
	/** As for `getService`. */
	readonly key?: string;
	/** As for `getService`. */
	readonly maxAgeMs?: number;
}

/** Lookups of one address: picked in this process where a snapshot is known, else asked for. */
export class Lookups {
	readonly #options: ResolvedOptions;
	readonly #scope: Scope;
	readonly #source: ServiceSource;
	readonly #sidecar: SidecarSource | undefined;
	readonly #fallback: FallbackSource | undefined;
	readonly #views: ServiceViews;
	readonly #tails = new Map<string, string>();

	/** Lookups are refused when the scope has ended; `pick` goes on with what is known until `close`. */
	constructor(
		options: ResolvedOptions,
		scope: Scope,
		source: ServiceSource,
		sidecar: SidecarSource | undefined,
		fallback: FallbackSource | undefined,
	) {
		this.#options = options;
		this.#scope = scope;
		this.#source = source;
		this.#sidecar = sidecar;
		this.#fallback = fallback;
		this.#views = new ServiceViews(source, options);
	}

	/** The sidecar, if this lookup goes over the wire: as every other, or because its caller wants it so. */
	asked(options: LookupOptions | undefined): SidecarSource | undefined {
		return options?.fresh === true || this.#isRemote ? this.#sidecar : undefined;
	}

	/** Services that are watched for lookups. */
	get viewCount(): number {
		return this.#views.count;
	}

	/** `diplomat.getService`. */
	getService(service: ServiceOrQuery, options: GetServiceOptions | undefined): Promise<ServiceAddress> {
		if (options === undefined) {
			// After the end there are no views, and while a sidecar cannot push theirs are outdated.
			const isLocal = this.#scope.isOpen && !this.#isRemote;
			const answer = isLocal ? this.#views.find(service)?.lookUp() : undefined;
			if (answer !== undefined) return answer;
		} else checkCallOptions(options);
		const asked =
			this.#scope.isOpen && typeof service === 'string' && isPlain(options) ? this.asked(options) : undefined;
		if (asked !== undefined) return this.#askByName(asked, service as string, options?.signal);
		return this.#lookUp(service, options ?? {});
	}

	/** `diplomat.pick`. */
	pick(service: ServiceOrQuery, options: PickOptions | undefined): ServiceAddress | undefined {
		const view = this.#views.find(service) ?? (this.#scope.isOpen ? this.#views.open(toQuery(service)) : undefined);
		if (options?.maxAgeMs !== undefined) {
			checkCallOptions(options);
			if (view?.isWithin(options.maxAgeMs) !== true) return undefined;
		}
		return view?.pick(options?.key);
	}

	/** Ends the watches; idempotent. */
	close(): void {
		this.#views.close();
	}

	/** True when lookups go over the wire one by one: by option, or because the sidecar cannot push. */
	get #isRemote(): boolean {
		const isByNature = this.#options.lookups === 'remote' || this.#sidecar?.pushes === false;
		return isByNature && this.#sidecar !== undefined && !this.#isStoodInFor;
	}

	/** True while the sidecar is away and a fallback stands in for it. */
	get #isStoodInFor(): boolean {
		return this.#fallback?.isAway === true;
	}

	async #lookUp(service: ServiceOrQuery, options: GetServiceOptions): Promise<ServiceAddress> {
		const { signal, key } = options;
		const query = toQuery(service);
		throwIfAborted(signal, 'getService');
		if (!this.#scope.isOpen) throw closedError();
		const asked = this.asked(options);
		if (asked !== undefined) return this.#ask(asked, query, options);
		const { maxAgeMs } = options;
		const known = this.#views.find(query);
		const answerKnown = maxAgeMs === undefined || known?.isWithin(maxAgeMs) ? known?.lookUp(key) : undefined;
		if (answerKnown !== undefined) return answerKnown;
		const left = await this.#whenGreeted(options);
		const view = this.#isRemote ? undefined : this.#views.open(query);
		if (view === undefined && this.#sidecar !== undefined) return this.#ask(this.#sidecar, query, left);
		if (view === undefined || !view.known || (maxAgeMs !== undefined && !view.isWithin(maxAgeMs))) {
			const snapshot = await this.#source.get(query, sourceOptions(left, this.#options));
			if (view === undefined) return this.#pickOnce(snapshot, key);
			if (!view.known) view.accept(snapshot);
			view.renew(snapshot);
			// What was asked for may say something else than what is known here, which a push is about to replace.
			if (maxAgeMs !== undefined && !view.isWithin(maxAgeMs)) return this.#pickOnce(snapshot, key);
		}
		const answer = view.lookUp(key);
		if (answer === undefined) throw view.noInstanceError();
		return answer;
	}

	/** Whether a sidecar pushes is known when it has answered hello: a first lookup waits for that, within its deadline. */
	async #whenGreeted(options: GetServiceOptions): Promise<GetServiceOptions> {
		const sidecar = this.#sidecar;
		if (sidecar === undefined || sidecar.pushes !== undefined || this.#isStoodInFor) return options;
		const left = timeLeft(options, this.#options);
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
		const answer = sidecar.call('getService', data, ADDRESS, options);
		if (maxAgeMs === undefined) return answer;
		// A sidecar that knows nothing of maxAgeMs has looked at no age.
		return answer.then((address) => {
			const { ageMs = 0 } = address;
			if (ageMs > maxAgeMs) throw tooOldError('service', query.service, ageMs, maxAgeMs);
			return address;
		});
	}

	#pickOnce(snapshot: ServiceSnapshot, key: string | undefined): ServiceAddress {
		const { policy, random } = this.#options;
		const chosen = createPicker(policy, snapshot, { random }).pick({ key });
		if (chosen === undefined) throw noInstanceError(snapshot);
		return toAddress(chosen, snapshot);
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
		const { timeoutMs } = this.#options;
		const request = { func: 'getService', tail, traits: ADDRESS, timeoutMs, signal };
		return sidecar.connection.call(request) as Promise<ServiceAddress>;
	}
}

/** True for a lookup whose frame depends on nothing but the service's name. */
function isPlain(options: GetServiceOptions | undefined): boolean {
	return options?.key === undefined && options?.timeoutMs === undefined && options?.maxAgeMs === undefined;
}
