import { getServers } from 'node:dns';

import { consulOptionsFromEnvironment, DEFAULT_BEARER_TOKEN_FILE } from '@spock/discovery';

import { POD_SOCKET_DIRECTORY } from '@spock/protocol/node';
import { UPSTREAM_QUERIES_MAX, UPSTREAM_REGISTRATIONS_MAX } from '../../upstream/upstream-room.ts';
import { parseTcpAddress } from '../client/sidecar-target.ts';
import type { Value } from '../settings/setting.ts';
import { type SettingName, type Settings, TERMINAL_LIMITS } from '../settings/settings.ts';
import { socketPathOf } from './access.ts';
import { backendNames } from './create-backend.ts';
import { defaultAnswersBytesMax, defaultOwner } from './discovery-options.ts';
import { isPretty } from './start-failure.ts';
import { possibleConnections } from './start-limits.ts';

/** A value that is decided when the sidecar starts, and by what. */
export interface Decision {
	/** Undefined: none. */
	readonly value: Value | undefined;
	/** For people: `CONSUL_HTTP_ADDR is set`. */
	readonly because: string;
}

/** What a decision depends on besides the settings. */
export interface DecisionFacts {
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly isTerminal: boolean;
}

type Decisions = { readonly [N in SettingName]?: Decision };

/**
 * The values in force that `start` decides itself: defaults that depend on other settings, the environment or the machine, and
 * values that the machine limits. Throws where `start` would, for a bad variable of Consul.
 */
export function decidedSettings(settings: Settings, facts: DecisionFacts): Decisions {
	const all: Decisions = {
		...backendDecisions(settings, facts),
		...placeDecisions(settings),
		...halves(settings),
		...limitDecisions(settings, facts),
		logFormat: {
			value: isPretty('auto', facts.isTerminal) ? 'pretty' : 'json',
			because: `the output is ${facts.isTerminal ? 'a' : 'no'} terminal`,
		},
	};
	const isInForce = ([name]: [string, unknown]): boolean => {
		const { origin } = settings[name as SettingName];
		return origin === 'default' || CHANGED_IF_GIVEN.has(name) || (name === 'consul' && origin === 'environment');
	};
	return Object.fromEntries(Object.entries(all).filter(isInForce));
}

/** Settings whose value may be less than was given. */
const CHANGED_IF_GIVEN: ReadonlySet<string> = new Set(['connectionsMax', 'strangersMax']);

function backendDecisions(settings: Settings, { env }: DecisionFacts): Decisions {
	const { consul } = settings;
	const names = backendNames(settings);
	const isGiven = consul.origin !== 'default';
	const { upstream } = settings;
	const because = isGiven ? `${consul.where} is set` : 'no address of Consul is given';
	const backend = { value: names, because: upstream.value === undefined ? because : `${upstream.where} is given` };
	// CONSUL_HTTP_SSL has a say in what an address without a scheme is.
	const addresses = consul.origin === 'environment' ? consulOptionsFromEnvironment(env).addresses : undefined;
	const isChanged = addresses !== undefined && String(addresses) !== String(consul.value);
	return {
		backend,
		...(isChanged && { consul: { value: addresses as readonly string[], because: "by Consul's rules" } }),
		...(names.includes('dns') && { dnsServer: { value: getServers(), because: "the system's" } }),
		...(names.includes('local') && { advertise: { value: '127.0.0.1', because: 'the local backend' } }),
		...(settings.consulLoginMethod.value !== undefined && {
			consulLoginTokenFile: { value: DEFAULT_BEARER_TOKEN_FILE, because: "the pod's service-account token" },
		}),
	};
}

function placeDecisions(settings: Settings): Decisions {
	const path = socketPathOf(settings);
	const isInPod = path?.startsWith(`${POD_SOCKET_DIRECTORY}/`);
	const { listen } = settings;
	const owner = defaultOwner(path === undefined ? parseTcpAddress(listen.value as string) : { path });
	return {
		socket: {
			value: path,
			because: path === undefined ? '--listen is given' : isInPod ? 'in a pod' : 'private to this user',
		},
		owner: { value: owner, because: 'host name and address' },
	};
}

/** Limits of what is asked, and what is half of another one. */
function halves(settings: Settings): Decisions {
	const isBehindOther = backendNames(settings).includes('spock');
	const { services, keys } = UPSTREAM_QUERIES_MAX;
	const least = (name: 'entriesMax' | 'keyEntriesMax' | 'registrationsMax', room: number): number => {
		const { value, origin } = settings[name];
		return isBehindOther && origin === 'default' ? Math.min(value, room) : value;
	};
	const entriesMax = least('entriesMax', services);
	const keyEntriesMax = least('keyEntriesMax', keys);
	const because = 'the room that the other sidecar has for one client';
	return {
		...(isBehindOther && {
			entriesMax: { value: entriesMax, because },
			keyEntriesMax: { value: keyEntriesMax, because },
			registrationsMax: { value: least('registrationsMax', UPSTREAM_REGISTRATIONS_MAX), because },
		}),
		entriesPerClientMax: { value: Math.ceil(entriesMax / 2), because: 'half of entriesMax' },
		keyEntriesPerClientMax: { value: Math.ceil(keyEntriesMax / 2), because: 'half of keyEntriesMax' },
		answersBytesMax: { value: defaultAnswersBytesMax(), because: 'half of the heap' },
		eventsRetentionBytes: { value: settings.eventsBytesMax.value / 2, because: 'half of eventsBytesMax' },
	};
}

function limitDecisions(settings: Settings, { isTerminal }: DecisionFacts): Decisions {
	const asked = { connectionsMax: settings.connectionsMax.value, strangersMax: settings.strangersMax.value };
	const possible = possibleConnections(asked);
	const fewer = (name: keyof typeof asked): Decisions =>
		possible[name] === asked[name]
			? {}
			: { [name]: { value: possible[name], because: 'limited by open files: ulimit -n' } };
	const because = 'on a terminal';
	return {
		...fewer('connectionsMax'),
		...fewer('strangersMax'),
		...(isTerminal && {
			graceMs: { value: TERMINAL_LIMITS.graceMs, because },
			drainTimeoutMs: { value: TERMINAL_LIMITS.drainTimeoutMs, because },
		}),
	};
}
