import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';

import {
	type ClientStatus,
	encodePayload,
	encodePush,
	type GoawayData,
	type HelloData,
	type KeyQuery,
	type KeySnapshot,
	type RegistrationReply,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	SpockError,
	type WatcherStatus,
} from '@spock/protocol';
import { FramedSocket, type Packing } from '@spock/protocol/node';

import type { CloseReason } from '../foundation/observer.ts';
import type { TokenCheck } from '../listen/tokens.ts';
import type { LoadedConnection } from '../overload/overload.ts';
import { ReadGate, type ReadGateContext } from '../overload/read-gate.ts';
import type { Answer, Answered, RequestContext } from './answer.ts';
import { ConnectionEnd } from './connection-end.ts';
import { type ConnectionFacts, type PeerFacts, peerFactsOf, type WatchedFacts } from './connection-facts.ts';
import { ConnectionInput, TOKEN_HELLO_BYTES_MAX } from './connection-input.ts';
import type { EventLine, EventSession, EventSessions } from './event-session.ts';
import { PackedInput, type PackedInputs } from './packed-input.ts';
import { Pushes, registrationPush } from './pushes.ts';
import { Requests, type RequestsContext, type RequestsPort } from './requests.ts';
import { SilenceWatch } from './silence-watch.ts';
import type { SnapshotPush } from './snapshot-delta.ts';
import { keyPayloadOf, type SnapshotReading, snapshotAnswer } from './snapshot-text.ts';

/** Unread output above which pushes wait for the client, newest only; replies do not wait. */
const PUSH_BUSY_BYTES = 65_536;

/** What every connection shares. */
export interface ConnectionContext extends RequestsContext, ReadGateContext {
	readonly source: ServiceSource;
	/** What takes and delivers events. Undefined: none are. */
	readonly events?: EventSessions | undefined;
	readonly packedInputs: PackedInputs;
	/** A snapshot was pushed. */
	readonly pushed: (push: SnapshotPush) => void;
	/** Called once, when the connection is gone. */
	readonly closed: (connection: AcceptedConnection, reason: CloseReason) => void;
	/** Its client was silent for too long, for this reason; undefined: it is heard again. */
	readonly silent: (connection: AcceptedConnection, reason: string | undefined) => void;
}

/** The admission of a connection. */
export interface ConnectionGate {
	/** Nothing is answered before a hello with one of them. Undefined: no token is required. */
	readonly tokens: TokenCheck | undefined;
	/** It has sent a valid token. Returns false if there is no room for it. */
	readonly enter: () => boolean;
}

/** One client: its frames, requests in flight and subscriptions. Nothing that it sends can throw past this class. */
export class AcceptedConnection implements RequestsPort, LoadedConnection, EventLine {
	readonly id: number;
	frameBytesMax: number;
	identity: string | undefined = undefined;
	app: string | undefined = undefined;
	readonly #context: ConnectionContext;
	readonly #openedAtMs: number;
	readonly #peer: PeerFacts;
	readonly #framed: FramedSocket;
	readonly #requests: Requests;
	readonly #pushes: Pushes;
	readonly #readGate: ReadGate;
	readonly #input: ConnectionInput;
	readonly #end: ConnectionEnd;
	readonly #silence: SilenceWatch;
	readonly #packed: PackedInput;
	/** The window that it was sent last. */
	#window: number;
	#handledBefore = 0;
	/** Made when first needed: most connections have no events. */
	#events: EventSession | undefined;
	#hello: HelloData | undefined;
	#reading: SnapshotReading;
	/** Why the client must leave, also one that sends its hello later. */
	#away: GoawayData | undefined;

	constructor(id: number, socket: Duplex, context: ConnectionContext, { tokens, enter }: ConnectionGate) {
		this.id = id;
		this.#openedAtMs = context.clock.now();
		this.#peer = peerFactsOf(socket);
		this.frameBytesMax = context.limits.frameBytesMax;
		this.#reading = { frameBytesMax: this.frameBytesMax, deltas: false, parts: false };
		this.#context = context;
		this.#window = context.limits.inFlightMax;
		this.#requests = new Requests(context, this);
		this.#pushes = new Pushes(
			context.source,
			{
				isBusy: () => this.#framed.bufferedBytes > PUSH_BUSY_BYTES,
				push: (push) => {
					context.pushed(push);
					for (const line of push.lines) this.send(line);
				},
				superseded: () => context.observer.pushed?.('superseded'),
				reading: () => this.#reading,
				oversize: (name, refusal) => context.observer.oversize?.(id, name, refusal),
				now: () => context.clock.now(),
				asker: id,
				full: () => context.limited('subscriptionsMax'),
			},
			context.limits.subscriptionsMax,
		);
		this.#framed = new FramedSocket(
			socket,
			{
				frame: (text, bytes) => this.#input.frame(text, bytes),
				numbered: (id, rest) => this.#input.numbered(id, rest),
				chunkRead: () => {
					this.#silence.chunkRead();
					this.#requests.chunkRead();
					this.#readGate.chunkRead();
				},
				fault: (code, message) => this.#input.fault(code, message),
				drained: () => {
					this.#readGate.drained();
					this.#pushes.flush();
				},
				ended: () => this.#end.peerEnded(),
				closed: (error) => {
					this.#silence.stop();
					this.#packed.closed();
					this.#input.closed();
					this.#events?.closed();
					context.closed(this, this.#end.closed(error));
				},
			},
			{
				frameBytesMax: tokens === undefined ? this.frameBytesMax : Math.min(this.frameBytesMax, TOKEN_HELLO_BYTES_MAX),
			},
		);
		this.#readGate = new ReadGate(
			this.#framed,
			context,
			() => this.destroy('slow-consumer'),
			() => this.#end.settled(),
		);
		const { clock, limits, limited } = context;
		const isRemote = this.#peer.address !== null;
		this.#packed = new PackedInput(this.#framed, socket, isRemote ? context.packedInputs : undefined, (message) =>
			this.#input.fault('BAD_FRAME', message),
		);
		this.#silence = new SilenceWatch(clock, {
			bytesRead: () => this.#framed.bytesRead,
			silent: (silentMs) => this.#silent(silentMs, isRemote),
			heard: () => {
				context.observer.silent?.(this.who(), null);
				context.silent(this, undefined);
			},
		});
		const parts = { framed: this.#framed, requests: this.#requests, readGate: this.#readGate };
		this.#end = new ConnectionEnd({ ...parts, pushes: this.#pushes, clock, slowConsumerMs: limits.slowConsumerMs });
		this.#input = new ConnectionInput(
			{
				...parts,
				end: this.#end,
				limits,
				limited,
				enter: ({ app }) => {
					this.app = app;
					return enter();
				},
				openedAtMs: this.#openedAtMs,
				events: () => this.events,
				// While it is not read, nothing is heard.
				becameUplink: () => this.#silence.stop(),
				failed: (func, cause) => context.observer.fault?.(func, cause),
			},
			tokens,
		);
	}

	/** Subscriptions of this client. */
	get subscriptions(): number {
		return this.#pushes.size;
	}

	/** How many subscriptions, made or refused, are too long for this client. */
	get oversizeSubscriptions(): number {
		return this.#pushes.oversizeCount;
	}

	/** Requests that wait for an answer. */
	get inFlight(): number {
		return this.#requests.waiting;
	}

	get bytesRead(): number {
		return this.#framed.bytesRead;
	}

	get bytesWritten(): number {
		return this.#framed.bytesWritten;
	}

	get outputBytes(): number {
		return this.#framed.bufferedBytes;
	}

	/** True while it is not read, because its client has too much unread output. */
	get isSlow(): boolean {
		return this.#readGate.isSlow;
	}

	get window(): number | undefined {
		return this.#hello?.features?.includes('window') ? this.#window : undefined;
	}

	get events(): EventSession {
		this.#events ??= this.#context.events?.session(this);
		if (this.#events !== undefined) return this.#events;
		const message = 'this sidecar takes no events: start it with --events DIRECTORY';
		throw new SpockError('UNKNOWN_FUNC', message, { isStackless: true });
	}

	hold(): void {
		this.#readGate.hold();
	}

	release(): void {
		this.#readGate.release();
	}

	facts(): ConnectionFacts {
		const { id, subscriptions, inFlight, outputBytes, isSlow, bytesRead, bytesWritten } = this;
		const { client = null, library = null, pid = null } = this.#hello ?? {};
		return {
			...{ id, client, library, pid, ...this.#peer, openedAtMs: this.#openedAtMs },
			...{ subscriptions, subscriptionsRevision: this.#pushes.revision, keys: this.#pushes.watchedKeys.length },
			...{ isSlow, isSilent: this.#silence.isSilent, isNarrowed: this.#window < this.#context.limits.inFlightMax },
			...{ oversize: this.oversizeSubscriptions, inFlight, outputBytes },
			...{ requests: this.#requests.handled, bytesRead, bytesWritten },
		};
	}

	watched(): WatchedFacts {
		return { services: this.#pushes.services.watched, keys: this.#pushes.watchedKeys };
	}

	sample(): number {
		// The client has read by now what it was sent a sample ago.
		this.#requests.inFlightMax = this.#window;
		const count = this.#requests.handled - this.#handledBefore;
		this.#handledBefore = this.#requests.handled;
		return count;
	}

	tellWindow(inFlightMax: number): void {
		this.#window = inFlightMax;
		if (inFlightMax > this.#requests.inFlightMax) this.#requests.inFlightMax = inFlightMax;
		this.send(encodePush('window', encodePayload({ inFlightMax })));
	}

	greet({ secret, ...hello }: HelloData): Packing | undefined {
		this.#hello = hello;
		this.#context.observer.greeted?.(this.who());
		if (hello.heartbeatMs !== undefined) this.#silence.start(hello.heartbeatMs);
		// The secret itself is not stored. One connection is one client, whatever it sends later.
		this.identity ??= secret && createHash('sha256').update(secret).digest('base64url');
		const { frameBytesMax } = this.#context.limits;
		this.frameBytesMax = Math.min(frameBytesMax, hello.frameBytesMax ?? frameBytesMax);
		const knows = (feature: string): boolean => hello.features?.includes(feature) === true;
		this.#reading = { frameBytesMax: this.frameBytesMax, deltas: knows('deltas'), parts: knows('parts') };
		// After the answer to hello: before it, the client has nothing to move.
		const away = this.#away;
		if (away !== undefined) queueMicrotask(() => this.tellAway(away));
		return this.#packed.agree(hello.features);
	}

	/** Name and process of this client. */
	who(): ClientStatus {
		const { client = null, pid = null } = this.#hello ?? {};
		return { connection: this.id, client, pid };
	}

	/** The same, if it subscribes to exactly this query, or wants to. */
	watcher(key: string): WatcherStatus | undefined {
		const { services } = this.#pushes;
		const oversize = services.isOversize(key);
		if (!services.has(key) && !oversize) return undefined;
		const pushed = services.pushed(key);
		return { ...this.who(), ...(pushed && { pushed }), ...(oversize && { oversize }) };
	}

	subscribe(query: ServiceQuery, call: RequestContext): Promise<Answered<ServiceSnapshot>> | Answered<ServiceSnapshot> {
		const found = this.#pushes.services.add(query, call);
		return found instanceof Promise ? found.then((first) => this.answerWith(first)) : this.answerWith(found);
	}

	answerWith(snapshot: ServiceSnapshot): Answered<ServiceSnapshot> {
		return snapshotAnswer(snapshot, this.#reading);
	}

	unsubscribe(query: ServiceQuery): void {
		this.#pushes.services.remove(query);
	}

	subscribeKey(query: KeyQuery, call: RequestContext): Promise<Answer<KeySnapshot>> | Answer<KeySnapshot> {
		return keyPayloadOf(this.#pushes.keys.add(query, call));
	}

	unsubscribeKey(query: KeyQuery): void {
		this.#pushes.keys.remove(query);
	}

	told(registration: RegistrationReply): void {
		if (!this.#hello?.features?.includes('push')) return;
		const line = registrationPush(registration, this.frameBytesMax);
		if (line !== undefined) this.send(line);
	}

	/** Sends a line with the others of this tick. */
	send(line: string): void {
		this.#framed.write(line);
		// The client's own requests cause the output: not reading them bounds the memory.
		this.#readGate.sent();
	}

	/** A request that had to wait is answered. */
	settled(): void {
		this.#end.settled();
	}

	/** Asks the client to leave, if it understands goaway. */
	goaway(data: GoawayData): void {
		this.#away = data;
		this.tellAway(data);
	}

	/** True if its client is a sidecar, which asks this one. */
	get isSidecar(): boolean {
		return this.#hello?.sidecar !== undefined;
	}

	/** A silent client: at a unix socket it may wake up, so it is kept; over TCP it is closed, and can connect again. */
	#silent(silentMs: number, isRemote: boolean): void {
		const seconds = (silentMs / 1000).toFixed(0);
		this.#context.observer.silent?.(this.who(), silentMs);
		const why = 'it is stopped or blocked, or its machine is gone';
		this.#context.silent(this, `the app sent nothing for ${seconds} s, three of its heartbeats: ${why}`);
		if (isRemote) this.destroy('silent');
	}

	/** Asks the client to connect again, if it understands goaway. */
	tellAway(data: GoawayData): void {
		if (this.#hello?.features?.includes('goaway')) this.send(encodePush('goaway', encodePayload(data)));
	}

	/** Sends what is pending and ends the connection once every request in flight is answered. */
	end(reason: CloseReason): void {
		this.#end.begin(reason);
	}

	/** Drops the connection at once, for this reason unless it was ending anyway. */
	destroy(reason: CloseReason): void {
		this.#end.drop(reason);
	}

	/** Closes a connection whose frame or hello takes too long; called regularly for all connections. */
	checkTimes(nowMs: number): void {
		this.#input.checkTimes(nowMs);
	}
}
