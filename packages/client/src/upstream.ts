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
import { type Clock, isObject, systemClock } from '@spock/protocol/internal';
import type { SocketAddress } from '@spock/protocol/node';

import type { Session } from './connection/session.ts';
import { type DiplomatOptions, resolveOptions } from './foundation/options.ts';
import { socketTransport, type Transport } from './foundation/transport.ts';
import { RemoteSource } from './sources/remote-source.ts';

/** Most sidecars in a row that are read of an answer to hello. */
const HOPS_MAX = 16;
/** Longest instance and address of one of them. */
const HOP_LENGTH_MAX = 512;
/** What is not subscribed to any more ends after this: the sidecar that asks has a cache of its own. */
const IDLE_SUBSCRIPTION_MS = 1000;
/** The cache of the sidecar that asks has a limit of its own. */
const SUBSCRIPTIONS_MAX = 2 ** 24;
/** A connection that held this long is made to the same place again when it is lost. */
const STABLE_MS = 5000;

/** Where a sidecar that can be asked listens. */
export interface UpstreamPlace {
	/** For people: `tls://10.0.0.1:7070`. */
	readonly name: string;
	readonly address: SocketAddress;
	/** Default: a socket of node:net. */
	readonly transport?: Transport;
}

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
	/** The connection is lost, and no other has taken its place. */
	readonly lost?: () => void;
}

/** Another sidecar, as a source. The caller closes it. */
export interface Upstream extends ServiceSource {
	readonly keys: KeySource;
	readonly registrar: ServiceRegistrar;
	/** What the other sidecar answers when it has its registry confirm this now; never from memory. */
	verifyService(query: ServiceQuery, options: CallOptions): Promise<ServiceSnapshot>;
	/** The same of a key. */
	verifyKey(query: KeyQuery, options: CallOptions): Promise<KeySnapshot>;
	/** True while a sidecar is connected to that has answered hello. */
	readonly isReady: boolean;
	/** For people: why there is no connection now. */
	whyNotReady(): string;
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

/** Which of the places is dialled: the same again after a connection that worked, the next one after any other. */
class Rotation {
	/** Where the newest connection goes. */
	current: UpstreamPlace;
	localHost: () => string | undefined = () => undefined;
	/** Why the connection that was closed last has ended. */
	lastError: () => string | undefined = () => undefined;
	readonly transport: Transport;
	/** Why each place was of no use since one worked. */
	readonly #errors = new Map<UpstreamPlace, string>();
	readonly #places: readonly UpstreamPlace[];
	#index = 0;
	readonly #clock: Clock;
	/** When the newest connection was greeted; undefined until it is. */
	#workedAtMs: number | undefined;
	#isFirst = true;

	constructor(places: readonly UpstreamPlace[], first: UpstreamPlace, clock: Clock) {
		this.#clock = clock;
		this.#places = places;
		this.current = first;
		const open: Transport = (_address, receive) => {
			const place = this.#next();
			const { address, transport = socketTransport } = place;
			const stream = transport(address, receive);
			// Behind the client's own listener, which knows the reason.
			stream.once('close', () => queueMicrotask(() => this.#failed(place)));
			this.localHost = () => (stream as { localAddress?: string }).localAddress;
			return stream;
		};
		this.transport = Object.assign(open, {
			mark: () => {
				const { address, transport = socketTransport } = this.current;
				return transport.mark?.(address);
			},
		});
	}

	/** The connection that was opened last has been greeted. */
	worked(): void {
		this.#workedAtMs = this.#clock.now();
		this.#errors.clear();
	}

	/** For people: what is wrong with each place. */
	describe(): string {
		const wrong = this.#places.flatMap((place) => {
			const error = this.#errors.get(place);
			return error === undefined ? [] : [`${place.name}: ${error}`];
		});
		return wrong.length > 0 ? wrong.join('; ') : `${this.current.name}: no answer yet`;
	}

	#failed(place: UpstreamPlace): void {
		this.#errors.set(place, this.lastError() ?? 'the connection was closed');
	}

	#next(): UpstreamPlace {
		// One that was greeted and ended soon may do so for ever.
		const wasStable = this.#workedAtMs !== undefined && this.#clock.now() - this.#workedAtMs >= STABLE_MS;
		if (!this.#isFirst && !wasStable) this.#index = (this.#index + 1) % this.#places.length;
		this.#isFirst = false;
		this.#workedAtMs = undefined;
		this.current = this.#places[this.#index] ?? this.current;
		return this.current;
	}
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
		rotation.lastError = () => this.connection.lastError?.message;
	}

	verifyService(query: ServiceQuery, options: CallOptions): Promise<ServiceSnapshot> {
		return this.services.reader.fetch(query, { ...options, maxAgeMs: 0 });
	}

	verifyKey(query: KeyQuery, options: CallOptions): Promise<KeySnapshot> {
		return this.keys.reader.fetch(query, { ...options, maxAgeMs: 0 });
	}

	get isReady(): boolean {
		return this.connection.state === 'ready';
	}

	whyNotReady(): string {
		return this.#rotation.describe();
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
		this.#listener.lost?.();
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
