import { Counter, type Registry } from 'prom-client';

import { factsOf } from './metric-table.ts';

/**
 * A counter with at most one label, counted in plain numbers and handed over at each scrape: prom-client's own counting makes
 * and hashes an object for each count, and pushes and turns are counted thousands of times a second.
 */
export class PlainCounts {
	readonly #counts: Map<string, number>;
	readonly #isClosed: boolean;

	/** Registers the counter of this name; `read` gives, at each scrape, totals that are counted elsewhere. */
	constructor(registry: Registry, name: string, read: () => Readonly<Record<string, number>> = () => ({})) {
		const { help, labels = {} } = factsOf(name);
		const [[label, values] = [undefined, { '': '' }]] = Object.entries(labels);
		this.#isClosed = typeof values === 'object';
		const counts = new Map<string, number>(
			typeof values === 'object' ? Object.keys(values).map((key) => [key, 0]) : [],
		);
		this.#counts = counts;
		new Counter({
			name,
			help,
			labelNames: label === undefined ? [] : [label],
			registers: [registry],
			collect() {
				for (const [value, count] of Object.entries(read())) counts.set(value, count);
				this.reset();
				for (const [value, count] of counts) this.inc(label === undefined ? {} : { [label]: value }, count);
			},
		});
	}

	/** Counts `count` more for this value of the label; a value that a closed label does not have is `other`. */
	add(value = '', count = 1): void {
		const known = this.#counts.get(value);
		if (known !== undefined) this.#counts.set(value, known + count);
		else if (this.#isClosed) this.#counts.set('other', (this.#counts.get('other') ?? 0) + count);
		else this.#counts.set(value, count);
	}
}
