import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import {
	type ConnectionInjector,
	type Metadata,
	Server,
	ServerCredentials,
	status as Status,
	type UntypedHandleCall,
	type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { SpockError } from '@spock/protocol';
import type { TimerHandle } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';

import type { ConnectionOrigin } from '../connection/connection-registry.ts';
import type { LifecycleState } from '../lifecycle/lifecycle-machine.ts';
import type { Front, FrontContext } from '../lifecycle/sidecar-options.ts';
import { plainAddress } from '../listen/bind.ts';
import type { TokenCheck, TokenHolder } from '../listen/tokens.ts';
import { serviceDefinition } from './definitions.ts';
import { discoveryService } from './discovery-service.ts';
import { type FailedStatus, statusOf } from './grpc-status.ts';
import { HEALTH, HealthService } from './health-service.ts';
import { DISCOVERY } from './messages.ts';
import {
	KEEPALIVE_MS,
	KEEPALIVE_TIMEOUT_MS,
	OpenStreams,
	REQUEST_BYTES_MAX,
	RESPONSE_BYTES_MAX,
	STREAMS_PER_CONNECTION_MAX,
} from './open-streams.ts';
import { REFLECTION, reflectionService, SERVED } from './reflection-service.ts';
import { UnaryCalls } from './unary.ts';

/** The bytes that every HTTP/2 connection of a client begins with: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
const PREFACE_BYTES = 24;

const MOVED = 'another sidecar has replaced this one: connect again';
const DRAINING = 'draining: this sidecar is shutting down';

/** A front for gRPC: see docs/GRPC.md. */
export class GrpcFront implements Front {
	readonly #context: FrontContext;
	readonly #health: HealthService;
	readonly #streams: OpenStreams;
	readonly #services: readonly (readonly [name: string, implementation: UntypedServiceImplementation])[];
	readonly #injectors: ConnectionInjector[] = [];
	/** Every connection; true for one that counts against `connectionsMax`, false for a stranger. */
	readonly #sockets = new Map<Duplex, boolean>();
	/** The strangers by their address, which is all that a call knows of its connection. */
	readonly #strangersByPeer = new Map<string, Duplex>();
	/** How streams were let in. */
	readonly #letIn = new WeakMap<object, { readonly tokens: TokenCheck; readonly holder: TokenHolder }>();
	#closed: (() => void) | undefined;
	#closing: Promise<void> | undefined;

	constructor(context: FrontContext) {
		const { clock, observer, limits, isReady } = context;
		this.#context = context;
		const calls = new UnaryCalls({ clock, observer, waitingMax: limits.inFlightMax });
		const answered = (method: string, code: string): void => calls.answered(method, code);
		this.#streams = new OpenStreams({
			clock,
			slowConsumerMs: limits.slowConsumerMs,
			answered,
			refusal: (call) => this.#refusal(call),
		});
		this.#health = new HealthService(isReady, SERVED, clock);
		this.#services = [
			[DISCOVERY, discoveryService(context, calls, this.#streams)],
			[HEALTH, this.#health.implementation(calls, this.#streams)],
			...REFLECTION.map((name) => [name, reflectionService()] as const),
		];
	}

	get connections(): number {
		return this.#sockets.size;
	}

	get streams(): number {
		return this.#streams.size;
	}

	acceptor(origin: ConnectionOrigin): (socket: Duplex) => void {
		const { tokens } = origin;
		const accepted = (call: Call, holder: TokenHolder, isStream: boolean): boolean => {
			if (tokens !== undefined && isStream) this.#letIn.set(call, { tokens, holder });
			return this.#enter(call.getPeer());
		};
		const refused = (method: string): void => this.#context.observer.grpcAnswered?.(method, 'UNAUTHENTICATED');
		const server = new Server({
			'grpc.enable_channelz': 0,
			'grpc.max_concurrent_streams': STREAMS_PER_CONNECTION_MAX,
			'grpc.max_receive_message_length': REQUEST_BYTES_MAX,
			'grpc.max_send_message_length': RESPONSE_BYTES_MAX,
			'grpc.keepalive_time_ms': KEEPALIVE_MS,
			'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
		});
		for (const [name, implementation] of this.#services) {
			// Probes have no token to give, and the health of this process is no secret.
			const isOpen = tokens === undefined || name === HEALTH;
			server.addService(
				serviceDefinition(name),
				isOpen ? implementation : guarded(implementation, tokens, refused, accepted),
			);
		}
		const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
		this.#injectors.push(injector);
		return (socket) => this.#accept(socket, injector, origin);
	}

	phase(state: LifecycleState): void {
		// Before goaway is sent: watchers of health are notified first.
		this.#health.look();
		// A connection is the sign that an app is still there: at an end of this process it is kept until `close`, as those of the
		// sidecar's own protocol are.
		if (state === 'handing over') this.#drain(MOVED, this.#context.limits.drainTimeoutMs);
	}

	close(graceMs: number): Promise<void> {
		this.#closing ??= this.#close(graceMs);
		return this.#closing;
	}

	destroy(): void {
		for (const socket of this.#sockets.keys()) socket.destroy();
	}

	async #close(graceMs: number): Promise<void> {
		this.#drain(DRAINING, graceMs);
		if (this.#sockets.size === 0) return;
		const timer = this.#context.clock.setTimeout(() => this.destroy(), graceMs);
		await new Promise<void>((resolve) => {
			this.#closed = resolve;
		});
		this.#context.clock.clearTimeout(timer);
	}

	/** GOAWAY to every connection, each of which ends with its last call. */
	#drain(why: string, graceMs: number): void {
		this.#streams.close(why);
		for (const injector of this.#injectors) injector.drain(graceMs);
	}

	#accept(socket: Duplex, injector: ConnectionInjector, { tokens, isLocal }: ConnectionOrigin): void {
		const { admission, observer } = this.#context;
		const isStranger = tokens !== undefined && !isLocal;
		if (this.#closing !== undefined || (!isStranger && !admission.enter(isLocal))) {
			socket.on('error', () => undefined);
			socket.destroy();
			if (this.#closing === undefined) observer.connectionRefused?.();
			return;
		}
		this.#sockets.set(socket, !isStranger);
		const peer = isStranger ? peerOf(socket as Socket) : '';
		if (isStranger) {
			this.#context.strangers.add(socket, () => socket.destroy());
			this.#strangersByPeer.set(peer, socket);
		}
		const timer = this.#expectPreface(socket as Socket);
		socket.once('close', () => {
			this.#context.clock.clearTimeout(timer);
			if (this.#sockets.get(socket)) admission.leave(isLocal);
			this.#context.strangers.delete(socket);
			if (this.#strangersByPeer.get(peer) === socket) this.#strangersByPeer.delete(peer);
			this.#sockets.delete(socket);
			if (this.#sockets.size > 0) return;
			this.#closed?.();
			this.#context.emptied();
		});
		// HTTP/2 ends a connection whose client has ended its side.
		(socket as Socket).allowHalfOpen = false;
		injector.injectConnection(socket);
	}

	/** A call from this address has shown a token. False where there is no room for its connection. */
	#enter(peer: string): boolean {
		const socket = this.#strangersByPeer.get(peer);
		if (socket === undefined) return true;
		// Strangers come by the network alone.
		if (!this.#context.admission.enter(false)) {
			this.#context.observer.connectionRefused?.();
			return false;
		}
		this.#context.strangers.delete(socket);
		this.#strangersByPeer.delete(peer);
		this.#sockets.set(socket, true);
		return true;
	}

	/** A stream must not outlive the token that it was opened with. */
	#refusal(call: object): FailedStatus | undefined {
		const letIn = this.#letIn.get(call);
		return letIn === undefined || letIn.tokens.accepts(letIn.holder) ? undefined : REMOVED;
	}

	/** A peer that connects and stays silent takes a connection that another client needs. */
	#expectPreface(socket: Socket): TimerHandle {
		const { clock, limits } = this.#context;
		const timer = clock.setTimeout(() => {
			if (socket.bytesRead < PREFACE_BYTES) socket.destroy();
		}, limits.handshakeMs);
		timer.unref?.();
		return timer;
	}
}

/** The address of a client as grpc-js writes it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
	return formatAddress({ host: plainAddress(remoteAddress ?? ''), port: remotePort ?? 0 });
}

interface Call {
	readonly metadata: Metadata;
	emit(event: 'error', status: FailedStatus): unknown;
	getPeer(): string;
}
type Callback = (status: FailedStatus) => void;

/**
 * The methods of a service, for callers with one of these tokens in `authorization: Bearer TOKEN`. `refused` counts the others;
 * `accepted` is given a good one, and returns whether there is room.
 */
function guarded(
	implementation: UntypedServiceImplementation,
	tokens: TokenCheck,
	refused: (method: string) => void,
	accepted: (call: Call, holder: TokenHolder, isStream: boolean) => boolean,
): UntypedServiceImplementation {
	const methods = Object.entries(implementation).map(([method, handle]) => {
		const guard = (call: Call, callback?: Callback): void => {
			const found = holderOf(call.metadata, tokens);
			const isStream = callback === undefined;
			const refusal = !('digest' in found) ? found : accepted(call, found, isStream) ? undefined : FULL;
			if (refusal === undefined) {
				(handle as (...given: unknown[]) => void)(call, callback);
				return;
			}
			refused(method);
			if (callback === undefined) call.emit('error', refusal);
			else callback(refusal);
		};
		return [method, guard as unknown as UntypedHandleCall] as const;
	});
	return Object.fromEntries(methods);
}

const FULL: FailedStatus = statusOf(
	new SpockError('OVERLOADED', 'too many clients are connected: retry later, or raise connectionsMax'),
);

const REMOVED = refusalWith('the token of this call is not accepted any more: call again with another');

/** Whom the token of a call stands for; or why its caller is refused, which contains no part of what it sent. */
function holderOf(metadata: Metadata, tokens: TokenCheck): TokenHolder | FailedStatus {
	const [given] = metadata.get('authorization');
	const [, token] = /^bearer +(\S+)$/i.exec(typeof given === 'string' ? given : '') ?? [];
	const holder = token === undefined ? undefined : tokens.find(token);
	if (holder !== undefined) return holder;
	return refusalWith(
		given === undefined
			? 'this listener requires a token in the metadata: authorization: Bearer TOKEN'
			: 'this sidecar does not accept the token in the metadata: authorization: Bearer TOKEN',
	);
}

function refusalWith(message: string): FailedStatus {
	return { ...statusOf(new SpockError('ACL_DENIED', message)), code: Status.UNAUTHENTICATED };
}
