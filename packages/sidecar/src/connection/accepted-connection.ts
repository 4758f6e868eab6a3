import type { Duplex } from 'node:stream';

import {
	encodePayload,
	encodePush,
	type GoawayData,
	type HelloData,
	type KeyQuery,
	type KeySnapshot,
	type RegistrationReply,
	type ServiceList,
	type ServiceQuery,
	type ServiceSnapshot,
	SpockError,
	type WatcherStatus,
} from '@spock/protocol';
import { FramedSocket, type Packing } from '@spock/protocol/node';

import type { CloseReason } from '../foundation/observer.ts';
import type { LoadedConnection } from '../overload/overload.ts';
import { ReadGate } from '../overload/read-gate.ts';
import type { Answer, Answered, RequestContext } from './answer.ts';
import { ClientHello } from './client-hello.ts';
import type { ConnectionContext, ConnectionOwner } from './connection-context.ts';
import { ConnectionEnd } from './connection-end.ts';
import { type ConnectionFacts, type PeerFacts, peerFactsOf, shareOf, type WatchedFacts } from './connection-facts.ts';
import { ConnectionInput, TOKEN_HELLO_BYTES_MAX } from './connection-input.ts';
import type { EventLine, EventSession } from './event-session.ts';
import { PackedInput } from './packed-input.ts';
import { Pushes, registrationPush } from './pushes.ts';
import { Requests, type RequestsPort } from './requests.ts';
import { SilenceWatch } from './silence-watch.ts';
import { keyPayloadOf, listAnswer, snapshotAnswer } from './snapshot-text.ts';

/** Unread output above which pushes wait for the client, newest only; replies do not wait. */
const PUSH_BUSY_BYTES = 65_536;

/** One client: its frames, requests in flight and subscriptions. Nothing that it sends can throw past this class. */
export class AcceptedConnection implements RequestsPort, LoadedConnection, EventLine {
	readonly id: number;
	readonly hello: ClientHello;
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
	/** Why the client must leave, also one that sends its hello later. */
	#away: GoawayData | undefined;

	constructor(id: number, socket: Duplex, context: ConnectionContext, owner: ConnectionOwner) {
		const { tokens } = owner;
		this.id = id;
		this.#openedAtMs = context.clock.now();
		this.#peer = peerFactsOf(socket);
		this.hello = new ClientHello(id, context.limits.frameBytesMax);
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
				reading: () => this.hello.reading,
				oversize: (name, refusal) => context.observer.oversize?.(id, name, refusal),
				now: () => context.clock.now(),
				asker: () => this.share,
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
					this.#input.chunkRead();
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
					owner.closed(this.#end.closed(error));
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
			silent: (silentMs) => this.#silent(silentMs, isRemote, owner),
			heard: () => {
				context.observer.silent?.(this.hello.who(), null);
				owner.silent(undefined);
			},
		});
		const parts = { framed: this.#framed, requests: this.#requests, readGate: this.#readGate };
		const { slowConsumerMs } = limits;
		this.#end = new ConnectionEnd({ ...parts, pushes: this.#pushes, clock, slowConsumerMs, isLocal: !isRemote });
		this.#input = new ConnectionInput(
			{
				...parts,
				end: this.#end,
				limits,
				limited,
				partials: context.overload.partialBytes,
				share: () => this.share,
				enter: (holder) => {
					this.app = holder.app;
					return owner.enter(holder);
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

	get frameBytesMax(): number {
		return this.hello.reading.frameBytesMax;
	}

	get identity(): string | undefined {
		return this.hello.identity;
	}

	get share(): string {
		return shareOf(this.app, this.#peer.address, this.identity);
	}

	get isSidecar(): boolean {
		return this.hello.isSidecar;
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
		return this.hello.knows('window') ? this.#window : undefined;
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
		return {
			...{ id, ...this.hello.facts(), ...this.#peer, openedAtMs: this.#openedAtMs },
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

	greet(hello: HelloData): Packing | undefined {
		this.hello.accept(hello);
		this.#context.observer.greeted?.(this.hello.who());
		if (hello.heartbeatMs !== undefined) this.#silence.start(hello.heartbeatMs);
		// After the answer to hello: before it, the client has nothing to move.
		const away = this.#away;
		if (away !== undefined) queueMicrotask(() => this.tellAway(away));
		return this.#packed.agree(hello.features);
	}

	/** Name and process of this client, if it subscribes to exactly this query, or wants to. */
	watcher(key: string): WatcherStatus | undefined {
		const { services } = this.#pushes;
		const oversize = services.isOversize(key);
		if (!services.has(key) && !oversize) return undefined;
		const pushed = services.pushed(key);
		return { ...this.hello.who(), ...(pushed && { pushed }), ...(oversize && { oversize }) };
	}

	subscribe(query: ServiceQuery, call: RequestContext): Promise<Answered<ServiceSnapshot>> | Answered<ServiceSnapshot> {
		const found = this.#pushes.services.add(query, call);
		return found instanceof Promise ? found.then((first) => this.answerWith(first)) : this.answerWith(found);
	}

	answerWith(snapshot: ServiceSnapshot): Answered<ServiceSnapshot> {
		return snapshotAnswer(snapshot, this.hello.reading);
	}

	answerWithList(list: ServiceList): Answered<ServiceList> {
		return listAnswer(list, this.hello.reading);
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
		if (!this.hello.knows('push')) return;
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

	/** A silent client: at a unix socket it may wake up, so it is kept; over TCP it is closed, and can connect again. */
	#silent(silentMs: number, isRemote: boolean, owner: ConnectionOwner): void {
		const seconds = (silentMs / 1000).toFixed(0);
		this.#context.observer.silent?.(this.hello.who(), silentMs);
		const why = 'it is stopped or blocked, or its machine is gone';
		owner.silent(`the app sent nothing for ${seconds} s, three of its heartbeats: ${why}`);
		if (isRemote) this.destroy('silent');
	}

	/** Asks the client to connect again, if it understands goaway. */
	tellAway(data: GoawayData): void {
		if (this.hello.knows('goaway')) this.send(encodePush('goaway', encodePayload(data)));
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
