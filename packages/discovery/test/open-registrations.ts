import { type RegistrationReply, SpockError } from '@spock/protocol';
import { FakeClock } from '@spock/testkit';

import type { DiscoveryEvent } from '../src/foundation/discovery-event.ts';
import type { OwnedInstance } from '../src/foundation/registrar.ts';
import { Registrations } from '../src/registration/registrations.ts';
import type { RegistrationsOptions } from '../src/registration/registrations-options.ts';
import { FakeRegistrar } from './fake-registrar.ts';

/** A registry that cannot be reached, and one that says no. */
export const away: SpockError = new SpockError('UNAVAILABLE', 'refused');
export const denied: SpockError = new SpockError('ACL_DENIED', 'denied');
/** What the apps of these tests register. */
export const barista = { service: 'barista', id: 'b1', port: 8765 };

/** Who registers, and what it was told: `b1 registered`. */
export type SeeingHolder = Parameters<Registrations['claim']>[1] & { readonly seen: string[] };

/** A connection; of a client that can be known again, with an identity. */
export function holder(identity?: string): SeeingHolder {
	const seen: string[] = [];
	return { identity, seen, told: ({ id, state }: RegistrationReply) => seen.push(`${id} ${state}`) };
}

/** Registrations at a fake registry, on a fake clock, without chance. */
export function openRegistrations(options: Partial<RegistrationsOptions> = {}): {
	clock: FakeClock;
	registrar: FakeRegistrar;
	registrations: Registrations;
	events: DiscoveryEvent[];
} {
	const clock = new FakeClock();
	const registrar = new FakeRegistrar();
	const events: DiscoveryEvent[] = [];
	const registrations = new Registrations({
		registrar,
		owner: 'me',
		clock,
		random: () => 1,
		onEvent: (event) => events.push(event),
		ttlMs: 15_000,
		reconnectGraceMs: 10_000,
		deregisterAfterMs: 60_000,
		...options,
	});
	return { clock, registrar, registrations, events };
}

/** As a sidecar before this one left it. */
export const found = (id: string, bind: 'connection' | 'sidecar'): OwnedInstance => ({
	definition: { id, service: 'barista', port: 8765, tags: [], meta: {}, bind },
	instance: `node/${id}`,
	health: { status: 'warning', note: 'queue is long' },
});
