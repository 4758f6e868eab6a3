import { type Registration, type ServiceSnapshot, SpockError } from '@spock/client';

import { show } from './problem.ts';

// What a caller may be given, whatever its sidecar says: written from the types, and looked at as a user's code would.

/** The codes of docs/PROTOCOL.md. */
const CODES: readonly string[] = [
	...['BAD_FRAME', 'BAD_REQUEST', 'FRAME_TOO_LARGE', 'UNKNOWN_FUNC', 'UNSUPPORTED_VERSION', 'NO_SUCH_SERVICE'],
	...['NO_HEALTHY_INSTANCE', 'ACL_DENIED', 'NOT_READY', 'UNAVAILABLE', 'OVERLOADED', 'INTERNAL', 'TIMEOUT', 'ABORTED'],
	...['DISCONNECTED', 'CLOSED', 'PROTOCOL', 'NO_SUCH_KEY', 'BAD_VALUE'],
];
const STATUSES = ['passing', 'warning', 'critical', 'maintenance'];

export function note(wrong: string[], what: string, look: () => string | undefined): void {
	try {
		const found = look();
		if (found !== undefined) wrong.push(`${what}: ${found}`);
	} catch (error) {
		wrong.push(`${what} throws ${show(error)}`);
	}
}

/** A failure that a sidecar sends may have any code; one of our own that hides an exception is a bug. */
export function noteError(wrong: string[], what: string, error: unknown): void {
	if (!SpockError.is(error)) wrong.push(`${what} rejects with ${show(error)}`);
	else if (!CODES.includes(error.code)) wrong.push(`${what} rejects with the code ${error.code}, which is none`);
	else if (error.code === 'INTERNAL' && error.cause !== undefined) wrong.push(`${what} hides ${show(error.cause)}`);
}

export function wrongRegistration({ id, service, state, instance, error }: Registration): string | undefined {
	return [id, service].every((text) => typeof text === 'string') &&
		['registered', 'pending', 'deregistered', 'draining'].includes(state) &&
		isTextOrNull(instance) &&
		isTextOrNull(error)
		? undefined
		: show({ id, service, state, instance, error });
}

export function wrongPlace(place: {
	host: unknown;
	port: unknown;
	instance: unknown;
	ageMs?: unknown;
}): string | undefined {
	const { host, port, instance, ageMs = 0 } = place;
	const isWhole = Number.isInteger(port) && (port as number) >= 0 && (port as number) <= 65_535;
	return typeof host === 'string' && host !== '' && isWhole && typeof instance === 'string' && isFrom0(ageMs)
		? undefined
		: show(place);
}

export function wrongSnapshot({
	instances,
	revision,
	ageMs,
	verifiedAt,
	tags = [],
	meta = {},
}: ServiceSnapshot): string | undefined {
	if (!Number.isFinite(revision) || !isFrom0(ageMs) || !isFrom0(verifiedAt))
		return show({ revision, ageMs, verifiedAt });
	if (!isTexts(tags) || !isTexts(Object.values(meta))) return show({ tags, meta });
	const wrong = instances.find(
		(instance) =>
			wrongPlace(instance) !== undefined ||
			!isFrom0(instance.weight) ||
			!STATUSES.includes(instance.status) ||
			!isTexts(instance.tags) ||
			!isTexts(Object.values(instance.meta)) ||
			!isTextOrNull(instance.zone) ||
			!isTextOrNull(instance.datacenter),
	);
	return wrong === undefined ? undefined : show(wrong);
}

const isFrom0 = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;
const isTextOrNull = (value: unknown): boolean => value === null || typeof value === 'string';
export const isTexts = (value: unknown): boolean =>
	Array.isArray(value) && value.every((one) => typeof one === 'string');
