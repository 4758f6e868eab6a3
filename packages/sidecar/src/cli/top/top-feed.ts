import type { ServiceDetail, StatusView } from '../../handlers/status-view.ts';
import { type SidecarTarget, targetOf } from '../client/sidecar-target.ts';
import { WireClient } from '../client/wire-client.ts';
import { asCommandError, type ClientFlags, timeoutOf } from '../client/with-client.ts';
import { CommandError, EXIT } from '../output/exit-codes.ts';
import { viewOfStatus } from './view-of-status.ts';

/** What a sidecar says of itself, asked for again and again over one connection, and over the next one when that is gone. */
export class TopFeed {
	readonly #target: SidecarTarget;
	readonly #timeoutMs: number;
	#client: WireClient | undefined;
	#isClosed = false;

	/** Throws a CommandError for flags that are wrong. */
	constructor(flags: ClientFlags) {
		this.#target = targetOf(flags);
		this.#timeoutMs = timeoutOf(flags);
	}

	/** Rejects with an Error that can be shown. */
	view(): Promise<StatusView> {
		return this.#ask(async (client) => {
			const reply = await client.request('status', { view: true }, this.#timeoutMs);
			return viewOfStatus(reply, Date.now());
		});
	}

	/** The instances of one service, and who watches it. Asking keeps it watched. */
	explain(service: string): Promise<ServiceDetail> {
		return this.#ask(async (client) => {
			const reply = await client.request('explain', { service }, this.#timeoutMs);
			return { key: service, ...reply };
		});
	}

	/** Final; also for a connection that is still being opened. */
	close(): void {
		this.#isClosed = true;
		this.#drop();
	}

	#drop(): void {
		this.#client?.close();
		this.#client = undefined;
	}

	async #ask<T>(ask: (client: WireClient) => Promise<T>): Promise<T> {
		try {
			this.#client ??= await this.#open();
			return await ask(this.#client);
		} catch (error) {
			this.#drop();
			throw asCommandError(error);
		}
	}

	async #open(): Promise<WireClient> {
		const client = await WireClient.open(this.#target, this.#timeoutMs);
		try {
			await client.request('hello', { versions: [1], client: 'sidecar top', pid: process.pid }, this.#timeoutMs);
			if (this.#isClosed) throw new CommandError(EXIT.failure, 'top has ended');
		} catch (error) {
			// Nobody else knows of it: it would hold the process.
			client.close();
			throw error;
		}
		void client.closed.then(() => {
			if (this.#client === client) this.#client = undefined;
		});
		return client;
	}
}
