import type { ClientRequest, IncomingMessage } from 'node:http';

import { Backoff, isObject } from '@spock/protocol/internal';
import { formatAddress, parseHostPort } from '@spock/protocol/node';

import type { ServiceDetail, StatusView } from '../../admin/status-view.ts';
import { CommandError, EXIT } from '../output/output.ts';
import { StatusEvents } from './status-events.ts';

const RETRY_DELAYS = { delayMsMin: 100, delayMsMax: 2000 };
/** Longest answer that is read. 10,000 services are about 4 million characters. */
const BODY_CHARACTERS_MAX = 2 ** 26;
/** Of a page that was not expected, so many characters are shown. */
const REASON_CHARACTERS_MAX = 200;

/** Reads HOST:PORT, as `--admin` of `start` does. Throws a CommandError. */
export function adminAddressOf(text: string): { readonly host: string; readonly port: number } {
	try {
		const { host, port } = parseHostPort(text);
		// Of a sidecar that listens at every address, one is enough.
		return { host: host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host, port };
	} catch (cause) {
		throw new CommandError(EXIT.usage, `--admin, or SPOCK_ADMIN, must be HOST:PORT, not ${text}`, { cause });
	}
}

/** Receives what the admin server sends. */
export interface FeedListener {
	view(view: StatusView): void;
	/** There is no view now; the feed goes on trying. */
	lost(error: Error): void;
}

/** The admin server of a sidecar: its status once, one service, and its events for as long as wanted. */
export class TopFeed {
	readonly #address: { readonly host: string; readonly port: number };
	readonly #timeoutMs: number;
	readonly #backoff = new Backoff(RETRY_DELAYS);
	readonly #requests = new Set<ClientRequest>();
	#retryTimer: NodeJS.Timeout | undefined;
	#isClosed = false;

	/** `timeoutMs`: how long an answer, or the silence of a stream, may take. */
	constructor(address: { readonly host: string; readonly port: number }, timeoutMs: number) {
		this.#address = address;
		this.#timeoutMs = timeoutMs;
	}

	/** Rejects with a CommandError. */
	async view(): Promise<StatusView> {
		const view = await this.#json('/status.json');
		if (isStatusView(view)) return view;
		throw this.#stranger();
	}

	/** The instances of one service, and who watches it. Asking does not keep it watched. Rejects with a CommandError. */
	async service(key: string): Promise<ServiceDetail> {
		return (await this.#json(`/service.json?key=${encodeURIComponent(key)}`)) as ServiceDetail;
	}

	/** Reads the events until `close`; a stream that ends or says nothing is opened anew. Call it once. */
	follow(listener: FeedListener): void {
		const again = (error: Error): void => {
			if (this.#isClosed) return;
			listener.lost(error);
			this.#retryTimer = setTimeout(() => this.follow(listener), this.#backoff.next());
		};
		this.#stream(listener).then(() => again(this.#unreachable('it ended its event stream')), again);
	}

	/** Final. */
	close(): void {
		this.#isClosed = true;
		clearTimeout(this.#retryTimer);
		for (const request of this.#requests) request.destroy();
	}

	async #stream(listener: FeedListener): Promise<void> {
		const events = new StatusEvents();
		// The sidecar sends something every second.
		await this.#read('/events', 'silence', (piece) => {
			if (!events.read(piece) || events.view === undefined) return;
			this.#backoff.reset();
			listener.view(events.view);
		});
	}

	async #json(path: string): Promise<unknown> {
		let body = '';
		await this.#read(path, 'answer', (piece) => {
			body += piece;
			if (body.length > BODY_CHARACTERS_MAX)
				throw new Error(`its answer is longer than ${BODY_CHARACTERS_MAX} characters`);
		});
		try {
			return JSON.parse(body);
		} catch (cause) {
			throw this.#stranger(cause);
		}
	}

	/** Reads a page to its end, piece by piece. `within` says what the time limit is for: the whole answer, or each silence. */
	async #read(path: string, within: 'answer' | 'silence', take: (piece: string) => void): Promise<void> {
		const { get } = await import('node:http');
		if (this.#isClosed) throw this.#unreachable('top has ended');
		const limitMs = this.#timeoutMs;
		let timer: NodeJS.Timeout | undefined;
		let request: ClientRequest | undefined;
		let late: CommandError | undefined;
		try {
			const response = await new Promise<IncomingMessage>((resolve, reject) => {
				request = get({ ...this.#address, path, agent: false }, resolve).on('error', reject);
				this.#requests.add(request);
				const why = `does not answer: it sent nothing for ${limitMs} ms; --timeout allows more`;
				timer = setTimeout(() => {
					late = new CommandError(EXIT.noSidecar, `the admin server at ${this.#name} ${why}`);
					request?.destroy(late);
				}, limitMs);
			});
			if (response.statusCode !== 200) throw await this.#refusal(path, response);
			for await (const piece of response.setEncoding('utf8')) {
				if (within === 'silence') timer?.refresh();
				take(piece);
			}
		} catch (error) {
			// Once the head of an answer was read, Node reports a destroyed request as a reset, whatever it was destroyed with.
			if (late !== undefined) throw late;
			throw error instanceof CommandError ? error : this.#unreachable(reasonOf(error as Error), error);
		} finally {
			clearTimeout(timer);
			request?.destroy();
			if (request !== undefined) this.#requests.delete(request);
		}
	}

	async #refusal(path: string, response: IncomingMessage): Promise<CommandError> {
		const [text = ''] = (await response.setEncoding('utf8').take(1).toArray()) as string[];
		const { statusCode } = response;
		if (statusCode === 404) {
			if (!path.startsWith('/service.json')) return this.#stranger();
			return new CommandError(EXIT.failure, 'no client watches this service any more');
		}
		return new CommandError(
			EXIT.failure,
			`the admin server at ${this.#name} answered ${statusCode}: ${text.trim().slice(0, REASON_CHARACTERS_MAX)}`,
		);
	}

	#stranger(cause?: unknown): CommandError {
		const message = `what listens at ${this.#name} is not the admin server of a sidecar`;
		return new CommandError(EXIT.failure, message, { cause });
	}

	#unreachable(reason: string, cause?: unknown): CommandError {
		const name = this.#name;
		const message = `no admin server at ${name}: ${reason}. Start the sidecar with --admin ${name}, or name its address with --admin or SPOCK_ADMIN`;
		return new CommandError(EXIT.noSidecar, message, { cause });
	}

	get #name(): string {
		return formatAddress(this.#address);
	}
}

function reasonOf({ code, message }: NodeJS.ErrnoException): string {
	if (code === 'ECONNREFUSED') return 'no process listens there';
	if (code === 'ECONNRESET') return 'it closed the connection';
	return message;
}

/** True for JSON with the four parts of a status: whatever else listens at the port may answer with JSON too. */
function isStatusView(value: unknown): value is StatusView {
	const { overview, services, connections, changes } = (value ?? {}) as Partial<Record<keyof StatusView, unknown>>;
	return isObject(overview) && isObject(connections) && Array.isArray(services) && Array.isArray(changes);
}
