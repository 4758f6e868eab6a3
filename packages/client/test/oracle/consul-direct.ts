import { Agent, request } from 'node:http';

import type { ServiceQuery } from '@spock/protocol';

// Consul asked and told directly, by plain HTTP, and its answers read by nothing that the product has a part in.

/** What every view of a question must hold. */
export interface Truth {
	/** One line for each instance, sorted. */
	readonly text: string;
	/** The names of those that may be sent work. */
	readonly serving: ReadonlySet<string>;
	/** Entries of which nobody can make an instance: left out. */
	readonly broken: number;
}

/** What is compared of an instance. */
interface Compared {
	readonly instance: string;
	readonly host: string;
	readonly port: number;
	readonly status: string;
	readonly weight: number;
	readonly tags: readonly string[];
	readonly meta: Readonly<Record<string, string>>;
}

/** The parts of an entry of /v1/health/service that are compared. */
interface Entry {
	readonly Node: { readonly Node: string; readonly Address: string };
	readonly Service: {
		readonly ID: string;
		readonly Address: string;
		readonly Port: number;
		readonly Tags: readonly string[] | null;
		readonly Meta: Readonly<Record<string, string>> | null;
		readonly Weights: { readonly Passing: number; readonly Warning: number };
	};
	readonly Checks: readonly { readonly CheckID: string; readonly Status: string }[];
}

/** An entry of /v1/agent/services. */
export interface AgentService {
	readonly Service: string;
	readonly Address: string;
	readonly Port: number;
	readonly Tags: readonly string[];
	readonly Meta: Readonly<Record<string, string>>;
}

/** An entry of /v1/agent/checks. */
export interface AgentCheck {
	readonly CheckID: string;
	readonly ServiceID: string;
	readonly Status: string;
}

/** The way to one Consul. Whoever makes one ends it. */
export class ConsulDirect implements Disposable {
	readonly url: string;
	readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });

	constructor(url: string) {
		this.url = url;
	}

	/** Changes something; rejects where Consul refuses it. */
	async put(path: string, body?: unknown): Promise<void> {
		await this.#ask('PUT', path, body);
	}

	/** All entries of a service, as Consul's leader has them. */
	async read(service: string): Promise<readonly Entry[]> {
		const text = await this.#ask('GET', `/v1/health/service/${encodeURIComponent(service)}?consistent`);
		return JSON.parse(text) as Entry[];
	}

	/** What the agent itself has, by id. `filter`: https://developer.hashicorp.com/consul/api-docs/features/filtering. Default: all. */
	async servicesAtAgent(filter = ''): Promise<Readonly<Record<string, AgentService>>> {
		return JSON.parse(await this.#ask('GET', `/v1/agent/services?filter=${encodeURIComponent(filter)}`)) as Record<
			string,
			AgentService
		>;
	}

	async checksAtAgent(): Promise<readonly AgentCheck[]> {
		return Object.values(JSON.parse(await this.#ask('GET', '/v1/agent/checks')) as Record<string, AgentCheck>);
	}

	[Symbol.dispose](): void {
		this.#agent.destroy();
	}

	#ask(method: string, path: string, body?: unknown): Promise<string> {
		return new Promise((resolve, reject) => {
			const asked = request(`${this.url}${path}`, { method, agent: this.#agent }, (response) => {
				let text = '';
				response.setEncoding('utf8');
				response.on('data', (chunk: string) => {
					text += chunk;
				});
				response.on('error', reject);
				response.on('end', () => {
					if (response.statusCode === 200) resolve(text);
					else reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
				});
			});
			asked.on('error', reject);
			asked.end(body === undefined ? undefined : JSON.stringify(body));
		});
	}
}

/** What a question is answered with, by the documents of Consul and docs/PROTOCOL.md. */
export function truthOf(entries: readonly Entry[], { tags = [], meta = {} }: Omit<ServiceQuery, 'service'>): Truth {
	const instances = entries
		.filter(({ Service }) => tags.every((tag) => (Service.Tags ?? []).includes(tag)))
		.filter(({ Service }) => Object.entries(meta).every(([name, value]) => own(Service.Meta, name) === value))
		.map(readEntry);
	const whole = instances.filter(({ host, port }) => isHost(host) && port >= 1 && port <= 65_535);
	return {
		text: print(whole),
		serving: new Set(
			whole.filter(({ status }) => /^(?:passing|warning)$/.test(status)).map(({ instance }) => instance),
		),
		broken: instances.length - whole.length,
	};
}

/** The same for two questions that are one, and for no others. */
export function queryText({ service, tags = [], meta = {} }: ServiceQuery): string {
	return JSON.stringify([service, tags, Object.entries(meta)]);
}

/** What is compared, as text. */
export function print(instances: readonly Compared[]): string {
	return instances
		.map(({ instance, host, port, status, weight, tags, meta }) =>
			JSON.stringify([instance, host, port, status, weight, [...tags].sort(), Object.entries(meta).sort()]),
		)
		.sort()
		.join('\n');
}

function readEntry({ Node, Service, Checks }: Entry): Compared {
	const status = worst(Checks);
	return {
		instance: `${Node.Node}/${Service.ID}`,
		host: Service.Address || Node.Address,
		port: Service.Port,
		status,
		weight: status === 'warning' ? Service.Weights.Warning : Service.Weights.Passing,
		tags: Service.Tags ?? [],
		meta: Service.Meta ?? {},
	};
}

function worst(checks: Entry['Checks']): string {
	// The rule of Consul itself (NodeMaint, ServiceMaintPrefix): https://github.com/hashicorp/consul/blob/v1.20.2/api/agent.go
	if (checks.some(({ CheckID }) => /^(?:_node_maintenance$|_service_maintenance:)/.test(CheckID))) return 'maintenance';
	const order = ['critical', 'warning'];
	return order.find((status) => checks.some(({ Status }) => Status === status)) ?? 'passing';
}

/** No connection can be made to, and no header written with, anything else. */
function isHost(host: string): boolean {
	return host !== '' && !/[\s\p{C}]/u.test(host);
}

function own(meta: Readonly<Record<string, string>> | null, name: string): string | undefined {
	return meta !== null && Object.hasOwn(meta, name) ? meta[name] : undefined;
}
