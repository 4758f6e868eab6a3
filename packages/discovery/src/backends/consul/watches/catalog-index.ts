import type { AnswerMeta } from '../../../foundation/backend.ts';
import type { FetchAnswer } from '../../../watch/watch-loop.ts';
import { CATALOG_TABLES, type CatalogTable } from '../client/catalog-tables.ts';
import type { ConsulHttp } from '../http/consul-http.ts';
import { readAnsweredIndex } from './read-answer.ts';
import { noticeRestores } from './restore-watch.ts';
import type { ConsulWatch, WatchRecovery } from './watch-recovery.ts';

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
		this.#watches = CATALOG_TABLES.map((_, number) => this.#watch(number, options));
	}

	/** False before the first answers, and while one of them fails: then nothing shows that a service has not changed. */
	get isKnown(): boolean {
		return this.#known.size === CATALOG_TABLES.length;
	}

	/** Idempotent; nothing is reported after it. */
	stop(): void {
		for (const watch of this.#watches) watch.stop();
	}

	#watch(number: number, { http, recovery, parameters, moved, unmoved, lost }: CatalogIndexOptions): ConsulWatch {
		const { filter, send } = CATALOG_TABLES[number] as CatalogTable;
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
