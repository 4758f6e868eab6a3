import { type Push, SpockError } from '@spock/protocol';
import { Backoff } from '@spock/protocol/internal';
import { formatAddress } from '@spock/protocol/node';
import type { Extension, ExtensionHost } from '../../connection/extension.ts';
import type { Session } from '../../connection/session.ts';
import { faultChannel } from '../../foundation/diagnostics.ts';
import { closedError } from '../../foundation/errors.ts';
import { eventRefusedChannel } from '../../foundation/event-diagnostics.ts';
import { OneTimer } from '../../foundation/timers.ts';
import { EventBuffer } from './event-buffer.ts';
import { EventStreams } from './event-stream.ts';
import { EventWaits, type Reached } from './event-waits.ts';
import { Outbox, type OutboxListener } from './outbox.ts';
import {
	type ProducerMessage,
	type Publisher,
	producerProgressChannel,
	producerStateChannel,
	producerWindowChannel,
} from './producer-diagnostics.ts';
import type { ResolvedProducerOptions } from './producer-options.ts';
import { makeStatus, type ProducerStatus } from './producer-status.ts';
import { type OpenedProducer, ownerOf, readAcked, readOpened, readWindow, refusedError } from './read-progress.ts';
import { Uplink, type UplinkOwner } from './uplink.ts';

/** Who is told what becomes of a producer; it may call that. */
export interface ProducerWatcher {
	/** `lastId`: of the last event that an earlier epoch of its name left in the log. */
	opened(lastId: string | undefined): void;
	/** An event was refused, or the sidecar takes none of this producer. */
	failed(error: SpockError): void;
}

/** One producer of events: joins the outbox, which decides, with the connections of its client, with time and with its callers. */
export class Producer implements Extension, UplinkOwner {
	readonly streams: EventStreams = new EventStreams();
	readonly buffer: EventBuffer;
	readonly options: ResolvedProducerOptions;
	readonly #host: ExtensionHost;
	readonly #watcher: ProducerWatcher | undefined;
	readonly #outbox: Outbox;
	readonly #waits: EventWaits;
	readonly #backoff: Backoff;
	readonly #retry: OneTimer;
	readonly #stall: OneTimer;
	/** Uplinks that are not gone: the present one, and those that let their last bytes leave. */
	readonly #uplinks = new Set<Uplink>();
	/** The call line; undefined while the client is disconnected. */
	#callLine: Session | undefined;
	#uplink: Uplink | undefined;
	/** What was persisted when the stall timer was set. */
	#persistedBefore = 0;
	#reason: string | null = null;
	#refusedCount = 0;
	#lastError: SpockError | undefined;
	/** Why the sidecar takes no events of this producer; undefined while that may change by itself. */
	#obstacle: SpockError | undefined;
	/** Reports about the outbox, which are made when it has finished its work: their listeners may emit. */
	#reports: (() => void)[] = [];
	#drained: Promise<void> | undefined;
	/** Ends a drain. */
	#onDrained: (() => void) | undefined;

	constructor(host: ExtensionHost, options: ResolvedProducerOptions, watcher?: ProducerWatcher) {
		const { clock, random, retryDelayMsMin: delayMsMin, retryDelayMsMax: delayMsMax } = host.options;
		this.#host = host;
		this.#watcher = watcher;
		this.options = options;
		this.#outbox = new Outbox(options.producer, (name) => this.streams.find(name), this.#listener);
		this.#waits = new EventWaits(clock, {
			sentTo: () => this.#outbox.kept.next - 1,
			obstacle: () => this.#obstacle,
			reason: () => this.#whyNotSent,
			// The last one may be what a drain waits for.
			emptied: () => queueMicrotask(() => this.#endDrain()),
		});
		this.buffer = new EventBuffer(this.#outbox, this.streams, this.#waits, options);
		this.#backoff = new Backoff({ delayMsMin, delayMsMax, random });
		this.#retry = new OneTimer(clock, () => this.#open(), host.options.unref);
		this.#stall = new OneTimer(clock, () => this.#checkProgress());
	}

	/** CLOSED once it drains or is closed. */
	checkOpen(): void {
		if (this.#drained !== undefined || this.#outbox.state === 'ended') throw closedError();
	}

	status(): ProducerStatus {
		return makeStatus({
			outbox: this.#outbox,
			streams: this.streams,
			bufferedBytes: this.#uplink?.bufferedBytes ?? 0,
			waiting: this.#waits.queuedCount,
			reason: this.#reason,
			refused: this.#refusedCount,
			lastError: this.#lastError?.message ?? null,
		});
	}

	adopted(session: Session): void {
		this.#callLine = session;
		this.#backoff.reset();
		this.#open();
	}

	lost(): void {
		this.#callLine = undefined;
		this.#retry.cancel();
		this.#outbox.lost();
		this.#after();
	}

	push(session: Session, { event, data }: Push): void {
		if (event !== 'acked' && event !== 'eventWindow') return;
		const owner = ownerOf(data);
		if (owner === undefined) {
			this.#fault(event);
			return;
		}
		if (owner.producer !== this.#outbox.producer || owner.epoch !== this.#outbox.epoch) return;
		// After a goaway the first sidecar still says what it has persisted; how much may be sent is the other's to say.
		if (event === 'acked') this.#acked(data);
		else if (session === this.#callLine) this.#windowed(data);
	}

	/**
	 * Takes no more events, and resolves when all that were taken are persisted and every caller has its answer. Rejects with TIMEOUT
	 * after `drainTimeoutMs`: what is not persisted then is given up. CLOSED when `close` cuts it short.
	 */
	drain(): Promise<void> {
		this.#drained ??= this.#drain();
		return this.#drained;
	}

	/** Gives up what is not persisted: its callers are rejected with CLOSED. Resolves when the uplinks are gone. */
	async close(): Promise<void> {
		this.#drained ??= Promise.resolve();
		this.#outbox.close();
		this.#retry.cancel();
		this.#stall.cancel();
		this.#rejectWaiting();
		this.#after();
		for (const uplink of this.#uplinks) uplink.drop();
		await Promise.all([...this.#uplinks].map(({ gone }) => gone));
	}

	read(data: unknown): OpenedProducer {
		const { epoch, persisted, kept } = this.#outbox;
		const opened = readOpened(data, { epoch, persisted, last: kept.last });
		// From here on the sidecar reports, also while the uplink is still being greeted.
		this.#outbox.epoch = opened.epoch;
		this.#reason = opened.reason;
		return opened;
	}

	opened(uplink: Uplink, opened: OpenedProducer): void {
		this.buffer.eventBytesMax = opened.eventBytesMax;
		this.#obstacle = undefined;
		this.#waits.refusedByStore(opened);
		this.#outbox.opened(uplink, opened);
		this.#reports.push(() => this.#watcher?.opened(opened.lastId));
		this.#after();
	}

	failed(uplink: Uplink, error: SpockError): void {
		if (uplink !== this.#uplink) return;
		this.#lastError = error;
		if (error.retryable) {
			this.#outbox.lost(uplink);
			if (this.#callLine !== undefined && this.#outbox.state !== 'ended') this.#retry.arm(this.#backoff.next());
		} else this.#outbox.noEventsHere(uplink, error);
		this.#after();
	}

	readonly #listener: OutboxListener = {
		newLine: () => {
			// It is adopted, or stalled, on a call line.
			const uplink = new Uplink(this.#host, this.#callLine as Session, this);
			this.#uplink = uplink;
			this.#uplinks.add(uplink);
			void uplink.gone.then(() => this.#uplinks.delete(uplink));
			return uplink;
		},
		refused: (seq, stream, refusal) => {
			this.#refusedCount++;
			const error = refusedError(refusal, stream.name);
			this.#waits.refused(seq, stream, error);
			this.#reports.push(() => this.#watcher?.failed(error));
			if (eventRefusedChannel.hasSubscribers)
				this.#report(eventRefusedChannel, { stream: stream.name, seq, code: error.code, error });
		},
		settled: () => {
			const { persisted, kept } = this.#outbox;
			this.#backoff.reset();
			this.#waits.progressed(persisted);
			if (producerProgressChannel.hasSubscribers)
				this.#report(producerProgressChannel, { persisted, kept: kept.count });
		},
		sent: () => {
			if (this.#stall.pending) return;
			this.#persistedBefore = this.#outbox.persisted;
			this.#stall.arm(this.options.stallMs);
		},
		reported: (error) => {
			this.#lastError = error;
			this.#obstacle = error;
			this.#reports.push(() => this.#watcher?.failed(error));
		},
		kept: () => this.#rejectWaiting(),
		changed: (from, to, event) => {
			if (producerStateChannel.hasSubscribers)
				this.#report(producerStateChannel, { from, to, event, error: this.#lastError ?? null });
		},
	};

	/** There is a call line: the producer is opened on it, with an uplink beside it. */
	#open(): void {
		this.#retry.cancel();
		this.#outbox.adopted();
		if (this.#uplink?.takesEvents === false) this.#outbox.noEventsHere(this.#uplink, this.#noEventsError());
		this.#after();
	}

	/** An error of an earlier connection says nothing of one that is awaited. */
	get #whyNotSent(): string | null {
		if (this.#outbox.window !== undefined) return this.#reason;
		return (this.#callLine && this.#lastError?.message) ?? null;
	}

	#noEventsError(): SpockError {
		const { sidecar } = this.#callLine?.greeting ?? {};
		const message = `${sidecar ?? 'the sidecar'} takes no events: start it with --events DIR, or upgrade it`;
		return new SpockError('UNKNOWN_FUNC', message, { details: { func: 'openProducer' } });
	}

	#acked(data: unknown): void {
		const progress = readAcked(data);
		if (progress === undefined || progress.persisted > this.#outbox.kept.last) {
			this.#fault('acked');
			return;
		}
		this.#waits.refusedByStore(progress);
		this.#outbox.acked(progress);
		this.#after();
	}

	#windowed(data: unknown): void {
		const given = readWindow(data);
		if (given === undefined) {
			this.#fault('eventWindow');
			return;
		}
		const { window, reason } = given;
		this.#reason = reason;
		this.#uplink?.setWindow(window);
		this.#outbox.windowed(window);
		if (producerWindowChannel.hasSubscribers) this.#report(producerWindowChannel, { ...window, reason });
		this.#after();
	}

	/** A message about this producer, which is published when the outbox has finished its work. */
	#report<T extends object>(to: Publisher<T & ProducerMessage>, what: T): void {
		const message = { producer: this.#outbox.producer, ...what };
		this.#reports.push(() => to.publish(message));
	}

	#fault(event: string): void {
		if (!faultChannel.hasSubscribers) return;
		const address = formatAddress(this.#host.options.address);
		faultChannel.publish({ address, kind: 'push', message: `${event} that says what cannot be` });
	}

	/** What waits for room goes before the end; what waits for a store is after it. */
	#endDrain(): void {
		if (this.#onDrained === undefined) return;
		if (this.#waits.queuedCount === 0) this.#outbox.drain();
		if (this.#outbox.state === 'ended' && this.#waits.count === 0) this.#onDrained();
	}

	/** The outbox has done its work: what depends on it, and may emit, comes now. */
	#after(): void {
		this.buffer.admit();
		this.#endDrain();
		if (this.#reports.length === 0) return;
		for (const report of this.#reports.splice(0)) report();
	}

	/** The stall timer is due. */
	#checkProgress(): void {
		const { persisted, expectsProgress, kept } = this.#outbox;
		if (expectsProgress && persisted === this.#persistedBefore) {
			const { stallMs } = this.options;
			const message = `the sidecar has persisted nothing for ${stallMs} ms, although its window is open`;
			this.#lastError = new SpockError('TIMEOUT', message, { details: { stallMs, persisted, kept: kept.count } });
			this.#outbox.stalled();
			this.#after();
		} else if (kept.count > 0 && this.#outbox.state !== 'ended') {
			this.#persistedBefore = persisted;
			this.#stall.arm(this.options.stallMs);
		}
	}

	async #drain(): Promise<void> {
		const { clock, unref } = this.#host.options;
		let isLate = false;
		await new Promise<void>((resolve) => {
			const late = (): void => {
				isLate = true;
				this.#onDrained?.();
			};
			const timer = new OneTimer(clock, late, unref);
			this.#onDrained = () => {
				timer.cancel();
				this.#onDrained = undefined;
				resolve();
			};
			timer.arm(this.options.drainTimeoutMs);
			this.#after();
		});
		const numbers = this.buffer.numbers();
		const { count } = this.#outbox.kept;
		await this.close();
		if (count > 0) throw isLate ? this.#lateError(count, numbers) : closedError();
	}

	#lateError(count: number, numbers: Reached): SpockError {
		const { drainTimeoutMs } = this.options;
		const message = `drain: ${count} events were not persisted within ${drainTimeoutMs} ms, and are given up`;
		return new SpockError('TIMEOUT', message, { details: { drainTimeoutMs, kept: count, ...numbers } });
	}

	#rejectWaiting(): void {
		this.#waits.rejectAll((what, reached) => {
			const message = `${what}: the client was closed or is draining`;
			return new SpockError('CLOSED', message, { details: reached });
		});
	}
}
