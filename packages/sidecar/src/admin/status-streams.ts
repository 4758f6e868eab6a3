import type { ServerResponse } from 'node:http';

import type { Clock, TimerHandle } from '@spock/protocol/internal';

import { ADMIN_HEADERS, type AdminPage, textPage } from './admin-page.ts';
import { SAMPLE_MS, type StatusModel, type StatusSample } from './status-model.ts';

/** Most concurrent readers; the next one is asked to retry later. */
const STREAMS_MAX = 16;
/** A reader that takes nothing for so long is cut off; it may come again. */
const BLOCKED_MS_MAX = 30_000;
/** How soon a browser comes again after a stream has ended. */
const RETRY_MS = 1000;

/** Parts that are sent whole when they are different. */
const WHOLE_PARTS = ['connections', 'events', 'registrations', 'keys'] as const;

/** What one reader was sent. */
interface Stream {
	readonly response: ServerResponse;
	/** The text of each service by its key; undefined before the first message. */
	services: ReadonlyMap<string, string> | undefined;
	/** The text of each part that is sent whole. Nothing is sent of events where they are off. */
	readonly whole: Record<(typeof WHOLE_PARTS)[number], string>;
	/** The newest change, by its sequence. */
	change: number;
	blockedSinceMs: number | undefined;
}

/**
 * Server-sent events, everything at first: `overview` every second, which is the heartbeat too; `services` with the rows that are new or different
 * and the keys of those that are gone; `connections`; `events`, where they are on;
 * `registrations`; `keys`; `changes`, those that are new; and `end`. A reader is compared with what
 * it was told last: one that reads slowly is left out until it has read, and then gets the newest state alone.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class StatusStreams {
	readonly #model: Pick<StatusModel, 'current'>;
	readonly #clock: Clock;
	readonly #failed: (error: unknown) => void;
	readonly #streams = new Set<Stream>();
	#timer: TimerHandle | undefined;

	/** Calls `failed` for a sample that could not be taken, a bug, which ends every stream. */
	constructor(model: Pick<StatusModel, 'current'>, clock: Clock, failed: (error: unknown) => void) {
		this.#model = model;
		this.#clock = clock;
		this.#failed = failed;
	}

	get size(): number {
		return this.#streams.size;
	}

	/** Begins a stream; gives the answer in its place when there are too many. */
	open(response: ServerResponse): AdminPage | undefined {
		if (this.#streams.size >= STREAMS_MAX) {
			return textPage(503, `${STREAMS_MAX} event streams are open, which is the limit: retry later\n`, {
				'retry-after': '5',
			});
		}
		const stream: Stream = {
			response,
			services: undefined,
			whole: { connections: '', events: 'null', registrations: '', keys: '' },
			change: 0,
			blockedSinceMs: undefined,
		};
		const sample = this.#model.current();
		response.on('close', () => this.#remove(stream));
		response.writeHead(200, { ...ADMIN_HEADERS, 'content-type': 'text/event-stream' });
		response.write(`retry: ${RETRY_MS}\n\n${news(stream, sample)}`);
		this.#streams.add(stream);
		this.#arm();
		return undefined;
	}

	/** Ends every stream; idempotent. */
	close(): void {
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
		for (const { response } of this.#streams) response.end('event: end\ndata: {}\n\n');
		this.#streams.clear();
	}

	#arm(): void {
		this.#timer ??= this.#clock.setTimeout(() => {
			this.#timer = undefined;
			try {
				this.#tell();
			} catch (error) {
				// Nothing that only shows the sidecar may end it.
				this.close();
				this.#failed(error);
			}
			if (this.#streams.size > 0) this.#arm();
		}, SAMPLE_MS);
		this.#timer.unref?.();
	}

	#tell(): void {
		const sample = this.#model.current();
		const nowMs = this.#clock.now();
		for (const stream of this.#streams) {
			if (stream.response.writableNeedDrain) {
				stream.blockedSinceMs ??= nowMs;
				if (nowMs - stream.blockedSinceMs >= BLOCKED_MS_MAX) stream.response.destroy();
			} else {
				stream.blockedSinceMs = undefined;
				stream.response.write(news(stream, sample));
			}
		}
	}

	#remove(stream: Stream): void {
		this.#streams.delete(stream);
		if (this.#streams.size > 0) return;
		this.#clock.clearTimeout(this.#timer);
		this.#timer = undefined;
	}
}

/** What is new for a reader; marks it as sent. */
function news(stream: Stream, sample: StatusSample): string {
	const { overview, services, changes } = sample;
	let text = event('overview', JSON.stringify(overview));
	const isFirst = stream.services === undefined;
	const told = stream.services ?? new Map<string, string>();
	const rows: string[] = [];
	for (const [key, row] of services) if (told.get(key) !== row.text) rows.push(row.text);
	const gone = [...told.keys()].filter((key) => !services.has(key));
	if (isFirst || rows.length > 0 || gone.length > 0) {
		text += event('services', `{"rows":[${rows.join(',')}],"gone":${JSON.stringify(gone)}}`);
		stream.services = new Map(Array.from(services, ([key, row]) => [key, row.text]));
	}
	for (const name of WHOLE_PARTS) {
		const part = JSON.stringify(sample[name]);
		if (part !== stream.whole[name]) text += event(name, part);
		stream.whole[name] = part;
	}
	const fresh = changes.filter(({ sequence }) => sequence > stream.change);
	if (isFirst || fresh.length > 0) text += event('changes', JSON.stringify(fresh));
	stream.change = changes.at(-1)?.sequence ?? 0;
	return text;
}

/** JSON has no line ends of its own, which would end the event. */
function event(name: string, json: string): string {
	return `event: ${name}\ndata: ${json}\n\n`;
}
