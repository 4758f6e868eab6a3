import type { RealConsul } from '@spock/testkit';

/** One instance as Consul publishes it. */
export interface PublishedInstance {
	readonly id: string;
	readonly address: string;
	readonly status: 'passing' | 'warning' | 'critical';
	readonly output: string;
	readonly createIndex: number;
	readonly service: {
		readonly Port: number;
		readonly Tags: readonly string[];
		readonly Meta: Readonly<Record<string, string>>;
		readonly Weights: { readonly Passing: number; readonly Warning: number };
		readonly TaggedAddresses: Readonly<Record<string, { readonly Address: string; readonly Port: number }>>;
	};
	readonly checks: readonly string[];
}

interface Entry {
	readonly Service: PublishedInstance['service'] & {
		readonly ID: string;
		readonly Address: string;
		readonly CreateIndex: number;
	};
	readonly Checks: readonly { readonly CheckID: string; readonly Status: string; readonly Output: string }[];
}

/** Follows a service at Consul by blocking queries, as any other consumer does: every state that it publishes is seen. */
export class ConsulHealth implements AsyncDisposable {
	/** Every state seen so far, in order, with the moment it was seen. */
	readonly seen: { readonly atMs: number; readonly instances: readonly PublishedInstance[] }[] = [];
	readonly #stop = new AbortController();
	readonly #following: Promise<void>;

	constructor(consul: RealConsul, service: string) {
		this.#following = this.#follow(`${consul.url}/v1/health/service/${service}`);
	}

	/** The instances now; undefined before the first answer. */
	get now(): readonly PublishedInstance[] | undefined {
		return this.seen.at(-1)?.instances;
	}

	/** The states that one instance went through, each once in a row: `passing`, `critical`, `gone`. */
	statesOf(id: string): string[] {
		const states = this.seen.map(({ instances }) => instances.find((one) => one.id === id)?.status ?? 'gone');
		return states.filter((state, index) => state !== states[index - 1]);
	}

	/** When an instance was first seen in a state, on the clock of `performance.now`. */
	firstMs(id: string, status: PublishedInstance['status'] | 'gone'): number | undefined {
		return this.seen.find(({ instances }) => (instances.find((one) => one.id === id)?.status ?? 'gone') === status)
			?.atMs;
	}

	/** Forgets the past. */
	clear(): void {
		this.seen.splice(0, this.seen.length - 1);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stop.abort();
		await this.#following;
	}

	async #follow(url: string): Promise<void> {
		const { signal } = this.#stop;
		for (let index = '0'; !signal.aborted; ) {
			try {
				const response = await fetch(`${url}?index=${index}&wait=10s`, { signal });
				const entries = (await response.json()) as readonly Entry[];
				index = response.headers.get('x-consul-index') ?? '0';
				this.seen.push({ atMs: performance.now(), instances: entries.map(published) });
			} catch {
				// Consul is restarted by some tests: it is asked again from the start.
				index = '0';
				await new Promise((resolve) => setTimeout(resolve, 20));
			}
		}
	}
}

function published({ Service, Checks }: Entry): PublishedInstance {
	const own = Checks.find(({ CheckID }) => CheckID === `spock:ttl:${Service.ID}`);
	const statuses = Checks.map(({ Status }) => Status);
	return {
		id: Service.ID,
		address: Service.Address,
		status: statuses.includes('critical') ? 'critical' : statuses.includes('warning') ? 'warning' : 'passing',
		output: own?.Output ?? '',
		createIndex: Service.CreateIndex,
		service: Service,
		checks: Checks.map(({ CheckID }) => CheckID).filter((id) => id !== 'serfHealth'),
	};
}
