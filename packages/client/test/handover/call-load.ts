import { type ConnectOptions, connect, type Diplomat } from '@spock/client';

/** Services of the load: each has one instance, whose port says whose it is. */
const SERVICES = 64;
const FIRST_PORT = 10_000;

/** What came of the calls of a load. */
export interface LoadFigures {
	/** Calls over the wire that were answered, and lookups in the process. */
	readonly answered: number;
	readonly lookups: number;
	/** The first errors, whatever they were. */
	readonly failures: readonly string[];
	readonly failed: number;
	/** Answers that belong to another call. */
	readonly misdelivered: number;
}

/** The services that the load asks for, as a services file has them. */
export function loadServices(): Record<string, readonly { host: string; port: number }[]> {
	return Object.fromEntries(
		Array.from({ length: SERVICES }, (_, index) => [`s${index}`, [{ host: '10.0.0.1', port: FIRST_PORT + index }]]),
	);
}

/** Several clients that ask without pause, each with many calls in flight, and look at every answer. */
export class CallLoad implements AsyncDisposable {
	readonly clients: readonly Diplomat[];
	readonly #running: Promise<void>[];
	#stopped = false;
	#answered = 0;
	#lookups = 0;
	#failed = 0;
	#misdelivered = 0;
	readonly #failures: string[] = [];

	private constructor(clients: readonly Diplomat[], inFlight: number) {
		this.clients = clients;
		this.#running = clients.flatMap((client) =>
			Array.from({ length: inFlight }, (_, offset) => this.#ask(client, offset)),
		);
	}

	static async start(options: ConnectOptions, clientCount: number, inFlight: number): Promise<CallLoad> {
		const clients = await Promise.all(Array.from({ length: clientCount }, () => connect(options)));
		// Known once, lookups in the process must go on for ever.
		await Promise.all(clients.flatMap((client) => Object.keys(loadServices()).map((name) => client.getService(name))));
		return new CallLoad(clients, inFlight);
	}

	figures(): LoadFigures {
		return {
			answered: this.#answered,
			lookups: this.#lookups,
			failures: this.#failures,
			failed: this.#failed,
			misdelivered: this.#misdelivered,
		};
	}

	/** Asks nothing new, waits for what is in flight and for the clients to be closed. */
	async [Symbol.asyncDispose](): Promise<void> {
		this.#stopped = true;
		await Promise.all(this.#running);
		await Promise.all(this.clients.map((client) => client.drain()));
	}

	async #ask(client: Diplomat, offset: number): Promise<void> {
		for (let turn = offset; !this.#stopped; turn += 7) {
			const index = turn % SERVICES;
			try {
				const fresh = await client.getService(`s${index}`, { fresh: true });
				this.#answered++;
				if (fresh.port !== FIRST_PORT + index) this.#misdelivered++;
				const known = await client.getService(`s${index}`);
				this.#lookups++;
				if (known.port !== FIRST_PORT + index) this.#misdelivered++;
			} catch (error) {
				this.#failed++;
				if (this.#failures.length < 10) this.#failures.push(String(error));
			}
			// Not quite without pause: the processes under test share this machine's cores with the load.
			await new Promise<void>((resolve) => setTimeout(resolve, 2));
		}
	}
}
