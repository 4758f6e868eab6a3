import { statSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';

import { type Backend, type DiscoveryListener, Registrations, type RegistrationsOptions } from '@spock/discovery';
import { formatAddress, type SocketAddress } from '@spock/protocol/node';

import { givenSettings, type Resolved } from '../settings/setting.ts';

/** What apps may register, if the registry can be written to. Throws a RangeError or TypeError naming a wrong setting. */
export function createRegistrations(
	settings: ReadonlyMap<string, Resolved>,
	backend: Backend,
	address: SocketAddress,
	onEvent: DiscoveryListener,
): Registrations | undefined {
	const { registrar } = backend;
	if (registrar === undefined) return undefined;
	const {
		owner = defaultOwner(address),
		registrationTtlMs,
		...given
	} = givenSettings<RegistrationsOptions & { readonly registrationTtlMs: number }>(settings, [
		'advertise',
		'owner',
		'reconnectGraceMs',
		'registrationTtlMs',
		'registrationsMax',
		'registrationsPerHolderMax',
	]);
	return new Registrations({
		registrar,
		onEvent,
		owner,
		machine: hostname(),
		...given,
		...(registrationTtlMs !== undefined && { ttlMs: registrationTtlMs }),
	});
}

/**
 * The machine (in a pod: its name) and where the sidecar listens: the same after a restart. Pods on the network of their
 * node share its name and may share the path as well; there the volume of the socket tells them apart.
 */
function defaultOwner(address: SocketAddress): string {
	const volume = 'path' in address ? volumeOf(dirname(address.path)) : '';
	return `${hostname()} ${formatAddress(address)}${volume}`;
}

/** Names a directory that is a volume of its own; nothing for any other, which may not be there before the first start. */
function volumeOf(directory: string): string {
	try {
		const { dev, ino } = statSync(directory);
		return dev === statSync(dirname(directory)).dev ? '' : ` ${dev}-${ino}`;
	} catch {
		// Not there yet, or not to be looked at: the listener says so where it matters.
		return '';
	}
}
