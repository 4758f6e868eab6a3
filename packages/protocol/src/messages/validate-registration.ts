import { badMember, badValue, type SpockError } from '../errors/spock-error.ts';
import { isHost } from '../foundation/host.ts';
import { formatHostPort, isIpv6, splitHostPort, withBrackets } from '../foundation/host-port.ts';
import {
	META_COUNT_MAX,
	META_NAME_LENGTH_MAX,
	META_VALUE_LENGTH_MAX,
	NAME_LENGTH_MAX,
	NOTE_LENGTH_MAX,
	REGISTRATION_ID_LENGTH_MAX,
	TAGGED_ADDRESSES_MAX,
} from '../foundation/limits.ts';
import { isInteger, isName, isObject, isText } from '../foundation/values.ts';
import { checkName, checkNames } from '../model/query.ts';
import type {
	DeregisterServiceData,
	RegisterServiceData,
	RegistrationCheck,
	RegistrationWeights,
	ReportedStatus,
	ReportServiceData,
	TaggedAddress,
} from '../model/registration.ts';

type Members = Readonly<Record<string, unknown>>;

/** Safe in the path of a URL as it stands, and never `.` or `..`. */
const ID = /^[A-Za-z0-9_][\w.:@~+-]*$/;
/** What Consul allows: https://developer.hashicorp.com/consul/api-docs/agent/service#meta */
const META_NAME = /^[\w-]+$/;
/** Ours say whose a registration is; Consul keeps its own. */
const META_RESERVED = /^(?:spock|consul)-/;
/** It is kept in the metadata of the instance. */
const APP = new RegExp(`^[\\x21-\\x7e]{1,${META_VALUE_LENGTH_MAX}}$`);
const STATUSES: readonly unknown[] = ['passing', 'warning', 'critical'] satisfies ReportedStatus[];
const LONE_SURROGATE = /\p{Cs}/u;
const PORT_MAX = 65_535;
const WEIGHT_MAX = 65_535;

/** Checks a registration; throws BAD_REQUEST, whose `details.path` names the wrong member. */
export function validateRegistration(data: unknown): RegisterServiceData {
	const members = expectObject(data, '');
	const { service, port, host, bind } = members;
	const name = checkName(service, 'service');
	if (!isInteger(port, 1, PORT_MAX)) throw badValue('port', `must be a port from 1 to ${PORT_MAX}`, port);
	if (isGiven(bind) && bind !== 'connection' && bind !== 'sidecar')
		throw badValue('bind', 'must be connection or sidecar', bind);
	return {
		service: name,
		port,
		...(isGiven(members['id']) && { id: readId(members['id']) }),
		...(isGiven(host) && { host: readHost('host', host) }),
		...(isGiven(members['tags']) && { tags: checkNames(members['tags'], 'tags') }),
		...(isGiven(members['meta']) && { meta: readMeta(members['meta']) }),
		...(isGiven(members['weights']) && { weights: readWeights(members['weights']) }),
		...(isGiven(members['taggedAddresses']) && { taggedAddresses: readTagged(members['taggedAddresses']) }),
		...(isGiven(members['check']) && { check: readCheck(members['check']) }),
		...(isGiven(bind) && { bind: bind as 'connection' | 'sidecar' }),
		...(isGiven(members['status']) && { status: readStatus(members['status']) }),
		...optionalText(members, 'note', NOTE_LENGTH_MAX),
		...optionalApp(members),
	};
}

/** Checks a report; throws BAD_REQUEST, whose `details.path` names the wrong member. */
export function validateReport(data: unknown): ReportServiceData {
	const members = expectObject(data, '');
	return {
		id: readId(members['id']),
		status: readStatus(members['status']),
		...optionalText(members, 'note', NOTE_LENGTH_MAX),
		...optionalApp(members),
	};
}

/** Checks the data of deregisterService; throws BAD_REQUEST, whose `details.path` names the invalid member. */
export function validateDeregistration(data: unknown): DeregisterServiceData {
	const members = expectObject(data, '');
	return { id: readId(members['id']), ...optionalApp(members) };
}

function optionalApp({ app }: Members): { readonly app?: string } {
	if (!isGiven(app)) return {};
	if (typeof app === 'string' && APP.test(app)) return { app };
	throw badMember('app', `must be 1 to ${META_VALUE_LENGTH_MAX} printable ASCII characters without spaces`);
}

function readId(id: unknown): string {
	if (isText(id, REGISTRATION_ID_LENGTH_MAX) && ID.test(id)) return id;
	const sentence = `must be 1 to ${REGISTRATION_ID_LENGTH_MAX} of the characters A-Z a-z 0-9 _ . : @ ~ + -, the first a letter, a digit or _`;
	throw badValue('id', sentence, id);
}

function readStatus(status: unknown): ReportedStatus {
	if (STATUSES.includes(status)) return status as ReportedStatus;
	throw badValue('status', 'must be passing, warning or critical', status);
}

function readMeta(meta: unknown): Readonly<Record<string, string>> {
	const entries = Object.entries(expectObject(meta, 'meta'));
	if (entries.length > META_COUNT_MAX) throw badMember('meta', `must have at most ${META_COUNT_MAX} members`);
	for (const [name, value] of entries) {
		checkMetaName(name, 'meta');
		if (META_RESERVED.test(name))
			throw badMember(`meta.${name}`, 'has a reserved name: names must not begin with spock- or consul-');
		// The value is not shown: it may be a secret. Lines and tabs are what Consul keeps; what is no UTF-8 it would keep as something else.
		if (typeof value !== 'string' || Buffer.byteLength(value) > META_VALUE_LENGTH_MAX || LONE_SURROGATE.test(value)) {
			throw badMember(
				`meta.${name}`,
				`must be a string of at most ${META_VALUE_LENGTH_MAX} bytes without lone surrogates`,
			);
		}
	}
	return Object.fromEntries(entries) as Record<string, string>;
}

function readWeights(weights: unknown): RegistrationWeights {
	const members = expectObject(weights, 'weights');
	return {
		...optionalInteger(members, 'passing', 1, WEIGHT_MAX, 'weights.'),
		...optionalInteger(members, 'warning', 0, WEIGHT_MAX, 'weights.'),
	};
}

function readTagged(addresses: unknown): Readonly<Record<string, TaggedAddress>> {
	const entries = Object.entries(expectObject(addresses, 'taggedAddresses'));
	if (entries.length > TAGGED_ADDRESSES_MAX) {
		throw badMember('taggedAddresses', `must have at most ${TAGGED_ADDRESSES_MAX} members`);
	}
	return Object.fromEntries(
		entries.map(([tag, address]) => {
			checkMetaName(tag, 'taggedAddresses');
			const path = `taggedAddresses.${tag}`;
			const members = expectObject(address, path);
			const host = readHost(`${path}.host`, members['host']);
			return [tag, { host, ...optionalInteger(members, 'port', 1, PORT_MAX, `${path}.`) }];
		}),
	);
}

function readCheck(check: unknown): RegistrationCheck {
	const members = expectObject(check, 'check');
	const { http, tcp } = members;
	if (isGiven(http) === isGiven(tcp)) throw badMember('check', 'must have either http or tcp');
	// Not shown: a URL may hold a password.
	if (isGiven(http) && !(isName(http) && /^https?:\/\/./.test(http))) {
		throw badMember('check.http', `must be an http:// or https:// URL of at most ${NAME_LENGTH_MAX} characters`);
	}
	if (isGiven(tcp) && !(isName(tcp) && /^.+:\d{1,5}$/.test(tcp))) {
		throw badValue('check.tcp', 'must be host:port', tcp);
	}
	return {
		// Consul, which asks there, wants brackets.
		...(isGiven(http) ? { http: withBrackets(http as string) } : { tcp: bracketed(tcp as string) }),
		...optionalInteger(members, 'intervalMs', 1000, 3_600_000, 'check.'),
		...optionalInteger(members, 'timeoutMs', 100, 600_000, 'check.'),
	};
}

/** As everywhere in the protocol, a member that is null is absent. */
function isGiven(value: unknown): boolean {
	return value !== undefined && value !== null;
}

function optionalText<N extends string>(members: Members, name: N, lengthMax: number): { readonly [P in N]?: string } {
	const value = members[name];
	if (!isGiven(value)) return {};
	if (!isText(value, lengthMax)) throw badText(name, lengthMax);
	return { [name]: value } as { readonly [P in N]?: string };
}

function optionalInteger<N extends string>(
	members: Members,
	name: N,
	min: number,
	max: number,
	prefix: string,
): { readonly [P in N]?: number } {
	const value = members[name];
	if (!isGiven(value)) return {};
	if (!isInteger(value, min, max))
		throw badValue(`${prefix}${name}`, `must be an integer from ${min} to ${max}`, value);
	return { [name]: value } as { readonly [P in N]?: number };
}

function checkMetaName(name: string, path: string): void {
	if (name.length <= META_NAME_LENGTH_MAX && META_NAME.test(name)) return;
	throw badValue(path, `must have names of 1 to ${META_NAME_LENGTH_MAX} letters, digits, _ and -`, name);
}

/** The members of the data, or of what is at the path in it. Throws BAD_REQUEST for anything else. */
export function expectObject(data: unknown, path: string): Members {
	if (!isObject(data)) throw badValue(path, 'must be an object', data);
	return data;
}

/** A host, which may be an address of IPv6 in brackets, as a URL has it. */
function readHost(path: string, value: unknown): string {
	const host = typeof value === 'string' && /^\[.*\]$/s.test(value) ? value.slice(1, -1) : value;
	if (!isHost(host) || (host !== value && !isIpv6(host)))
		throw badValue(path, 'must be an IP address or a name', value);
	return host;
}

function bracketed(text: string): string {
	const place = splitHostPort(text);
	return place === undefined ? text : formatHostPort(place);
}

/** The text is not shown: it may be a secret, or of any length. */
export function badText(path: string, lengthMax: number): SpockError {
	return badMember(path, `must be a string of 1 to ${lengthMax} characters`);
}
