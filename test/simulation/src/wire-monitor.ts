import type { ConnectionTap } from './sim-network.ts';
import { Violation } from './violation.ts';

/** How a reply begins. */
const ID = '{"id":';
const ID_DIGITS = 10;
/** Functions whose replies are only counted; the client reads them, and what it was told is compared by its caller. */
const PLAIN: ReadonlySet<string> = new Set(['ping', 'getService', 'getKey', 'explain', 'status', 'listServices']);

/** What one request is, as far as it can be seen on the wire. */
interface SeenRequest {
	readonly func: string;
	readonly query: string;
	readonly text: string;
	isCancelled: boolean;
}

/** What happened on all connections together. */
export interface WireCounts {
	requests: number;
	replies: number;
	pushes: number;
	goaways: number;
}

/** Where a monitor tells what it saw. */
export interface WireObserver {
	readonly counts: WireCounts;
	violated(violation: Violation): void;
	opened(): void;
	/** The client has read something. */
	took(): void;
	/** The client has read that it should leave. */
	goaway(): void;
	closed(): void;
}

/** Reads both directions of one connection and holds them to the protocol: what may be said, to whom, and in which order. */
export class WireMonitor implements ConnectionTap {
	readonly #observer: WireObserver;
	readonly #inFlight = new Map<number, SeenRequest>();
	/** The newest revision that was sent for each query that is subscribed to. */
	readonly #revisions = new Map<string, number>();
	#fromClient = '';
	/** Of whole lines of the sidecar, to the end of the one that is looked at. */
	#saidBytes = 0;
	#takenBytes = 0;
	/** Where the request to leave ends in what the sidecar wrote. */
	#goawayEndsAt = Number.POSITIVE_INFINITY;
	#isOpen = true;
	#fromSidecar = '';

	constructor(observer: WireObserver) {
		this.#observer = observer;
		observer.opened();
	}

	clientWrote(bytes: Buffer): void {
		this.#fromClient = this.#lines(this.#fromClient + bytes.toString('latin1'), (line) => this.#request(line));
	}

	sidecarWrote(bytes: Buffer): void {
		this.#fromSidecar = this.#lines(this.#fromSidecar + bytes.toString('latin1'), (line) => {
			this.#saidBytes += line.length + 1;
			this.#answer(line);
		});
	}

	clientTook(bytes: Buffer): void {
		this.#observer.took();
		this.#takenBytes += bytes.length;
		if (this.#takenBytes < this.#goawayEndsAt) return;
		this.#goawayEndsAt = Number.POSITIVE_INFINITY;
		this.#observer.goaway();
	}

	ended(): void {
		if (this.#isOpen) this.#observer.closed();
		this.#isOpen = false;
	}

	#lines(text: string, read: (line: string) => void): string {
		let from = 0;
		for (let to = text.indexOf('\n'); to >= 0; to = text.indexOf('\n', from)) {
			read(text.slice(from, to));
			from = to + 1;
		}
		return text.slice(from);
	}

	#request(line: string): void {
		const { id, func, data } = JSON.parse(line) as { id?: number; func: string; data?: Record<string, unknown> | null };
		if (id === undefined) {
			const cancelled = this.#inFlight.get(data?.['id'] as number);
			if (cancelled !== undefined) cancelled.isCancelled = true;
			return;
		}
		this.#observer.counts.requests++;
		const before = this.#inFlight.get(id);
		if (before !== undefined && !before.isCancelled) {
			this.#violated('answers reach their caller', `the id ${id} was given to ${func} while ${before.func} had it`);
		}
		const query = func.includes('Key')
			? `=${String(data?.['key'])}`
			: JSON.stringify([data?.['service'], data?.['tags'] ?? [], data?.['meta'] ?? {}]);
		this.#inFlight.set(id, { func, query, text: line, isCancelled: false });
	}

	#answer(line: string): void {
		if (this.#isPlain(line)) return;
		const message = JSON.parse(line) as {
			id?: number | null;
			event?: string;
			data?: Record<string, unknown>;
			error?: unknown;
		};
		if (message.event !== undefined) {
			this.#push(message.event, message.data ?? {});
			return;
		}
		const { id, data } = message;
		if (typeof id !== 'number') {
			// The answer to a notice has no id: a ticket whose call line was lost meanwhile, or a log that another sidecar has.
			const { code } = (message.error ?? {}) as { code?: unknown };
			if (code === 'ACL_DENIED' || code === 'UNAVAILABLE') return;
			this.#violated('no fault escapes', `the sidecar could not read a frame of a client: ${line}`);
			return;
		}
		const request = this.#inFlight.get(id);
		this.#inFlight.delete(id);
		this.#observer.counts.replies++;
		if (request === undefined) {
			this.#violated(
				'settles once and in time',
				`the sidecar answered ${id}, which nobody asks: ${line.slice(0, 200)}`,
			);
			return;
		}
		if (message.error !== undefined || data === undefined) return;
		const { func, query } = request;
		if (func === 'watchService' || func === 'watchKey') this.#newest(query, data['revision'] as number, false);
		if (func.startsWith('unwatch')) this.#revisions.delete(query);
		if (func === 'getInstances' && data['service'] !== undefined && !query.includes(JSON.stringify(data['service']))) {
			this.#violated('answers reach their caller', `${request.text} was answered with ${line.slice(0, 200)}`);
		}
	}

	/** Counts the reply to a request whose answer says nothing that is looked at here: most of them, and not parsed. */
	#isPlain(line: string): boolean {
		if (!line.startsWith(ID)) return false;
		const id = Number.parseInt(line.slice(ID.length, ID.length + ID_DIGITS), 10);
		const request = this.#inFlight.get(id);
		if (request === undefined || !PLAIN.has(request.func)) return false;
		this.#inFlight.delete(id);
		this.#observer.counts.replies++;
		return true;
	}

	#push(event: string, data: Record<string, unknown>): void {
		if (event === 'goaway') {
			this.#observer.counts.goaways++;
			this.#goawayEndsAt = this.#saidBytes;
			return;
		}
		if (event !== 'service' && event !== 'key') return;
		this.#observer.counts.pushes++;
		const query =
			event === 'key'
				? `=${String(data['key'])}`
				: JSON.stringify([data['service'], data['tags'] ?? [], data['meta'] ?? {}]);
		const { base, revision } = data as { readonly base?: number; readonly revision: number };
		if (base !== undefined && base !== this.#revisions.get(query)) {
			this.#violated(
				'revisions never go back',
				`revision ${revision} of ${query} builds on ${base}, which is not the last one sent`,
			);
		}
		this.#newest(query, revision, true);
	}

	#newest(query: string, revision: number, isPush: boolean): void {
		const before = this.#revisions.get(query);
		if (isPush && before === undefined) {
			this.#violated('revisions never go back', `a push of ${query} came before the answer to its subscription`);
		} else if (before !== undefined && (revision < before || (isPush && revision === before))) {
			this.#violated('revisions never go back', `revision ${revision} of ${query} was sent after ${before}`);
		}
		this.#revisions.set(query, revision);
	}

	#violated(invariant: Violation['invariant'], message: string): void {
		this.#observer.violated(new Violation(invariant, message));
	}
}
