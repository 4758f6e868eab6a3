import type { CallOutcome, Diplomat, Lease } from '@spock/client';

/** What became of the leases of a Diplomat. */
export class LeaseLedger {
	readonly outcomes: CallOutcome[] = [];
	/** How long each took, in milliseconds; undefined where nobody said. */
	readonly durationsMs: Array<number | undefined> = [];
	/** By `report`, without a lease. */
	readonly reported: string[] = [];
	#open = 0;
	readonly #seen = new WeakSet<Lease>();

	constructor(diplomat: Diplomat) {
		const tryAcquire = diplomat.tryAcquire.bind(diplomat);
		const acquire = diplomat.acquire.bind(diplomat);
		const report = diplomat.report.bind(diplomat);
		diplomat.tryAcquire = (...args) => {
			const lease = tryAcquire(...args);
			return lease && this.#entered(lease);
		};
		diplomat.acquire = async (...args) => this.#entered(await acquire(...args));
		diplomat.report = (address, outcome, durationMs) => {
			this.reported.push(`${address.instance} ${outcome}`);
			report(address, outcome, durationMs);
		};
	}

	/** Leases that nobody has given back: calls in flight. */
	get open(): number {
		return this.#open;
	}

	#entered(lease: Lease): Lease {
		if (this.#seen.has(lease)) return lease;
		this.#open++;
		let isReleased = false;
		const watched: Lease = {
			query: lease.query,
			address: lease.address,
			release: (outcome, durationMs) => {
				if (isReleased) return;
				isReleased = true;
				this.#open--;
				this.outcomes.push(outcome);
				this.durationsMs.push(durationMs);
				lease.release(outcome, durationMs);
			},
		};
		this.#seen.add(watched);
		return watched;
	}
}
