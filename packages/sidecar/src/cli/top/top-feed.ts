import type { StatusReply, WatchStatus } from '@spock/protocol';

import type { ServiceDetail, ServiceView, StatusView } from '../../handlers/status-view.ts';
import { type SidecarTarget, targetOf } from '../client/sidecar-target.ts';
import { WireClient } from '../client/wire-client.ts';
import { asCommandError, type ClientFlags, timeoutOf } from '../client/with-client.ts';
import { CommandError, EXIT } from '../output/exit-codes.ts';

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

/** What a status tells without a view, as of a sidecar of an earlier version: no rates, no connections, no changes. */
export function viewOfStatus(reply: StatusReply, at: number): StatusView {
	if (reply.view !== undefined) return reply.view as StatusView;
	const { sidecar, instance, pid, phase, ready, reasons, backend, connections, subscriptions, watches } = reply;
	return {
		overview: {
			...{ at, sidecar, instance, pid, startedAt: at - reply.uptimeMs, phase, ready, reasons, backend },
			...{ services: watches.length, connections, subscriptions, keys: reply.keyWatches?.length ?? 0 },
			...{ registrations: reply.registrations.length, inFlight: 0, rates: null },
			latency: { boundsMs: [], total: [], recent: [], recentMs: 0 },
		},
		services: watches.map((watch) => serviceOf(watch, at)),
		connections: { count: connections, rows: [] },
		changes: [],
	};
}

function serviceOf(watch: WatchStatus, at: number): ServiceView {
	const { healthyInstances, ageMs, ...view } = watch;
	const isStale = watch.state === 'stale' || watch.state === 'held';
	return {
		...view,
		key: watch.service,
		healthy: healthyInstances,
		changedAt: null,
		staleSince: isStale ? at - ageMs : null,
	};
}
