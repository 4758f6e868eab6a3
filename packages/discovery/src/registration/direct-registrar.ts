import {
	type CallOptions,
	type RegistrationListener,
	type RegistrationReply,
	type ServiceRegistrar,
	SpockError,
	validateFuncData,
} from '@spock/protocol';
import { type Clock, offAbort, onAbort } from '@spock/protocol/internal';

import type { RegistrationHolder } from './registration-holders.ts';
import type { Registrations } from './registrations.ts';

/**
 * Registration without a sidecar: the `registrar` of a source in the app's own process. The app itself is the only holder, so an
 * instance lives as long as the process renews it.
 */
export function directRegistrar(registrations: Registrations, clock: Clock): ServiceRegistrar {
	const listeners = new Map<string, RegistrationListener>();
	const holder: RegistrationHolder = {
		told: (registration) => {
			listeners.get(registration.id)?.(registration);
			if (registration.state === 'deregistered') listeners.delete(registration.id);
		},
	};
	return {
		register: (data, listener, options) =>
			withDeadline('registerService', clock, options, async (signal): Promise<RegistrationReply> => {
				const wait = { timeoutMs: options?.timeoutMs, signal };
				const reply = await registrations.claim(validateFuncData('registerService', data), holder, wait);
				listeners.set(reply.id, listener);
				return reply;
			}),
		report: (data, options) =>
			withDeadline('reportService', clock, options, async (signal) =>
				registrations.report(validateFuncData('reportService', data), holder, {
					timeoutMs: options?.timeoutMs,
					signal,
				}),
			),
		deregister: (data, options) =>
			withDeadline('deregisterService', clock, options, async (signal) => {
				const { id } = validateFuncData('deregisterService', data);
				await registrations.withdraw(id, holder, signal);
				listeners.delete(id);
				return null;
			}),
	};
}

/** Ends the wait at the deadline or at the caller's abort. */
function withDeadline<T>(
	func: string,
	clock: Clock,
	{ timeoutMs, signal }: CallOptions = {},
	call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
	return new Promise((resolve, reject) => {
		const ending = new AbortController();
		const aborted = (): SpockError =>
			new SpockError('ABORTED', `${func}: aborted by the caller`, { cause: signal?.reason });
		if (signal?.aborted) {
			reject(aborted());
			return;
		}
		const end = (settle: () => void): void => {
			clock.clearTimeout(timer);
			offAbort(signal, abort);
			settle();
			ending.abort();
		};
		const abort = (): void => end(() => reject(aborted()));
		const onDeadline = (): void => {
			const message = `${func}: the registry has not answered within ${timeoutMs} ms; the registry is still retried`;
			end(() => reject(new SpockError('TIMEOUT', message, { details: { func, timeoutMs } })));
		};
		const timer = timeoutMs === undefined ? undefined : clock.setTimeout(onDeadline, timeoutMs);
		if (signal !== undefined) onAbort(signal, abort);
		call(ending.signal).then(
			(value) => end(() => resolve(value)),
			(error: unknown) => end(() => reject(error)),
		);
	});
}
