import {
	type FakeConsulCheck,
	type FakeConsulInstance,
	toHealthEntry,
	toNodeCheck,
	toStateEntries,
} from './fake-consul-entry.ts';

/** What a fake Consul knows. */
export interface FakeCatalog {
	readonly services: ReadonlyMap<string, readonly FakeConsulInstance[]>;
	/** The status of the one check that a node itself has. */
	readonly nodeChecks: ReadonlyMap<string, FakeConsulCheck['status']>;
	/** True: it has one datacenter, dc1, and no peer, and honours filters; else it gives the same to all of them. */
	readonly isStrict: boolean;
}

/** The body of a good answer to a path of the health and catalog endpoints; null for another path. */
export function fakeBody(path: string, query: URLSearchParams, catalog: FakeCatalog): unknown {
	const { services, nodeChecks, isStrict } = catalog;
	const service = /^\/v1\/health\/service\/(.+)$/.exec(path)?.[1];
	if (service !== undefined) {
		const name = decodeURIComponent(service);
		const tags = query.getAll('tag');
		return (services.get(name) ?? [])
			.filter((instance) => !isStrict || isAskedFor(query, instance))
			.filter((instance) => tags.every((tag) => hasTag(instance, tag)))
			.map((instance) => toHealthEntry(name, instance, nodeChecks.get(instance.node ?? 'node-1')));
	}
	if (path === '/v1/health/state/any') {
		const ofServices = [...services].flatMap(([name, all]) => all.flatMap((one) => toStateEntries(name, one)));
		return [...[...nodeChecks].map(([node, status]) => toNodeCheck(node, status)), ...ofServices];
	}
	if (path === '/v1/catalog/services') {
		const tagsOf = (instances: readonly FakeConsulInstance[]): string[] => [
			...new Set(instances.flatMap(({ tags = [] }) => tags)),
		];
		// As Consul does, it names no service that has no instance left.
		const there = [...services].filter(([, instances]) => instances.length > 0);
		return Object.fromEntries(there.map(([name, instances]) => [name, tagsOf(instances)]));
	}
	if (path === '/v1/status/leader') return '127.0.0.1:8300';
	return null;
}

/** As Consul does: without regard to case. */
function hasTag({ tags = [] }: FakeConsulInstance, tag: string): boolean {
	return tags.some((one) => one.toLowerCase() === tag.toLowerCase());
}

function isAskedFor(query: URLSearchParams, { meta }: FakeConsulInstance): boolean {
	if (query.has('peer') || (query.get('dc') ?? 'dc1') !== 'dc1') return false;
	const conditions = [...(query.get('filter') ?? '').matchAll(/Service\.Meta\["(.+?)"\] == "(.*?)"/g)];
	return conditions.every(([, name = '', value]) => meta?.[name] === value);
}
