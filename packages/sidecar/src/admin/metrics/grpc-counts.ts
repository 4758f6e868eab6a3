import { Counter, type Registry } from 'prom-client';

import { factsOf } from './metric-table.ts';

/** Calls of the gRPC front, in plain numbers that are handed over at each scrape; both labels are of closed sets. */
export class GrpcCounts {
	readonly #counts = new Map<string, Map<string, number>>();

	constructor(registry: Registry) {
		const name = 'spock_grpc_requests_total';
		const { help, labels: { method: methods = {} } = {} } = factsOf(name);
		for (const method of Object.keys(methods)) this.#counts.set(method, new Map([['OK', 0]]));
		const counts = this.#counts;
		new Counter({
			name,
			help,
			labelNames: ['method', 'code'],
			registers: [registry],
			collect() {
				this.reset();
				for (const [method, codes] of counts) {
					for (const [code, count] of codes) this.inc({ method, code }, count);
				}
			},
		});
	}

	add(method: string, code: string): void {
		const codes = this.#counts.get(method);
		codes?.set(code, (codes.get(code) ?? 0) + 1);
	}
}
