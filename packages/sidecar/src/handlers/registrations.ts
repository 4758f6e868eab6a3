import type { Registrations } from '@spock/discovery';
import { SpockError } from '@spock/protocol';

import { answer, type Handler } from '../connection/answer.ts';

/** Registers an instance and keeps it registered, for the connection that asks or, if it says so, for the sidecar. */
export function registerServiceHandler(registrations: Registrations | undefined): Handler<'registerService'> {
	return (data, { caller, timeoutMs, signal }) =>
		expectRegistrations(registrations).claim(data, caller, { timeoutMs, signal }).then(answer);
}

/** The app's own word on its health. */
export function reportServiceHandler(registrations: Registrations | undefined): Handler<'reportService'> {
	return (data, { caller, timeoutMs, signal }) =>
		expectRegistrations(registrations).report(data, caller, { timeoutMs, signal }).then(answer);
}

/** Gives up what this client holds of an instance; answered when the registry knows, if it was the last to hold it. */
export function deregisterServiceHandler(registrations: Registrations | undefined): Handler<'deregisterService'> {
	return ({ id }, { caller, signal }) =>
		expectRegistrations(registrations)
			.withdraw(id, caller, signal)
			.then(() => answer(null));
}

function expectRegistrations(registrations: Registrations | undefined): Registrations {
	if (registrations !== undefined) return registrations;
	throw new SpockError('UNKNOWN_FUNC', 'the registry of this sidecar is read-only: instances cannot be registered');
}
