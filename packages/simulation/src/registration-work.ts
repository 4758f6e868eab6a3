import type { ErrorCode } from '@spock/protocol';

import { mayFail } from './expected-error.ts';
import type { SimClient } from './sim-client.ts';

/** What an app does with the registrations of its own instances. */
export class RegistrationWork {
	readonly #client: SimClient;

	constructor(client: SimClient) {
		this.#client = client;
	}

	register(): void {
		const { random, book, claimed, diplomat, options, process } = this.#client;
		if (claimed.size >= 3) return;
		const port = random.between(20_000, 20_999);
		const id = `app-${process.id}-${port}`;
		if (claimed.has(id)) return;
		book.call(
			{
				what: `register ${id}`,
				timeoutMs: options.timeoutMs,
				answered: (registration) => {
					claimed.set(id, { id, port, status: 'passing', reports: 0, registration });
				},
				mayFail: (code) => this.#mayFail(code),
			},
			() => diplomat.register({ service: 'app', id, host: '10.0.0.1', port }),
		);
	}

	report(): void {
		const { random, book, claimed, options } = this.#client;
		const one = random.pick([...claimed.values()]);
		if (one === undefined) return;
		const status = random.pick(['passing', 'warning', 'critical'] as const);
		const report = ++one.reports;
		one.status = undefined;
		book.call(
			{
				what: `report ${one.id} ${status}`,
				timeoutMs: options.timeoutMs,
				answered: () => {
					// One that was made later counts, whatever came of it.
					if (report === one.reports) one.status = status;
				},
				mayFail: (code) => code === 'NO_SUCH_SERVICE' || this.#mayFail(code),
			},
			() => one.registration.report(status),
		);
	}

	deregister(): void {
		const { random, book, claimed, options } = this.#client;
		const one = random.pick([...claimed.values()]);
		if (one === undefined) return;
		claimed.delete(one.id);
		book.call(
			{
				what: `deregister ${one.id}`,
				timeoutMs: options.timeoutMs,
				answered: () => undefined,
				mayFail: (code) => this.#mayFail(code),
			},
			() => one.registration.drain(),
		);
	}

	#mayFail(code: ErrorCode): boolean {
		return mayFail(this.#client, code);
	}
}
