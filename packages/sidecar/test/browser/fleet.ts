import { RawClient } from '../raw-client.ts';

/** An app of a fleet: what it says of itself, watches and registers. */
export interface FleetApp {
	readonly name: string;
	readonly library?: string;
	readonly watches?: readonly string[];
	readonly keys?: readonly string[];
	/** The service that it registers an instance of. */
	readonly registers?: string;
	/** What it reports of that. Default passing. */
	readonly status?: string;
	/** With it, the app is silent three of these after it has connected: it sends no ping. */
	readonly heartbeatMs?: number;
	/** Calls in each turn of {@link Fleet.call}. Default 0. */
	readonly calls?: number;
}

const LIBRARY = '@spock/client/0.1.0';

/** Apps on one node, each on a connection of its own. */
export class Fleet implements AsyncDisposable {
	readonly clients: readonly RawClient[];
	readonly #apps: readonly FleetApp[];
	#lastId = 1000;

	private constructor(apps: readonly FleetApp[], clients: readonly RawClient[]) {
		this.#apps = apps;
		this.clients = clients;
	}

	/** Connects the apps, one after the other, so that they are numbered in this order. */
	static async connect(path: string, apps: readonly FleetApp[]): Promise<Fleet> {
		const clients: RawClient[] = [];
		for (const [index, app] of apps.entries()) {
			const client = await RawClient.open(path);
			clients.push(client);
			const { name, library = LIBRARY, heartbeatMs, watches = [], keys = [], registers, status } = app;
			const hello = { versions: [1], client: name, library, pid: 4700 + index, ...(heartbeatMs && { heartbeatMs }) };
			let id = 1;
			await client.ask(id++, 'hello', hello);
			for (const service of watches) await client.ask(id++, 'watchService', { service });
			for (const key of keys) await client.ask(id++, 'watchKey', { key });
			if (registers === undefined) continue;
			const instance = `${registers}-${index + 1}`;
			const data = { service: registers, id: instance, host: '10.12.9.4', port: 8000 + index };
			const reply = await client.ask(id++, 'registerService', data);
			if (reply?.error !== undefined) throw new Error(`cannot register: ${JSON.stringify(reply.error)}`);
			if (status !== undefined) await client.ask(id++, 'reportService', { id: instance, status });
		}
		return new Fleet(apps, clients);
	}

	/** Every app calls once in a while, as often as it was given. */
	async call(): Promise<void> {
		await Promise.all(
			this.clients.map(async (client, index) => {
				const { calls = 0, watches = [] } = this.#apps[index] as FleetApp;
				const [service = 'barista'] = watches;
				for (let count = 0; count < calls; count++) await client.ask(++this.#lastId, 'getService', { service });
			}),
		);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const client of this.clients) await client[Symbol.asyncDispose]();
	}
}
