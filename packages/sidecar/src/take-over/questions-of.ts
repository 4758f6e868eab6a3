import { type KeyQuery, normaliseKeyQuery, normaliseQuery, type ServiceQuery } from '@spock/protocol';

import type { SidecarSource } from '../lifecycle/sidecar-options.ts';

/** What is worth asking again elsewhere: every question that has an answer. */
export function questionsOf(source: SidecarSource): { services: ServiceQuery[]; keys: KeyQuery[] } {
	const services = source.watches().filter(({ state }) => state !== 'cold');
	const keys = (source.keyWatches?.() ?? []).filter(({ state }) => state !== 'cold');
	return { services: services.map(normaliseQuery), keys: keys.map(normaliseKeyQuery) };
}
