import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';

import { waitFor } from '@spock/testkit';

import { askWorker, bundleWorker, killWorker, startWorker, workerReply } from '../worker-process.ts';
import {
	type Agreement,
	addAgreements,
	addTallies,
	type LookupCommand,
	type LookupReply,
	type LookupSettings,
	type Tally,
} from './lookup-messages.ts';

const PROCESSES = 4;
const CLIENTS_EACH = 8;
/** Every client looks up every service once before it is ready: thousands of first lookups take their time. */
const READY_MS_MAX = 90_000;
const ANSWER_MS_MAX = 30_000;
/** What Consul has is read again after this, and that must not be what keeps it busy: a thousand services take a second. */
const READ_AGAIN_MS_MIN = 1000;
const READ_SHARE = 5;

type ReplyTo<Kind extends LookupCommand['kind']> = Extract<LookupReply, { readonly kind: Kind }>;

/** 32 clients in 4 processes that look up without pause. */
export class LookupFleet implements AsyncDisposable {
	readonly #directory: string;
	readonly #workers: ChildProcess[];

	private constructor(directory: string, workers: ChildProcess[]) {
		this.#directory = directory;
		this.#workers = workers;
	}

	/** Resolves when every client has looked up every service once. */
	static async start(path: string, services: readonly string[]): Promise<LookupFleet> {
		const directory = await mkdtemp('/tmp/spock-fleet-');
		const worker = await bundleWorker(new URL('lookup-worker.ts', import.meta.url), directory);
		const settings: LookupSettings = { path, clients: CLIENTS_EACH, services };
		const workers = Array.from({ length: PROCESSES }, () => startWorker(worker, { settings }));
		const fleet = new LookupFleet(directory, workers);
		try {
			await Promise.all(workers.map((process) => workerReply<LookupReply, 'ready'>(process, 'ready', READY_MS_MAX)));
			return fleet;
		} catch (error) {
			await fleet[Symbol.asyncDispose]();
			throw error;
		}
	}

	/** What happened since the last tally. */
	async tally(): Promise<Tally> {
		return addTallies(await this.#ask({ kind: 'tally' }));
	}

	/**
	 * Waits until every client has what `read` gives, which is asked again and again, also where it fails: an agent that answers again may
	 * still have a connection to a server that does not. Rejects with a difference at the bound.
	 */
	async whenAgreed(read: () => Promise<Readonly<Record<string, string>>>, timeoutMs: number): Promise<Agreement> {
		let last: Agreement | undefined;
		let unread: unknown;
		let readAgainMs = Number.NEGATIVE_INFINITY;
		try {
			return await waitFor(
				'all clients to agree with Consul',
				async () => {
					// Read again now and then: a write that hung in a fault may still come to pass.
					const startedMs = performance.now();
					if (startedMs > readAgainMs) {
						const expected = await read().catch((reason: unknown) => {
							unread = reason;
						});
						if (expected === undefined) return undefined;
						await this.#ask({ kind: 'expect', expected });
						const nowMs = performance.now();
						readAgainMs = nowMs + Math.max(READ_AGAIN_MS_MIN, READ_SHARE * (nowMs - startedMs));
					}
					last = addAgreements(await this.#ask({ kind: 'agreement' }));
					return last.differing === 0 ? last : undefined;
				},
				timeoutMs,
			);
		} catch (error) {
			const { differing = 0, example = null } = last ?? {};
			const unreadWords = unread === undefined ? '' : ` Consul could not be read: ${String(unread)}.`;
			throw new Error(`${differing} of the clients' services differ from Consul's. ${example}${unreadWords}`, {
				cause: error,
			});
		}
	}

	/** How they compare with this now. */
	async compare(expected: Readonly<Record<string, string>>): Promise<Agreement> {
		await this.#ask({ kind: 'expect', expected });
		return addAgreements(await this.#ask({ kind: 'agreement' }));
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await Promise.all(this.#workers.map(killWorker));
		await rm(this.#directory, { recursive: true, force: true });
	}

	/** All processes at once; one command is under way at a time. */
	#ask<Command extends LookupCommand>(command: Command): Promise<ReplyTo<Command['kind']>[]> {
		return Promise.all(
			this.#workers.map((process) => askWorker<LookupReply, Command['kind']>(process, command, ANSWER_MS_MAX)),
		) as Promise<ReplyTo<Command['kind']>[]>;
	}
}
