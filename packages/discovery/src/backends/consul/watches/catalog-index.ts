import type { AnswerMeta } from '../../../foundation/backend.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import type { ConsulClient, ConsulCommon } from '../client/consul-client.ts';
import type { ConsulHttp } from '../http/consul-http.ts';
import { readAnsweredIndex } from './read-answer.ts';
import { noticeRestores } from './restore-watch.ts';
import type { ConsulWatch, WatchRecovery } from './watch-recovery.ts';

/**
 * What there is to know of a service is in three tables, and every change moves the index of one of them: of services, of checks, of
 * nodes. Each is asked for with a filter that nothing passes, so that the index alone comes.
 * Source: https://developer.hashicorp.com/consul/api-docs/catalog#list-services, …/catalog#list-nodes, …/health#list-checks-in-state
 */
const TABLES = [
	{
		filter: 'ServiceName == ""',
		send: (client: ConsulClient, call: ConsulCommon) => client.catalog.service.list(call),
	},
	{
		filter: 'CheckID == ""',
		send: (client: ConsulClient, call: ConsulCommon) => client.health.state({ ...call, state: 'any' }),
	},
	{ filter: 'Node == ""', send: (client: ConsulClient, call: ConsulCommon) => client.catalog.node.list(call) },
] as const;

/** What a {@link CatalogIndex} needs. */
export interface CatalogIndexOptions {
	readonly http: ConsulHttp;
	readonly recovery: WatchRecovery;
	/** Where to look, and how. */
	readonly parameters: Readonly<Record<string, string>>;
	/** Something has changed, as of `ageMs` ago, and had not before: which service does not show. */
	readonly moved: (meta: AnswerMeta) => void;
	/** Nothing has. */
	readonly unmoved: (meta: AnswerMeta) => void;
	/** Something may have changed, at any time since the last of these calls. */
	readonly lost: () => void;
}

/**
 * Whether anything has changed in the catalog of a datacenter. Not what has: the index of a service alone stays where it is if one of
 * its instances is registered under another name (measured with Consul 1.20.2), and an agent's checks are too many to be read.
 */
export class CatalogIndex {
	readonly #watches: readonly ConsulWatch[];
	/** Tables that have not failed since they were answered last. */
	readonly #known = new Set<number>();

	constructor(options: CatalogIndexOptions) {
		this.#watches = TABLES.map((_, number) => this.#watch(number, options));
	}

	/** False before the first answers, and while one of them fails: then nothing shows that a service has not changed. */
	get isKnown(): boolean {
		return this.#known.size === TABLES.length;
	}

	/** Idempotent; nothing is reported after it. */
	stop(): void {
		for (const watch of this.#watches) watch.stop();
	}

	#watch(number: number, { http, recovery, parameters, moved, unmoved, lost }: CatalogIndexOptions): ConsulWatch {
		const { filter, send } = TABLES[number] as (typeof TABLES)[number];
		const blocking = http.blocking<FetchAnswer<true>>({
			parameters: { ...parameters, filter },
			send,
			read: readAnsweredIndex,
		});
		const fetch = noticeRestores(blocking, lost);
		let before: number | undefined;
		return recovery.start<number>({
			// The index is the value: a move counts as a change, and is followed at the pace of one.
			fetch: async (index, signal) => {
				const answer = await fetch(index, signal);
				return { ...answer, value: answer.index };
			},
			isSame: Object.is,
			answered: (index, meta = { ageMs: 0 }) => {
				const isMoved = before !== index;
				const isLost = before === undefined || meta.isUnconfirmed === true;
				before = index;
				this.#known.add(number);
				if (isLost) lost();
				else if (isMoved) moved(meta);
				else if (this.isKnown) unmoved(meta);
			},
			failed: () => {
				this.#known.delete(number);
				before = undefined;
				lost();
			},
		});
	}
}
