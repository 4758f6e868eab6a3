import type { CallOptions, Diplomat } from '@spock/client';
import { type BackendStatus, type ExplainReply, SpockError, type StatusReply } from '@spock/protocol';
import { SIDECAR_VERSION } from '../../../foundation/version.ts';
import type { Place } from '../../client/place.ts';
import { formatCount, formatDuration } from '../../output/figures.ts';
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

/** Whether the registry answers, and since when it does not. A token that it refuses is the matter of the next check. */
export function checkRegistry({ backend, reasons }: StatusReply, place: Place): Finding {
	const members = backend.members ?? [backend];
	const text = members.map(memberText).join('; ');
	const silent = members.filter((member) => member.state !== 'up' && !isDenied(member));
	const [first] = silent;
	if (first === undefined) {
		if (members.every(({ name }) => name === 'local') && place.hasConsul) {
			return warning(
				'registry',
				text,
				'CONSUL_HTTP_ADDR is set, yet the sidecar reads a file: remove --backend local and SPOCK_BACKEND',
			);
		}
		return ok('registry', text);
	}
	const next = registryNext(first, place);
	const isServing = silent.length < members.length;
	if (isServing) return warning('registry', text, next);
	if (first.state === 'connecting' && first.error === null) {
		return warning('registry', [text, ...reasons].join(': '), 'run this again in some seconds');
	}
	return failed('registry', text, next);
}

function memberText(member: BackendStatus): string {
	const { name, state, lastSuccessAgeMs: ageMs, addresses, error } = member;
	const where = addresses.length === 0 ? '' : ` at ${addresses.join(', ')}`;
	if (state === 'up') return `${name}${where} answers`;
	const since = ageMs === null ? 'has never answered' : `has not answered for ${formatDuration(ageMs)}`;
	const known = ageMs === null ? '' : '; old answers are served';
	return isDenied(member)
		? `${name}${where} answers`
		: `${name}${where} ${since}${known}${error === null ? '' : `: ${error}`}`;
}

/** The registry has answered, and refused the token. */
function isDenied({ name, state, error }: BackendStatus): boolean {
	// Another sidecar that refuses the token has not asked the registry.
	return (name !== 'spock' || state === 'up') && isRefusal(error);
}

function isRefusal(error: string | null): boolean {
	return error !== null && /\b(403|ACL)\b|\btoken\b/i.test(error) && !isUpstreamAway(error);
}

/** Another sidecar is asked and does not answer: what its error says of a token is about the one for that sidecar. */
function isUpstreamAway(error: string): boolean {
	return /^no upstream answers|\bthe upstream: /.test(error);
}

/** Why the service may not be read; undefined where another error is the reason, or none. */
export function deniedIn(reply: ExplainReply | undefined): string | undefined {
	const error = reply?.error ?? null;
	if (error === null || isUpstreamAway(error)) return undefined;
	return /\btoken\b|\bACL\b/.test(error) ? error : undefined;
}

function registryNext({ name, error }: BackendStatus, { isPod }: Place): string {
	const text = error ?? '';
	if (name === 'spock') {
		return /\btoken\b|ACL_DENIED/i.test(text)
			? 'give this sidecar a token that the upstream accepts: --upstream-token-file'
			: 'compare --upstream with where that sidecar listens (--listen), its log, and the authority (--upstream-ca)';
	}
	if (name !== 'consul') return "look at the sidecar's log";
	if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(text)) {
		const pod = isPod ? '; in a pod 127.0.0.1 is the pod, not its node' : '';
		return `compare CONSUL_HTTP_ADDR, or --consul, with where Consul listens${pod}`;
	}
	if (/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|timed? ?out|within/i.test(text)) {
		return isPod
			? "allow the pod's egress to Consul's port: NetworkPolicy"
			: 'check the way to Consul: a firewall, or an agent that hangs';
	}
	if (/certificate|TLS|SSL/i.test(text)) return 'check CONSUL_CACERT and the name in the certificate';
	if (/datacenter/i.test(text)) return 'check --consul-datacenter';
	return "check Consul itself, and the sidecar's log";
}

/** Whether apps may register is known once one has: to try it would change the registry. */
function registering({ registrations, backend }: StatusReply): string {
	const known = registrations.find(({ state }) => state === 'registered');
	if (known !== undefined) return `it may register ${known.service}`;
	const isConsul = [backend, ...(backend.members ?? [])].some(({ name }) => name === 'consul');
	return `registering is not checked, as no app has registered${isConsul ? ' (it needs service:write)' : ''}`;
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
	try {
		const { services, source, ageMs } = await client.request('listServices', {}, options);
		const when = source === 'last-known-good' ? `, as of ${formatDuration(ageMs)} ago` : '';
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
		return warning('rights', `services cannot be listed now: ${error.message}`, 'see the registry above');
	}
}
