import type { EventService } from '@spock/events';
import { type EventsStatus, SpockError } from '@spock/protocol';
import { Backoff, type Clock, type TimerHandle } from '@spock/protocol/internal';

import type { EventLine, EventSession } from '../connection/event-session.ts';
import type { Events, EventsContext } from '../lifecycle/sidecar-options.ts';
import { ConnectionEvents, type ConnectionEventsContext, type ServedEvents } from './connection-events.ts';
import { UnusedTickets } from './unused-tickets.ts';

/** The first wait after a failed attempt to open the log, and the longest. */
const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 10_000;
/** How often, and after how long, a log is claimed again that another process has: in a take-over that one is about to leave. */
const CLAIM_ATTEMPTS_MAX = 20;
const CLAIM_RETRY_MS = 25;
/** Consumers of all connections. Each has a credit of a megabyte. */
export const CONSUMERS_MAX = 1024;

/** The status of a log that is not open. */
const NOTHING = {
	...{ bytes: 0, bytesMax: 0, next: 0, producers: 0, unstored: 0, oldestUnstoredMs: null },
	...{ windowBytes: 0, damaged: 0, idsForgotten: 0, streams: [], groups: [] },
} as const;

/** The service, as the guest uses it. */
export type GuestService = ServedEvents &
	Pick<EventService, 'readAhead' | 'open' | 'status' | 'handOver' | 'retire' | 'close'>;

/** What the guest is put together from. */
export interface EventGuestOptions {
	/** A service over the directory; another one after each attempt to open it that has failed, and after one that has called `lost`. */
	readonly serve: (lost: (reason: SpockError) => void) => GuestService;
	/** Where the log is; for people. */
	readonly directory: string;
	/** How long the end may take for what its store does not hold yet, in milliseconds. */
	readonly drainMs: number;
	/** The log is open: the first time, and each time after it was lost. */
	readonly opened?: () => void;
	/** An attempt to open the log has failed; the next one follows after so many milliseconds. */
	readonly openFailed?: (error: SpockError, retryMs: number) => void;
	/** Its last service has ended. */
	readonly closed?: (() => Promise<void>) | undefined;
	/** It could not be handed over, or closed, as it should be. */
	readonly endFailed?: (error: unknown) => void;
}

/** Opening, with the attempt under way; failed, and why; or open. */
type State =
	| { readonly kind: 'opening'; readonly attempt: Promise<void>; readonly settle: () => void }
	| { readonly kind: 'failed'; readonly error: SpockError }
	| { readonly kind: 'open' }
	| { readonly kind: 'ended' };

/** Events in a sidecar: opens the log whenever that can be done, and gives it to connections. Lookups depend on none of it. */
export class EventGuest implements Events {
	readonly #options: EventGuestOptions;
	readonly #clock: Clock;
	readonly #backoff: Backoff;
	readonly #sessions: ConnectionEventsContext;
	readonly #tickets: UnusedTickets;
	#service: GuestService;
	/** The one that reads its log ahead: if that is not over when the log is opened, another one opens it. */
	#reading: GuestService | undefined;
	/** The one before, whose log was lost; until another is open. */
	#lostService: GuestService | undefined;
	#state: State = opening();
	/** Until the next attempt. */
	#timer: TimerHandle | undefined;
	#wake: () => void = () => undefined;
	#consumers = 0;
	/** Another sidecar has the log, or claims it: from then on a further attempt could take it back. */
	#isLeft = false;
	/** The log is taken from a process that still lives: until another one takes it from this one. */
	#isForced = false;
	#ending: Promise<void> | undefined;

	constructor({ clock, random, defer }: Omit<EventsContext, 'source'>, options: EventGuestOptions) {
		this.#options = options;
		this.#service = options.serve(this.#lost);
		this.#clock = clock;
		this.#backoff = new Backoff({ delayMsMin: RETRY_MS_MIN, delayMsMax: RETRY_MS_MAX, random });
		this.#tickets = new UnusedTickets(clock);
		this.#sessions = {
			service: () => this.#served(),
			tickets: this.#tickets,
			enterConsumer: () => this.#consumers < CONSUMERS_MAX && ++this.#consumers > 0,
			leaveConsumer: () => this.#consumers--,
			defer,
		};
	}

	session(line: EventLine): EventSession {
		return new ConnectionEvents(this.#sessions, line);
	}

	async readAhead(): Promise<void> {
		const service = this.#service;
		this.#reading = service;
		try {
			await service.readAhead();
		} catch {
			// It is read when it is opened, which fails for the same reason if that still holds.
			if (this.#service === service) this.#service = this.#options.serve(this.#lost);
		} finally {
			this.#reading = undefined;
		}
	}

	open(takeOver: boolean): void {
		if (this.#state.kind === 'ended') return;
		this.#isForced = takeOver;
		void this.#open();
	}

	status(): EventsStatus {
		if (this.#state.kind === 'open') return this.#service.status();
		const reason = this.#state.kind === 'failed' ? this.#state.error.message : null;
		const { directory } = this.#options;
		return { state: this.#state.kind, reason, directory, ...NOTHING };
	}

	async handOver(): Promise<void> {
		this.#isLeft = true;
		this.#endWait();
		try {
			await this.#service.handOver();
		} catch (error) {
			this.#options.endFailed?.(error);
		}
	}

	close(): Promise<void> {
		this.#ending ??= this.#close();
		return this.#ending;
	}

	async #close(): Promise<void> {
		this.#endWait();
		this.#tickets.close();
		const { drainMs, endFailed } = this.#options;
		try {
			await this.#service.close(drainMs);
			await this.#options.closed?.();
		} catch (error) {
			endFailed?.(error);
		}
		this.#become({ kind: 'ended' });
	}

	async #open(): Promise<void> {
		if (this.#state.kind === 'failed') {
			this.#state = opening();
			this.#service = this.#options.serve(this.#lost);
		} else if (this.#reading === this.#service) {
			this.#service = this.#options.serve(this.#lost);
		}
		try {
			await this.#claim();
			if (this.#ending !== undefined) return;
			this.#become({ kind: 'open' });
			this.#backoff.reset();
			this.#lostService?.retire();
			this.#lostService = undefined;
		} catch (reason) {
			this.#fail(reason);
			return;
		}
		this.#options.opened?.();
	}

	/** The log is another one's, or gone: it is opened again once that can be done, but never taken from another one. */
	readonly #lost = (reason: SpockError): void => {
		if (this.#state.kind !== 'open' || this.#isGone) return;
		this.#lostService = this.#service;
		this.#isForced = false;
		this.#fail(reason);
	};

	#fail(reason: unknown): void {
		if (this.#ending !== undefined) return;
		const error = unusable(this.#options.directory, reason);
		this.#become({ kind: 'failed', error });
		if (this.#isLeft) return;
		const retryMs = this.#backoff.next();
		this.#options.openFailed?.(error, retryMs);
		this.#timer = this.#clock.setTimeout(() => void this.#open(), retryMs);
		this.#timer.unref?.();
	}

	/** Opens the log. While another process has it, which may be about to leave, requests wait a moment and are not refused. */
	async #claim(): Promise<void> {
		for (let attempt = 1; ; attempt++) {
			try {
				return await this.#service.open(this.#isForced);
			} catch (error) {
				if (isLost(error)) this.#isForced = false;
				if (attempt >= CLAIM_ATTEMPTS_MAX || !isTaken(error) || this.#isGone) throw error;
				await new Promise<void>((resolve) => {
					this.#wake = resolve;
					this.#timer = this.#clock.setTimeout(resolve, CLAIM_RETRY_MS);
				});
				if (this.#isGone) throw error;
				this.#service = this.#options.serve(this.#lost);
			}
		}
	}

	/** The log is, or is to be, another one's, or nobody's. */
	get #isGone(): boolean {
		return this.#isLeft || this.#ending !== undefined;
	}

	#endWait(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#wake();
	}

	#become(state: State): void {
		const before = this.#state;
		this.#state = state;
		if (before.kind === 'opening') before.settle();
	}

	#served(): ServedEvents | Promise<ServedEvents> {
		const state = this.#state;
		switch (state.kind) {
			case 'open':
				return this.#service;
			case 'opening':
				return state.attempt.then(() => this.#served());
			case 'failed':
				throw state.error;
			case 'ended':
				throw new SpockError('UNAVAILABLE', 'the sidecar is shutting down', { isStackless: true });
		}
	}
}

function opening(): State {
	let settle: () => void = () => undefined;
	const attempt = new Promise<void>((resolve) => {
		settle = resolve;
	});
	return { kind: 'opening', attempt, settle };
}

/** Another process has claimed the log since this one did. */
function isLost(error: unknown): boolean {
	return SpockError.is(error, 'UNAVAILABLE') && error.details['directory'] !== undefined;
}

/** Another process has the log, or has just had it. */
function isTaken(error: unknown): boolean {
	return SpockError.is(error, 'UNAVAILABLE') && error.details['file'] === undefined;
}

/** Why no events are taken, and what to do. */
function unusable(directory: string, reason: unknown): SpockError {
	const { message } = SpockError.from(reason);
	const what = `events are not taken: ${reason instanceof Error ? reason.message : message}`;
	return new SpockError('UNAVAILABLE', `${what}; check the directory ${directory} given by --events`, {
		cause: reason,
		isStackless: true,
	});
}
