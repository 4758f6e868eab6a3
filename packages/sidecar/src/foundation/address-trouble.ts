import type { AddressStatus, BackendStatus } from '@spock/protocol';

/** The addresses that fail, or have no leader, of a registry; empty for one that shows none. */
export function failingAddresses({ addressStatus = [] }: BackendStatus): readonly AddressStatus[] {
	return addressStatus.filter(({ state }) => state === 'down' || state === 'no-leader');
}

/** `1 of 3 addresses fails`; empty if none does. */
export function failingCount(backend: BackendStatus): string {
	const failing = failingAddresses(backend).length;
	if (failing === 0) return '';
	return `${failing} of ${backend.addresses.length} addresses ${failing === 1 ? 'fails' : 'fail'}`;
}

/** What is less than it should be at a registry that has answered, and why; null if nothing is. */
export function registryTrouble(backend: BackendStatus): string | null {
	const troubles = (backend.members ?? [backend]).flatMap((member) => {
		const { name, state, error } = member;
		if (state === 'down') return [error === null ? `${name} does not answer` : error];
		const errors = failingAddresses(member).map(({ address, error: why }) => why ?? address);
		return errors.length === 0 ? [] : [`${failingCount(member)}: ${errors.join('; ')}`];
	});
	return troubles.length === 0 ? null : troubles.join('; ');
}
