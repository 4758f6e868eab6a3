import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';

import { type ErrorCode, SpockError } from '@spock/protocol';
import { messageOf, withAnySignal, withBrackets } from '@spock/protocol/internal';

import type { EventStore, StoreReader } from '../../foundation/event-store.ts';
import type { LogEvent } from '../../foundation/log-record.ts';
import { orUnavailable } from '../../foundation/unavailable.ts';
import { BATCH_TYPE, cloudEvent } from './cloud-events.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
/** What is shown of an answer that is no success. */
const ANSWER_LENGTH_MAX = 300;
/** Answers that are about what was sent, so that one of the events is never taken. Every other one is about the server. */
const REFUSALS: Readonly<Record<number, ErrorCode>> = {
	400: 'BAD_REQUEST',
	413: 'FRAME_TOO_LARGE',
	415: 'BAD_REQUEST',
	422: 'BAD_REQUEST',
};

export interface HttpStoreOptions {
	/** Where batches are posted; asked for each batch, as a registry may move it. `{stream}` stands for the name of the stream. */
	readonly url: () => string | Promise<string>;
	/** Unique among all logs that write there, as a part of the source and the ids of events. */
	readonly owner: string;
	/** Sent with each batch, such as `authorization`; asked for each. Default: none. */
	readonly headers?: () => Promise<Readonly<Record<string, string>>>;
	/** Of one batch, in milliseconds. Default 30000. */
	readonly timeoutMs?: number;
	/** PEM of the authorities to be trusted for https. Default: those of Node. */
	readonly ca?: string | undefined;
}

/** The batches of one stream, one behind the other. */
interface Queue {
	tail: Promise<void>;
	/** Calls that are not settled. */
	count: number;
}

/**
 * A web server that takes batches of CloudEvents 1.0: each stream in order, one batch at a time. What was answered with a 2xx is stored; all else is
 * sent again, in other batches, so that the server may be given an event twice, with the same id. It cannot be read from here.
 */
export class HttpStore implements EventStore {
	readonly name = 'http';
	readonly #options: HttpStoreOptions;
	readonly #http = new HttpAgent({ keepAlive: true });
	readonly #https: HttpsAgent;
	readonly #queues = new Map<string, Queue>();
	readonly #closing = new AbortController();

	constructor(options: HttpStoreOptions) {
		this.#options = options;
		this.#https = new HttpsAgent({ keepAlive: true, ca: options.ca });
	}

	append(stream: string, events: readonly LogEvent[], stored: (position: number) => void): Promise<void> {
		const queue = this.#queues.get(stream) ?? { tail: Promise.resolve(), count: 0 };
		this.#queues.set(stream, queue);
		queue.count++;
		const appended = queue.tail
			.then(() => this.#post(stream, events))
			.then(() => stored((events.at(-1) as LogEvent).position))
			.finally(() => {
				queue.count--;
				if (queue.count === 0) this.#queues.delete(stream);
			});
		queue.tail = appended;
		return appended;
	}

	/** Nobody can be asked. */
	async lastOf(): Promise<undefined> {
		return undefined;
	}

	/** What was acknowledged is taken for stored. */
	async holds(): Promise<boolean> {
		return true;
	}

	async reader(stream: string): Promise<StoreReader> {
		throw new SpockError(
			'BAD_REQUEST',
			`stream "${stream}" goes to a web server, and cannot be consumed here: consume it there`,
		);
	}

	async deleteGroup(stream: string, group: string): Promise<void> {
		throw new SpockError('BAD_REQUEST', `unknown group "${group}" of stream "${stream}", which goes to a web server`);
	}

	async close(): Promise<void> {
		this.#closing.abort();
		await Promise.allSettled([...this.#queues.values()].map(({ tail }) => tail));
		this.#http.destroy();
		this.#https.destroy();
	}

	async #post(stream: string, events: readonly LogEvent[]): Promise<void> {
		const { owner, headers, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
		const url = await this.#urlOf(stream);
		const body = Buffer.from(`[${events.map((event) => cloudEvent(event, owner)).join(',')}]`);
		const [first, last] = [events[0] as LogEvent, events.at(-1) as LogEvent];
		const all = {
			...(await orUnavailable(() => headers?.())),
			'content-type': BATCH_TYPE,
			'content-length': String(body.length),
			'idempotency-key': JSON.stringify(`${first.position}-${last.position}@${owner}`),
		};
		const signals = [this.#closing.signal, AbortSignal.timeout(timeoutMs)];
		const { status, text } = await withAnySignal(signals, (signal) => this.#send(url, signal, body, all));
		if (status >= 200 && status < 300) return;
		const message = `${url.origin} answered ${status}${text === '' ? '' : `: ${text}`}`;
		throw new SpockError(REFUSALS[status] ?? 'UNAVAILABLE', message, { details: { status } });
	}

	async #urlOf(stream: string): Promise<URL> {
		const text = await orUnavailable(this.#options.url);
		if (text.includes('{stream}') && /^\.\.?$/.test(stream)) {
			throw new SpockError('BAD_REQUEST', `a stream named "${stream}" has no URL of its own: it would be one above`);
		}
		const filled = withBrackets(text.replaceAll('{stream}', encodeURIComponent(stream)));
		if (URL.canParse(filled) && /^https?:/i.test(filled)) return new URL(filled);
		throw new SpockError('UNAVAILABLE', `the address of the store is no http or https URL: ${text}`);
	}

	#send(
		url: URL,
		signal: AbortSignal,
		body: Buffer,
		headers: Readonly<Record<string, string>>,
	): Promise<{ readonly status: number; readonly text: string }> {
		const isSecure = url.protocol === 'https:';
		return new Promise((resolve, reject) => {
			const fail = (error: Error): void => {
				const why = messageOf(signal.aborted ? signal.reason : error);
				reject(new SpockError('UNAVAILABLE', `${url.origin} cannot be reached: ${why}`, { cause: error }));
			};
			const answered = (answer: IncomingMessage): void => {
				let text = '';
				answer.setEncoding('utf8');
				answer.on('data', (chunk: string) => {
					// The rest is read and left, so that the connection can be used again.
					text = (text + chunk).slice(0, ANSWER_LENGTH_MAX);
				});
				answer.on('error', fail);
				answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
			};
			const request = isSecure
				? requestHttps(url, { method: 'POST', headers, signal, agent: this.#https }, answered)
				: requestHttp(url, { method: 'POST', headers, signal, agent: this.#http }, answered);
			request.on('error', fail);
			request.end(body);
		});
	}
}
