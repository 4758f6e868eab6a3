import { type AskedBy, SpockError } from '@spock/protocol';
import { offAbort, onAbort } from '@spock/protocol/internal';

/**
 * Concurrent queries for lists of other datacenters, because watches and lookups share their connections. One for the registry's own
 * datacenter has no turn and never waits: others may hang if their datacenter is cut off.
 */
const QUERIES_MAX = 8;
/** Of those, the part for one asker alone: what hangs for one leaves room for all others. */
const QUERIES_SHARE = 0.25;
/** Most datacenters that wait for a free query. */
const WAITING_MAX = 64;
/** Of those, for one asker alone. */
const WAITING_PER_ASKER_MAX = 32;

/** A query that has its turn, or waits for it. */
export interface ListTurn {
	/** The asker whose share it counts against: the only one so far; undefined once there are others. */
	readonly asker: AskedBy['asker'];
	/** Another asker waits for it as well. */
	join(asker: AskedBy['asker']): void;
}

interface Claim extends ListTurn {
	asker: AskedBy['asker'];
}

/** Whose query for a list is sent next. */
export class ListTurns {
	readonly #queriesMax: number;
	readonly #perAskerMax: number;
	readonly #running = new Set<Claim>();
	/** Waiting ones, in their order, and how each begins. */
	readonly #waiting = new Map<Claim, () => void>();

	/** `queriesMax`: as many as the registry runs for this process. */
	constructor(queriesMax: number = QUERIES_MAX) {
		this.#queriesMax = Math.min(QUERIES_MAX, queriesMax);
		this.#perAskerMax = Math.max(1, Math.floor(this.#queriesMax * QUERIES_SHARE));
	}

	/** A claim to a turn. Throws OVERLOADED where too many wait already. */
	claim(asker: AskedBy['asker']): ListTurn {
		const ofAsker = [...this.#waiting.keys()].filter((one) => asker !== undefined && one.asker === asker).length;
		const max = ofAsker >= WAITING_PER_ASKER_MAX ? WAITING_PER_ASKER_MAX : WAITING_MAX;
		if (ofAsker >= max || this.#waiting.size >= max) {
			throw new SpockError('OVERLOADED', `the lists of ${max} datacenters are already pending, which is the limit`);
		}
		const claim: Claim = {
			asker,
			join: (other) => {
				if (other === claim.asker) return;
				claim.asker = undefined;
				this.#next();
			},
		};
		return claim;
	}

	/** Runs the query when it has its turn. Rejects with the signal's reason when that aborts before. */
	async run<T>(turn: ListTurn, signal: AbortSignal, query: () => Promise<T>): Promise<T> {
		const claim = turn as Claim;
		if (this.#hasRoom(claim)) this.#running.add(claim);
		else await this.#wait(claim, signal);
		try {
			return await query();
		} finally {
			this.#running.delete(claim);
			this.#next();
		}
	}

	#wait(claim: Claim, signal: AbortSignal): Promise<void> {
		return new Promise((resolve, reject) => {
			const abort = (): void => {
				this.#waiting.delete(claim);
				reject(signal.reason);
			};
			this.#waiting.set(claim, () => {
				offAbort(signal, abort);
				this.#waiting.delete(claim);
				this.#running.add(claim);
				resolve();
			});
			onAbort(signal, abort);
		});
	}

	#hasRoom({ asker }: Claim): boolean {
		if (this.#running.size >= this.#queriesMax) return false;
		const ofAsker = [...this.#running].filter((one) => one.asker === asker).length;
		return asker === undefined || ofAsker < this.#perAskerMax;
	}

	#next(): void {
		for (const [claim, begin] of [...this.#waiting]) if (this.#hasRoom(claim)) begin();
	}
}
