import type { RegistrationReply } from '@spock/protocol';
import { isObject, stringOrNull } from '@spock/protocol/internal';

const STATES: readonly unknown[] = ['registered', 'pending', 'deregistered'] satisfies RegistrationReply['state'][];

/** How a registration is, from the data of a reply or a push. Undefined for data that does not tell. */
export function readRegistration(data: unknown): RegistrationReply | undefined {
	if (!isObject(data)) return undefined;
	const { id, service, instance, state, error } = data;
	if (typeof id !== 'string' || typeof service !== 'string' || !STATES.includes(state)) return undefined;
	return {
		id,
		service,
		instance: stringOrNull(instance),
		state: state as RegistrationReply['state'],
		error: stringOrNull(error),
	};
}
