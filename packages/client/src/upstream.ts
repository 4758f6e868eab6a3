// For a sidecar that asks another sidecar: a client of its own kind. Outside semver.
import type { Hop, KeySource, ServiceRegistrar, ServiceSource } from '@spock/protocol';
import { isObject } from '@spock/protocol/internal';
import type { SocketAddress } from '@spock/protocol/node';

import type { Session } from './connection/session.ts';
import { type DiplomatOptions, resolveOptions } from './foundation/options.ts';
import { socketTransport, type Transport } from './foundation/transport.ts';
import { RemoteSource } from './sources/remote-source.ts';

/** Most sidecars in a row that are read of an answer to hello. */
const HOPS_MAX = 16;

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
	const rotation = new Rotation(places, first);
	const { address } = first;
	const where = 'path' in address ? { path: address.path } : { host: address.host, port: address.port };
	const resolved = Object.freeze({
		...resolveOptions({ ...others, ...where, transport: rotation.transport }),
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
	readonly transport: Transport;
	readonly #places: readonly UpstreamPlace[];
	#index = 0;
	#isUsable = true;

	constructor(places: readonly UpstreamPlace[], first: UpstreamPlace) {
		this.#places = places;
		this.current = first;
		const open: Transport = (_address, receive) => {
			const { address, transport = socketTransport } = this.#next();
			const stream = transport(address, receive);
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
		this.#isUsable = true;
	}

	#next(): UpstreamPlace {
		if (!this.#isUsable) this.#index = (this.#index + 1) % this.#places.length;
		this.#isUsable = false;
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
	}

	get isReady(): boolean {
		return this.connection.state === 'ready';
	}

	whyNotReady(): string {
		const why = this.connection.lastError?.message ?? 'no answer yet';
		return `${this.#rotation.current.name}: ${why}`;
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
		return typeof instance === 'string' && typeof address === 'string' ? [{ instance, address }] : [];
	});
}
