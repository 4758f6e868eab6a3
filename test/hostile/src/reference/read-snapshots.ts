// Written from docs/PROTOCOL.md ("Deltas", "Parts") to be obviously right, and not from the code that it judges: it looks for every
// instance anew, and sorts the whole list each time.

type Members = Readonly<Record<string, unknown>>;

/** A snapshot as it is in JSON. */
export type JsonSnapshot = Members & { readonly revision: number; readonly instances: readonly Members[] };

/** One subscription of a client that knows deltas and parts. */
export class SnapshotReading {
	/** The newest snapshot; undefined before the first. */
	has: JsonSnapshot | undefined;
	/** How often it has to ask for the whole. */
	asks = 0;
	/** Bad instances among those that were sent last. */
	#bad: readonly Members[] = [];
	#base: JsonSnapshot | undefined;
	#parts: { readonly of: unknown; readonly instances: unknown[]; count: number } | undefined;

	/** The connection is a new one. */
	connected(): void {
		this.#base = undefined;
		this.#parts = undefined;
	}

	/** The reply to watchService. */
	reply(data: Members): void {
		this.#whole(this.#joined(data));
	}

	/** A push. */
	push(event: string, data: Members): void {
		if (event === 'part') this.#part(data);
		else if (event === 'service' && 'base' in data) this.#delta(data);
		else if (event === 'service') this.#whole(this.#joined(data));
	}

	#part({ of, index, instances }: Members): void {
		if (index === 0) this.#parts = { of, instances: [], count: 0 };
		const parts = this.#parts;
		if (parts !== undefined && parts.of === of && parts.count === index && Array.isArray(instances)) {
			parts.count++;
			parts.instances.push(...(instances as unknown[]));
		} else this.#parts = undefined;
	}

	#joined(data: Members): Members {
		const { parts: said, ...state } = data;
		if (said === undefined) return data;
		const parts = this.#parts;
		this.#parts = undefined;
		const { of, count } = said as Members;
		return parts?.of === of && parts?.count === count ? { ...state, instances: parts?.instances } : state;
	}

	#whole(data: Members): void {
		const { instances } = data;
		if (!Array.isArray(instances)) {
			this.#ask();
			return;
		}
		this.#take(data, instances as Members[]);
	}

	#delta({ base, changed, gone, ...state }: Members): void {
		// It has asked already, and waits for the reply.
		if (this.#base === undefined) return;
		if ((state['revision'] as number) <= this.#base.revision) return;
		if (base !== this.#base.revision || !Array.isArray(changed) || !Array.isArray(gone)) {
			this.#ask();
			return;
		}
		const news = changed as Members[];
		const before = [...this.#base.instances, ...this.#bad];
		const left = before.filter(
			({ instance }) => !gone.includes(instance) && !news.some((one) => one['instance'] === instance),
		);
		const all = [...left, ...news];
		all.sort((one, other) => ((one['instance'] as string) < (other['instance'] as string) ? -1 : 1));
		this.#take(state, all);
	}

	#take(state: Members, all: readonly Members[]): void {
		const good = all.filter(isGood);
		this.#bad = all.filter((one) => !isGood(one));
		if (good.length === 0 && this.#bad.length > 0) {
			this.#ask();
			return;
		}
		this.#base = { ...state, instances: good } as unknown as JsonSnapshot;
		if (
			this.has === undefined ||
			this.#base.revision > this.has.revision ||
			this.#base['source'] !== this.has['source']
		)
			this.has = this.#base;
	}

	#ask(): void {
		this.asks++;
		this.#base = undefined;
	}
}

/** Of what the vectors and tests have; the other rules on hosts are judged elsewhere. */
function isGood({ host, port }: Members): boolean {
	return typeof host === 'string' && /^[\w.:-]+$/.test(host) && Number.isInteger(port) && (port as number) <= 65_535;
}
