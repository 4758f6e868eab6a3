import {
	encodePayload,
	type FuncData,
	type FuncName,
	type FuncReply,
	type HelloData,
	type PayloadText,
	type RegistrationReply,
	type ServiceList,
	type ServiceSnapshot,
} from '@spock/protocol';
import type { Packing } from '@spock/protocol/node';

import type { EventSession } from './event-session.ts';

/** The serialised payload of a reply, with its type: a handler cannot answer with another function's reply. */
export type Answer<T> = PayloadText & { readonly __reply?: T };

/** A reply that is longer than a frame, for a client that knows `parts`. */
export class PartedAnswer {
	/** Frames that go before the reply, with no other one between. */
	readonly lines: readonly string[];
	readonly last: PayloadText;

	constructor(lines: readonly string[], last: PayloadText) {
		this.lines = lines;
		this.last = last;
	}
}

/** What a handler answers. */
export type Answered<T> = Answer<T> | PartedAnswer;

/** Serialises a reply. */
export function answer<T>(value: T): Answer<T> {
	return encodePayload(value) as Answer<T>;
}

/** The connection that a request came from, as far as handlers may know it. */
export interface Caller {
	/** Differs for every connection of a sidecar. */
	readonly id: number;
	/** Longest frame that the client reads: the sidecar's limit, or less if its hello says so. */
	readonly frameBytesMax: number;
	/** The same for every connection of this client, derived from the secret in its hello; undefined without one. */
	readonly identity: string | undefined;
	/** The app of its token; undefined where no token is required, or the token has no name. */
	readonly app: string | undefined;
	/**
	 * Whose share of a limit its use counts against: of its app; without one, of its address, which it cannot make up; at a socket, of its
	 * client. All that say nothing of themselves have one share.
	 */
	readonly share: string;
	/** True for another sidecar, which asks for its own clients. */
	readonly isSidecar: boolean;
	/** Stores the client's name and process, and which pushes it understands. Gives how it packs what it sends from now on; undefined: it does not. */
	greet(hello: HelloData): Packing | undefined;
	/**
	 * Watches a query for this connection; its changes are pushed from now on, unless `call` is cancelled before the first
	 * snapshot is there. Throws OVERLOADED.
	 */
	subscribe(
		query: FuncData<'watchService'>,
		call: RequestContext,
	): Promise<Answered<ServiceSnapshot>> | Answered<ServiceSnapshot>;
	/** The reply with a snapshot, as this client reads it. */
	answerWith(snapshot: ServiceSnapshot): Answered<ServiceSnapshot>;
	/** The reply with all services, as this client reads it. */
	answerWithList(list: ServiceList): Answered<ServiceList>;
	/** Ends a watch; does nothing without one. */
	unsubscribe(query: FuncData<'unwatchService'>): void;
	/** Pushes the state of a registration of this connection, if its client understands pushes. */
	told(registration: RegistrationReply): void;
	/** Watches a key or a prefix, as `subscribe` watches a service. Throws UNKNOWN_FUNC if the registry has no keys. */
	subscribeKey(
		query: FuncData<'watchKey'>,
		call: RequestContext,
	): Promise<Answer<FuncReply<'watchKey'>>> | Answer<FuncReply<'watchKey'>>;
	/** As `unsubscribe`, for a key or a prefix. */
	unsubscribeKey(query: FuncData<'unwatchKey'>): void;
	/** Its events. Throws UNKNOWN_FUNC where this sidecar takes none. */
	readonly events: EventSession;
}

/** One request, as its handler sees it. */
export interface RequestContext {
	readonly caller: Caller;
	/** Aborts when the caller cancels, or its connection ends. */
	readonly signal: AbortSignal;
	/** How long the caller waits, in milliseconds; undefined if unknown. */
	readonly timeoutMs: number | undefined;
}

/**
 * Answers one function: at once if everything is known, so that the reply leaves in the tick of the request; otherwise with a
 * promise. Throws or rejects with a SpockError; anything else is answered INTERNAL.
 */
export type Handler<F extends FuncName> = (
	data: FuncData<F>,
	call: RequestContext,
) => Answered<FuncReply<F>> | Promise<Answered<FuncReply<F>>>;

/** A handler for every function. */
export type Handlers = { readonly [F in FuncName]: Handler<F> };
