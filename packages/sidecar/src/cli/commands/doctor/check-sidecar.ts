import type { CallOptions, Diplomat } from '@spock/client';
import { type ExplainReply, SpockError, type StatusReply } from '@spock/protocol';
import { SIDECAR_VERSION } from '../../../foundation/version.ts';
import { formatCount, formatDuration } from '../../output/figures.ts';
import { isRefusal, isUpstreamAway } from './check-registry.ts';
import { type Finding, failed, ok, warning } from './diagnosis.ts';

/** The name of the sidecar of this repository, before its version. */
const NAME = SIDECAR_VERSION.slice(0, SIDECAR_VERSION.lastIndexOf('/') + 1);

/** Whether the sidecar is ready, and which it is. */
export function checkSidecar({ sidecar, pid, uptimeMs, ready, reasons, phase }: StatusReply): Finding {
	const who = `${sidecar}, pid ${pid}, up ${formatDuration(uptimeMs)}`;
	if (!ready) {
		const reason = reasons.length > 0 ? reasons.join('; ') : `it is in phase ${phase}`;
		return failed('sidecar', `${who}: not ready: ${reason}`, 'the checks below say more');
	}
	// Programs that embed it choose another name.
	if (sidecar.startsWith(NAME) && sidecar !== SIDECAR_VERSION) {
		return warning('sidecar', `${who}: ready; this command is ${SIDECAR_VERSION}`, 'use the same version for both');
	}
	return ok('sidecar', `${who}: ready`);
}

/** Why the service may not be read; undefined where another error is the reason, or none. */
export function deniedIn(reply: ExplainReply | undefined): string | undefined {
	const error = reply?.error ?? null;
	if (error === null || isUpstreamAway(error)) return undefined;
	return /\btoken\b|\bACL\b/.test(error) ? error : undefined;
}

/** Whether apps may register is known once one has: to try it would change the registry. */
function registering({ registrations, backend }: StatusReply): string {
	const known = registrations.find(({ state }) => state === 'registered');
	if (known !== undefined) return `it may register ${known.service}`;
	const isConsul = [backend, ...(backend.members ?? [])].some(({ name }) => name === 'consul');
	return `registering is not checked, as no app has registered${isConsul ? ' (it needs service:write)' : ''}`;
}

/** What apps have registered and the registry does not know yet; undefined if it knows all of it. */
function pendingText({ registrations }: StatusReply): string | undefined {
	const pending = registrations.filter(({ state }) => state === 'pending');
	const [first] = pending;
	if (first === undefined) return undefined;
	const { service, id, error } = pending.find((one) => one.error !== null) ?? first;
	const more = pending.length > 1 ? ` (and ${pending.length - 1} more)` : '';
	return `${service}, id ${id},${more} is not registered yet: ${error ?? 'its first write is on the way'}`;
}

/** What the sidecar's token may do, as far as it has been asked for. `denied`: the refusal of the service that was named. */
export async function checkRights(
	client: Diplomat,
	status: StatusReply,
	{ denied, options }: { readonly denied: string | undefined; readonly options: CallOptions },
): Promise<Finding> {
	const token = 'give the sidecar a token with service:read and node:read: CONSUL_HTTP_TOKEN, or --consul-token-file';
	if (denied !== undefined) return failed('rights', denied, token);
	const unregistered = status.registrations.find(({ error }) => error?.includes('ACL_DENIED') || isRefusal(error));
	if (unregistered !== undefined) {
		const { service, error } = unregistered;
		return failed(
			'rights',
			`${service} cannot be registered: ${error}`,
			`give the token service:write on "${service}"`,
		);
	}
	const pending = pendingText(status);
	const retried = 'it is tried again by itself once the registry accepts it; see the registry above';
	try {
		const { services, source, ageMs } = await client.request('listServices', {}, options);
		const when = source === 'last-known-good' ? `, as of ${formatDuration(ageMs)} ago` : '';
		if (pending !== undefined) return warning('rights', pending, retried);
		if (services.length > 0)
			return ok(
				'rights',
				`the sidecar may read: ${formatCount(services.length, 'service')} listed${when}; ${registering(status)}`,
			);
		const text = 'no service is listed: none is registered, or the token may not read any';
		return warning('rights', text, 'compare with what the registry itself shows');
	} catch (error) {
		if (!SpockError.is(error)) throw error;
		if (error.code === 'UNKNOWN_FUNC') return ok('rights', 'this registry has no list of services, and no rights');
		if (error.code === 'ACL_DENIED') {
			// A token for some services by their names may list none.
			return status.ready ? warning('rights', error.message, token) : failed('rights', error.message, token);
		}
		const unlisted = `services cannot be listed now: ${error.message}`;
		return pending === undefined
			? warning('rights', unlisted, 'see the registry above')
			: warning('rights', `${pending}; ${unlisted}`, retried);
	}
}
