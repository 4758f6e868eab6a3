import { waitFor } from '@spock/testkit';

const WAIT_MS = 30_000;

interface Entry {
	readonly Service: {
		readonly Address: string;
		readonly CreateIndex: number;
		readonly Meta: Readonly<Record<string, string>>;
	};
	readonly Checks: readonly { readonly Status: string }[];
}

/** Watches what apps have registered at Consul, each one instance of a service, by blocking queries. */
export class RegistrationWatch implements AsyncDisposable {
	/** What was otherwise than at the beginning: one that was not there, not passing, or registered anew; or could not be watched. */
	readonly losses: string[] = [];
	/** By service: the app that has registered it, as its token names it, and its address. */
	readonly registered: Readonly<Record<string, { readonly app: string | undefined; readonly address: string }>>;
	readonly #consul: string;
	readonly #abort = new AbortController();
	readonly #ended: Promise<unknown>;

	private constructor(consul: string, first: ReadonlyMap<string, Entry>) {
		this.#consul = consul;
		const named = [...first].map(([service, { Service }]) => [
			service,
			{ app: Service.Meta['spock-app'], address: Service.Address },
		]);
		this.registered = Object.fromEntries(named);
		const watches = [...first].map(([service, entry]) =>
			this.#watch(service, entry).catch((error: unknown) => void this.losses.push(`${service}: ${String(error)}`)),
		);
		this.#ended = Promise.all(watches);
	}

	/** Resolves when each is there and passing. */
	static async begin(consul: string, services: readonly string[]): Promise<RegistrationWatch> {
		const first = new Map<string, Entry>();
		for (const service of services) {
			const entry = await waitFor(
				`${service} to be passing`,
				async () => (await ask(consul, service)).entries.find(isPassing),
				WAIT_MS,
			);
			first.set(service, entry);
		}
		return new RegistrationWatch(consul, first);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#abort.abort();
		await this.#ended;
	}

	async #watch(service: string, first: Entry): Promise<void> {
		let index = '0';
		while (!this.#abort.signal.aborted) {
			const answer = await ask(this.#consul, service, index, this.#abort.signal).catch((error: unknown) => {
				if (!this.#abort.signal.aborted) throw error;
			});
			if (answer === undefined) return;
			index = answer.index;
			const [entry, ...others] = answer.entries;
			const isSame = entry?.Service.CreateIndex === first.Service.CreateIndex && others.length === 0;
			if (!isSame || !isPassing(entry)) this.losses.push(`${service}: ${JSON.stringify(answer.entries)}`);
		}
	}
}

async function ask(
	consul: string,
	service: string,
	index = '0',
	signal?: AbortSignal,
): Promise<{ readonly index: string; readonly entries: readonly Entry[] }> {
	const url = `${consul}/v1/health/service/${service}?index=${index}&wait=60s`;
	const response = await fetch(url, { ...(signal && { signal }) });
	if (!response.ok) throw new Error(`Consul answers ${response.status}: ${await response.text()}`);
	return {
		index: response.headers.get('x-consul-index') ?? '0',
		entries: (await response.json()) as readonly Entry[],
	};
}

function isPassing({ Checks }: Entry): boolean {
	return Checks.every(({ Status }) => Status === 'passing');
}
