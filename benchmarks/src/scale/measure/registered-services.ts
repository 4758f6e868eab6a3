import { CatalogWriter } from '../../consul/catalog-writer.ts';

/** Names of services that no other row uses. */
export function serviceNames(row: string, count: number): string[] {
	return Array.from({ length: count }, (_, index) => `${row}-${index}`);
}

/** Registers so many instances of each service in Consul, each at its own port. */
export async function registerServices(url: string, services: readonly string[], instancesEach: number): Promise<void> {
	using writer = new CatalogWriter(url);
	for (const service of services) {
		const ids = Array.from({ length: instancesEach }, (_, index) => `${service}-${index}`);
		await Promise.all(ids.map((id, index) => writer.putInstance(service, id, 1000 + index)));
	}
}
