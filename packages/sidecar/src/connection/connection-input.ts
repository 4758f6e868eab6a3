import {
	type ClientMessage,
	type Fault,
	type Notice,
	type Request,
	readClientMessage,
	SpockError,
	type WireError,
} from '@spock/protocol';
import { withPayloadText } from '@spock/protocol/internal';
import type { FramedSocket } from '@spock/protocol/node';

import type { ResolvedLimits } from '../foundation/limits.ts';
import type { LimitName } from '../foundation/observer.ts';
import type { TokenCheck, TokenHolder } from '../listen/tokens.ts';
import { eventFrameCost, NEW_FRAME_COST, type ReadGate } from '../overload/read-gate.ts';
import type { SharedBytes } from '../overload/shared-bytes.ts';
import type { ConnectionEnd } from './connection-end.ts';
import type { EventSession, UplinkSession } from './event-session.ts';
import type { Requests } from './requests.ts';

/** An unfinished frame of fewer bytes is not counted. */
const LONG_PARTIAL_BYTES = 65_536;

/** What the input of a connection can cause. */
export interface InputParts {
	readonly framed: FramedSocket;
	readonly requests: Requests;
	readonly readGate: ReadGate;
	readonly end: ConnectionEnd;
	readonly limits: ResolvedLimits;
	readonly limited: (limit: LimitName) => void;
	/** It has sent a valid token. Returns false if there is no room for it. */
	readonly enter: (holder: TokenHolder) => boolean;
	readonly openedAtMs: number;
	/** The events of this connection. Throws UNKNOWN_FUNC where none are taken. */
	readonly events: () => EventSession;
	/** It carries events alone from now on. */
	readonly becameUplink: () => void;
	/** Bytes of frames that have not come whole, of all connections. */
	readonly partials: SharedBytes;
	/** Whose share of those it uses. */
	readonly share: () => string;
	/** A fault of ours. */
	readonly failed: (func: string, cause: unknown) => void;
}

/** The input of one client: decides which frames are answered, and closes the connection for forbidden ones. */
export class ConnectionInput {
	readonly #parts: InputParts;
	readonly #requests: Requests;
	readonly #readGate: ReadGate;
	readonly #end: ConnectionEnd;
	/** The check that its hello must pass before anything else is answered; undefined once passed, or if none is required. */
	#tokens: TokenCheck | undefined;
	#badFramesInARow = 0;
	#partialSinceMs: number | undefined;
	/** What it holds of the bytes of frames that have not come whole, and of whose share. */
	#partialBytes = 0;
	#partialShare = '';
	/** What takes every frame, on a connection that carries events alone. */
	#uplink: UplinkSession | undefined;

	/** With `tokens`, nothing is answered before a hello with one of them. */
	constructor(parts: InputParts, tokens: TokenCheck | undefined) {
		this.#parts = parts;
		this.#requests = parts.requests;
		this.#readGate = parts.readGate;
		this.#end = parts.end;
		this.#tokens = tokens;
	}

	/** Handles a frame that begins with an id, as the common request does. */
	numbered(id: number, rest: string): void {
		if (this.#tokens === undefined && this.#end.takesRequests && this.#requests.acceptKnown(id, rest)) {
			this.#partialSinceMs = undefined;
			this.#badFramesInARow = 0;
			this.#readGate.frameRead(1);
		} else {
			const text = `{"id":${id}${rest}`;
			this.frame(text, Buffer.byteLength(text), rest);
		}
	}

	/** Handles any frame, of so many bytes in UTF-8; `rest` is the text behind its id, if it begins with one. */
	frame(text: string, bytes: number, rest?: string): void {
		this.#partialSinceMs = undefined;
		if (this.#uplink !== undefined) {
			this.#event(this.#uplink, text, bytes);
			return;
		}
		const message = readClientMessage(text);
		if (this.#tokens !== undefined && !this.#mayEnter(message, this.#tokens)) return;
		if (message.kind === 'request') {
			this.#badFramesInARow = 0;
			if (this.#end.takesRequests) this.#requests.accept(verbatim(message, text), bytes, rest);
		} else if (message.kind === 'notice') {
			this.#badFramesInARow = 0;
			if (message.func === 'cancel') this.#requests.cancel((message.data as { id?: unknown } | null)?.id);
			else if (this.#end.takesRequests) this.#notice(message);
		} else {
			this.#requests.fail(message.id, { ...message, retryable: false });
			if (message.code !== 'BAD_FRAME') this.#badFramesInARow = 0;
			else this.#countBadFrame();
		}
		this.#readGate.frameRead(NEW_FRAME_COST);
	}

	/** Handles bytes that are not a frame. */
	fault(code: 'BAD_FRAME' | 'FRAME_TOO_LARGE', message: string): void {
		if (this.#uplink !== undefined) {
			this.#end.drop(code === 'FRAME_TOO_LARGE' ? 'frame-too-large' : 'bad-uplink');
			return;
		}
		if (this.#tokens !== undefined) {
			this.#mayEnter({ kind: 'fault', id: null, code, message, details: {} }, this.#tokens);
			return;
		}
		const { limits, limited } = this.#parts;
		const details = code === 'FRAME_TOO_LARGE' ? { frameBytesMax: limits.frameBytesMax } : {};
		this.#requests.fail(null, { code, message, retryable: false, details });
		if (code === 'FRAME_TOO_LARGE') {
			limited('frameBytesMax');
			this.#end.forInput('frame-too-large');
		} else this.#countBadFrame();
	}

	/** A chunk was read: closes a connection that waits for the rest of a long frame while all together wait for too much. */
	chunkRead(): void {
		const { framed, partials, limited } = this.#parts;
		const bytes = framed.partialBytes > LONG_PARTIAL_BYTES ? framed.partialBytes : 0;
		if (bytes === this.#partialBytes) return;
		this.#dropPartial();
		if (bytes === 0) return;
		const share = this.#parts.share();
		if (!partials.hasRoom(share, bytes)) {
			limited('partialBytesMax');
			this.#end.drop('partial-frame');
			return;
		}
		partials.add(share, bytes);
		[this.#partialBytes, this.#partialShare] = [bytes, share];
	}

	#dropPartial(): void {
		if (this.#partialBytes > 0) this.#parts.partials.add(this.#partialShare, -this.#partialBytes);
		this.#partialBytes = 0;
	}

	/** Closes a connection whose frame or hello takes too long; called regularly for all connections. */
	checkTimes(nowMs: number): void {
		const { framed, limits, limited, openedAtMs, readGate } = this.#parts;
		const isSilent = this.#tokens !== undefined || framed.bytesRead === framed.partialBytes;
		if (isSilent && nowMs - openedAtMs >= limits.handshakeMs) {
			limited('handshakeMs');
			this.#end.drop('handshake');
			return;
		}
		// The rest of its frame may have come long ago: it is not read while the producer is over its window.
		if (framed.partialBytes === 0 || readGate.isHeld) {
			this.#partialSinceMs = undefined;
		} else {
			this.#partialSinceMs ??= nowMs;
			if (nowMs - this.#partialSinceMs < limits.partialFrameMs) return;
			limited('partialFrameMs');
			this.#end.drop('partial-frame');
		}
	}

	/** The connection is gone. */
	closed(): void {
		this.#dropPartial();
		this.#uplink?.closed();
	}

	/** Nothing is answered on an uplink, a bad frame no more than a good one. */
	#event(uplink: UplinkSession, text: string, bytes: number): void {
		if (uplink.frame(text, bytes) === 'close') this.#end.drop('bad-uplink');
		else this.#readGate.frameRead(eventFrameCost(text.length));
	}

	/** A notice other than `cancel`: one that cannot be taken is answered as a bad frame is. */
	#notice(notice: Notice): void {
		let refusal: WireError;
		try {
			const events = this.#parts.events();
			if (notice.func !== 'uplink') {
				events.notice(notice);
				return;
			}
			this.#uplink = events.uplink(notice.data);
			if (this.#uplink !== undefined) {
				this.#end.becomeUplink();
				this.#parts.becameUplink();
				return;
			}
			refusal = BAD_TICKET;
		} catch (error) {
			refusal = SpockError.from(error).toWire();
			if (refusal.code === 'INTERNAL') this.#parts.failed(notice.func, error);
		}
		this.#requests.fail(null, refusal);
		// What follows could be nothing but events.
		if (notice.func === 'uplink') this.#end.forInput('denied');
	}

	/** True if this frame is a hello with a valid token; else closes the connection. */
	#mayEnter(message: ClientMessage | Fault, tokens: TokenCheck): boolean {
		const holder = tokenHolderOf(message, tokens);
		const { connectionsMax } = this.#parts.limits;
		const isDenied = holder instanceof SpockError;
		if (!isDenied && this.#parts.enter(holder)) {
			this.#tokens = undefined;
			this.#parts.framed.frameBytesMax = this.#parts.limits.frameBytesMax;
			return true;
		}
		const error = isDenied
			? holder
			: new SpockError('OVERLOADED', 'too many clients are connected: retry later, or raise connectionsMax', {
					details: { connectionsMax },
				});
		this.#requests.fail(message.kind === 'request' ? message.id : null, error.toWire());
		this.#end.forInput(isDenied ? 'denied' : 'full');
		return false;
	}

	#countBadFrame(): void {
		const { limits, limited } = this.#parts;
		if (++this.#badFramesInARow < limits.badFramesInARowMax || this.#end.isEnding) return;
		limited('badFramesInARowMax');
		this.#end.forInput('bad-frames');
	}
}

const BAD_TICKET: WireError = new SpockError(
	'ACL_DENIED',
	'this ticket is unknown, used, or its call line has ended: open the producer again',
).toWire();

/**
 * The longest hello, in bytes, if a token is required. A client without a token must not make the sidecar buffer more: ten thousand
 * of them with half a frame each take 40 MB. The longest name and token need 4 KB if every character is escaped.
 */
export const TOKEN_HELLO_BYTES_MAX = 4096;

/**
 * Whom the token in this first message of a connection stands for; or its failure, if it is no hello with a valid token. The failure
 * contains no part of its input.
 */
function tokenHolderOf(
	message: Request | Notice | { readonly kind: 'fault'; readonly code?: string },
	tokens: TokenCheck,
): TokenHolder | SpockError {
	if (message.kind === 'fault' && message.code === 'FRAME_TOO_LARGE') {
		return new SpockError(
			'ACL_DENIED',
			`this listener requires a token in hello, which may have at most ${TOKEN_HELLO_BYTES_MAX} bytes`,
		);
	}
	if (message.kind !== 'request' || message.func !== 'hello') {
		return new SpockError('ACL_DENIED', 'this listener requires a hello with a token before any other request');
	}
	const { token } = (message.data ?? {}) as { readonly token?: unknown };
	if (token === undefined || token === null) {
		return new SpockError('ACL_DENIED', 'this listener requires a token in hello, and it is missing');
	}
	const holder = typeof token === 'string' ? tokens.find(token) : undefined;
	return holder ?? new SpockError('ACL_DENIED', 'this sidecar does not accept the token in hello');
}

/** The payload of an event goes to the disk as it came. */
function verbatim(request: Request, text: string): Request {
	return request.func === 'publish' ? { ...request, data: withPayloadText(request.data, text) } : request;
}
