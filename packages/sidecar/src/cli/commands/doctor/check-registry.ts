import type { AddressStatus, BackendStatus, StatusReply } from '@spock/protocol';

import { failingAddresses, failingCount } from '../../../foundation/address-trouble.ts';
import type { Place } from '../../client/place.ts';
import { formatDuration } from '../../output/figures.ts';
import { type Finding, failed, ok, warning } from './diagnosis.ts';

/** Whether the registry answers, and since when it does not. A token that it refuses is the matter of the next check. */
export function checkRegistry({ backend, reasons }: StatusReply, place: Place, at: number = Date.now()): Finding {
	const members = backend.members ?? [backend];
	const text = members.map((member) => memberText(member, at)).join('; ');
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
		const failing = members.flatMap(failingAddresses);
		return failing.length === 0 ? ok('registry', text) : warning('registry', text, addressesNext(failing));
	}
	const next = registryNext(first, place, at);
	const isServing = silent.length < members.length;
	if (isServing) return warning('registry', text, next);
	if (first.state === 'connecting' && first.error === null) {
		return warning('registry', [text, ...reasons].join(': '), 'run this again in some seconds');
	}
	return failed('registry', text, next);
}

function memberText(member: BackendStatus, at: number): string {
	const { name, state, lastSuccessAgeMs: ageMs, addresses, error, addressStatus } = member;
	const where = addresses.length === 0 ? '' : ` at ${addresses.join(', ')}`;
	if (state === 'up' && addressStatus !== undefined) return addressesText(member, at);
	if (name === 'local') return fileText(member, at);
	if (state === 'up' || isDenied(member)) return `${name}${where} answers`;
	if (error !== null && isLeaderless(member)) return `${name}: ${error}`;
	const since = ageMs === null ? 'has never answered' : `has not answered for ${formatDuration(ageMs)}`;
	const known = ageMs === null ? '' : '; old answers are served';
	return `${name}${where} ${since}${known}${error === null ? '' : `: ${error}`}`;
}

/** A file is read, and does not answer. */
function fileText({ name, addresses, error, lastSuccessAgeMs: ageMs }: BackendStatus, at: number): string {
	const file = addresses.join(', ');
	if (error === null) return file === '' ? `${name}: no file is read` : `${name}: ${file} is served`;
	const since = ageMs === null ? '' : ` since ${timeOfDay(at - ageMs)}`;
	return `${name}: ${file} cannot be used${since}; its last version is served: ${error}`;
}

/** Which addresses answer, and since when the others do not. */
function addressesText(member: BackendStatus, at: number): string {
	const { name, addressStatus = [] } = member;
	const failing = failingAddresses(member);
	const untried = addressStatus.filter(({ state }) => state === 'untried').map(({ address }) => address);
	const well = addressStatus.filter(({ state }) => state === 'up').map(({ address }) => address);
	const whys = failing.map(({ address, state, failingForMs, error }) => {
		const since = failingForMs === null ? '' : `, since ${timeOfDay(at - failingForMs)}`;
		const what = state === 'no-leader' ? ' knows no leader' : /ECONNREFUSED/.test(error ?? '') ? ' refuses' : '';
		return `${address}${what}${since}${what === '' ? `: ${error}` : ''}`;
	});
	const parts = [
		...(well.length === 0 ? [] : [`${name} at ${well.join(', ')} answers`]),
		...(whys.length === 0 ? [] : [`${failingCount(member)}: ${whys.join('; ')}`]),
		...(untried.length === 0 ? [] : [`not asked yet: ${untried.join(', ')}`]),
	];
	return parts.join('; ');
}

function addressesNext(failing: readonly AddressStatus[]): string {
	const isNew = failing.some(({ lastSuccessAgeMs }) => lastSuccessAgeMs === null);
	return isNew
		? 'compare CONSUL_HTTP_ADDR, or --consul, with where Consul listens: this address has never answered'
		: 'start Consul there again; until then the other addresses are used';
}

function isLeaderless({ state, addressStatus = [] }: BackendStatus): boolean {
	return state === 'down' && addressStatus.some((one) => one.state === 'no-leader');
}

/** `03:55:20`, in the time zone of this command. */
function timeOfDay(at: number): string {
	return new Date(at).toTimeString().slice(0, 8);
}

/** The registry has answered, and refused the token. */
function isDenied({ name, state, error }: BackendStatus): boolean {
	// Another sidecar that refuses the token has not asked the registry.
	return (name !== 'spock' || state === 'up') && isRefusal(error);
}

/** The error is about the registry's token. */
export function isRefusal(error: string | null): boolean {
	return error !== null && /\b(403|ACL)\b|\btoken\b/i.test(error) && !isUpstreamAway(error);
}

/** Another sidecar is asked and does not answer: a token that its error names is the one for that sidecar. */
export function isUpstreamAway(error: string): boolean {
	return /^no upstream answers|\bthe upstream: /.test(error);
}

function registryNext(member: BackendStatus, { isPod }: Place, at: number): string {
	const { name, error, lastSuccessAgeMs: ageMs, addresses } = member;
	const text = error ?? '';
	if (name === 'spock') {
		return /\btoken\b|ACL_DENIED/i.test(text)
			? 'give this sidecar a token that the upstream accepts: --upstream-token-file'
			: 'compare --upstream with where that sidecar listens (--listen), its log, and the authority (--upstream-ca)';
	}
	if (name === 'local' && addresses.length > 0) return `fix ${addresses.join(', ')}: it is read again when it changes`;
	if (name !== 'consul') return "look at the sidecar's log";
	if (isLeaderless(member)) return 'start another server: Consul has a leader while more than half of its servers run';
	if (/\b401\b/.test(text))
		return 'something in front of Consul wants HTTP basic authentication: CONSUL_HTTP_AUTH=USER:PASSWORD';
	if (ageMs !== null && /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN/.test(text)) {
		return `it answered here until ${timeOfDay(at - ageMs)}: is Consul running?`;
	}
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
