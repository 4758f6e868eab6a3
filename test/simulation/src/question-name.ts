import type { ServiceQuery } from '@spock/protocol';

// Names of questions in the model. They are made by nothing of the product: a product that takes two questions for one must
// not have the model do so too.

/** The same for two questions that ask the same, and for no others. */
export function questionName({ service, tags = [], datacenter, meta = {}, peer }: ServiceQuery): string {
	const conditions = Object.entries(meta).sort(([left], [right]) => (left < right ? -1 : 1));
	return JSON.stringify(['service', service, [...new Set(tags)].sort(), datacenter ?? null, conditions, peer ?? null]);
}

/** The same for a key. */
export function keyName(key: string): string {
	return JSON.stringify(['key', key]);
}
