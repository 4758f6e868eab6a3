import { Agent, request } from 'node:http';

/** Registers instances in Consul's catalog over one connection that is kept. */
export class CatalogWriter implements Disposable {
	readonly #url: URL;
	readonly #agent = new Agent({ keepAlive: true, maxSockets: 4 });

	constructor(url: string) {
		this.#url = new URL(url);
	}

	/** Registers the one instance of a service, or moves it to another port. Resolves when Consul has it. */
	put(service: string, port: number): Promise<void> {
		return this.putInstance(service, service, port);
	}

	/** The same for one instance of several, by its ID. */
	putInstance(service: string, id: string, port: number): Promise<void> {
		const body = JSON.stringify({
			Node: 'bench',
			Address: '10.0.0.12',
			SkipNodeUpdate: true,
			Service: { ID: id, Service: service, Address: '10.0.0.12', Port: port, Weights: { Passing: 1, Warning: 1 } },
			Check: { CheckID: `check-${id}`, Name: 'check', ServiceID: id, Status: 'passing' },
		});
		return new Promise((resolve, reject) => {
			const sent = request(
				new URL('/v1/catalog/register', this.#url),
				{ agent: this.#agent, method: 'PUT', headers: { 'content-length': Buffer.byteLength(body) } },
				(answer) => {
					answer.resume();
					answer.on('error', reject);
					answer.on('end', () => {
						if (answer.statusCode === 200) resolve();
						else reject(new Error(`registering ${service} was answered ${answer.statusCode}`));
					});
				},
			);
			sent.on('error', reject);
			sent.end(body);
		});
	}

	[Symbol.dispose](): void {
		this.#agent.destroy();
	}
}
