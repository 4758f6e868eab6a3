import type { ServiceAddress, ServiceInstance } from '@spock/protocol';

/**
 * How the services of the cluster suite are named and where they pretend to run: the address and the id of every instance
 * say whose it is, so that an answer for another service cannot hide.
 */
export function serviceName(service: number): string {
	return `svc-${String(service).padStart(4, '0')}`;
}

/** Unique among all instances. */
export function instanceId(service: number, instance: number): string {
	return `${serviceName(service)}-${instance}`;
}

export function hostOf(service: number, instance: number): string {
	return `10.${service >> 8}.${service & 255}.${instance + 1}`;
}

export function portOf(service: number): number {
	return 20_000 + service;
}

/** True if an answer is an instance of the service that was asked for. */
export function isOf(name: string, { host, port, instance }: ServiceAddress): boolean {
	const service = Number(name.slice('svc-'.length));
	return (
		port === portOf(service) && host.startsWith(hostOf(service, -1).slice(0, -1)) && instance.includes(`/${name}-`)
	);
}

/** Whether an instance gets work, as the name of its last part: what Consul's checks make of it. */
type Status = 'passing' | 'warning' | 'critical';

/** One entry of Consul's answer to /v1/health/service. */
export interface HealthEntry {
	readonly Node: { readonly Node: string; readonly Address: string };
	readonly Service: {
		readonly ID: string;
		readonly Address: string;
		readonly Port: number;
		readonly Meta: Readonly<Record<string, string>> | null;
	};
	readonly Checks: readonly { readonly Status: Status }[];
}

/** What is compared of a service: every instance with address, state and the round of its last change, one on a line. */
export function printEntries(entries: readonly HealthEntry[]): string {
	return print(
		entries.map(({ Node, Service, Checks }) => ({
			instance: `${Node.Node}/${Service.ID}`,
			host: Service.Address || Node.Address,
			port: Service.Port,
			status: worst(Checks.map(({ Status }) => Status)),
			meta: Service.Meta ?? {},
		})),
	);
}

/** The same of what a client has. */
export function print(
	instances: readonly Pick<ServiceInstance, 'instance' | 'host' | 'port' | 'status' | 'meta'>[],
): string {
	return instances
		.map(({ instance, host, port, status, meta }) => `${instance} ${host}:${port} ${status} ${meta['round'] ?? ''}`)
		.sort()
		.join('\n');
}

/** The names of the instances in such a text that get work. */
export function servingIn(text: string): string[] {
	const lines = text.split('\n').filter((line) => / (passing|warning) /.test(line));
	return lines.map((line) => line.slice(0, line.indexOf(' ')));
}

function worst(statuses: readonly Status[]): Status {
	return (['critical', 'warning'] as const).find((status) => statuses.includes(status)) ?? 'passing';
}
