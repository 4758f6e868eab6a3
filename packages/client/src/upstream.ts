// For a sidecar that asks another sidecar: a client of its own kind. Outside semver.
import type {
	CallOptions,
	Hop,
	KeyQuery,
	KeySnapshot,
	KeySource,
	ServiceQuery,
	ServiceRegistrar,
	ServiceSnapshot,
	ServiceSource,
} from '@spock/protocol';
import { isObject, systemClock } from '@spock/protocol/internal';

import type { Session } from './connection/session.ts';
import { type DiplomatOptions, resolveOptions } from './foundation/options.ts';
import { RemoteSource } from './sources/remote-source.ts';
import { type PlaceStatus, Rotation, type UpstreamCounts, type UpstreamPlace } from './upstream-rotation.ts';

export type { PlaceStatus, UpstreamCounts, UpstreamFailure, UpstreamPlace } from './upstream-rotation.ts';

/** Most sidecars in a row that are read of an answer to hello. */
const HOPS_MAX = 16;
/** Longest instance and address of one of them. */
const HOP_LENGTH_MAX = 512;
/** What is not subscribed to any more ends after this: the sidecar that asks has a cache of its own. */
const IDLE_SUBSCRIPTION_MS = 1000;
/** The cache of the sidecar that asks has a limit of its own. */
const SUBSCRIPTIONS_MAX = 2 ** 24;

/** What answered hello. */
export interface UpstreamPeer {
	/** Where it is. */
	readonly place: UpstreamPlace;
	/** Of its hello; empty for a baseline sidecar, which says none. */
	readonly instance: string;
	/** The sidecars that it asks itself, nearest first. */
	readonly upstreams: readonly Hop[];
	/** This end of the connection, where it is TCP. */
	readonly localHost: string | undefined;
}

/** Options of {@link openUpstream}. */
export interface UpstreamOptions extends Omit<DiplomatOptions, 'path' | 'host' | 'port' | 'transport'> {
	/** At least one. The first that answers is used until it fails; then the next. */
	readonly places: readonly UpstreamPlace[];
	/** The `instance` of the sidecar that asks: the other one refuses it where that would close a loop. */
	readonly sidecar: string;
	/** A sidecar has answered hello. Called before any of its answers is read. Must not throw. */
	readonly adopted?: (peer: UpstreamPeer) => void;
	/** The connection is lost, and no other has taken its place. The sidecar sent its last byte at this time of the age clock. */
	readonly lost?: (heardAtMs: number) => void;
}

/** Another sidecar, as a source. The caller closes it. */
export interface Upstream extends ServiceSource {
	readonly keys: KeySource;
	readonly registrar: ServiceRegistrar;
	/** What the other sidecar answers when it has its registry confirm this now; never from memory. */
	verifyService(query: ServiceQuery, options: CallOptions): Promise<ServiceSnapshot>;
	/** The same of a key. */
	verifyKey(query: KeyQuery, options: CallOptions): Promise<KeySnapshot>;
	/** Callers wait for this service, whose subscription was refused: asks for it now, and not after the back-off. */
	retryService(query: ServiceQuery): void;
	/** The same of a key. */
	retryKey(query: KeyQuery): void;
	/** True while a sidecar is connected to that has answered hello. */
	readonly isReady: boolean;
	/** False while it is an older one on another machine, whose times are by a clock that may differ. */
	readonly knowsTime: boolean;
	/** For people: why there is no connection now. */
	whyNotReady(): string;
	/** Every place, in order. */
	places(): readonly PlaceStatus[];
	/** What became of the connections, since the start. */
	counts(): UpstreamCounts;
}

/** Connects to one of several sidecars in the background, and again whenever that is needed. Throws for a wrong option. */
export function openUpstream(options: UpstreamOptions): Upstream {
	const { places, sidecar, adopted, lost, ...others } = options;
	const [first] = places;
	if (first === undefined) throw new TypeError('places must name at least one sidecar');
	const rotation = new Rotation(places, first, others.clock ?? systemClock);
	const { address } = first;
	const where = 'path' in address ? { path: address.path } : { host: address.host, port: address.port };
	const resolved = Object.freeze({
		...resolveOptions({
			idleSubscriptionMs: IDLE_SUBSCRIPTION_MS,
			subscriptionsMax: SUBSCRIPTIONS_MAX,
			...others,
			...where,
			transport: rotation.transport,
		}),
		sidecar,
	});
	const source = new UpstreamSource(resolved, options.fallback, rotation, { adopted, lost });
	source.connection.start();
	return source;
}

type Listener = { readonly [Name in 'adopted' | 'lost']: UpstreamOptions[Name] | undefined };

class UpstreamSource extends RemoteSource implements Upstream {
	readonly #rotation: Rotation;
	readonly #listener: Listener;

	constructor(
		options: ConstructorParameters<typeof RemoteSource>[0],
		fallback: DiplomatOptions['fallback'],
		rotation: Rotation,
		listener: Listener,
	) {
		super(options, fallback);
		this.#rotation = rotation;
		this.#listener = listener;
		rotation.lastError = () => this.connection.lastError;
	}

	verifyService(query: ServiceQuery, options: CallOptions): Promise<ServiceSnapshot> {
		return this.services.reader.fetch(query, { ...options, maxAgeMs: 0 });
	}

	verifyKey(query: KeyQuery, options: CallOptions): Promise<KeySnapshot> {
		return this.keys.reader.fetch(query, { ...options, maxAgeMs: 0 });
	}

	retryService(query: ServiceQuery): void {
		this.services.retry(query);
	}

	retryKey(query: KeyQuery): void {
		this.keys.retry(query);
	}

	get isReady(): boolean {
		return this.connection.state === 'ready';
	}

	get knowsTime(): boolean {
		return this.services.session?.knowsTime === true;
	}

	whyNotReady(): string {
		return this.#rotation.describe();
	}

	places(): readonly PlaceStatus[] {
		return this.#rotation.status();
	}

	counts(): UpstreamCounts {
		return this.#rotation.counts();
	}

	override adopted(session: Session): void {
		const { instance, upstreams } = session.greeting ?? {};
		const { current: place, localHost } = this.#rotation;
		this.#rotation.worked();
		this.#listener.adopted?.({
			place,
			instance: instance ?? '',
			upstreams: readHops(upstreams),
			localHost: localHost(),
		});
		super.adopted(session);
	}

	override lost(verifiedAtMs: number): void {
		this.#listener.lost?.(verifiedAtMs);
		super.lost(verifiedAtMs);
	}
}

function readHops(data: unknown): readonly Hop[] {
	if (!Array.isArray(data)) return [];
	return data.slice(0, HOPS_MAX).flatMap((hop: unknown) => {
		if (!isObject(hop)) return [];
		const { instance, address } = hop;
		return isHopText(instance) && isHopText(address) ? [{ instance, address }] : [];
	});
}

/** They are passed on to other sidecars, and shown. */
function isHopText(value: unknown): value is string {
	return typeof value === 'string' && value.length <= HOP_LENGTH_MAX && !/\p{Cc}/u.test(value);
}
