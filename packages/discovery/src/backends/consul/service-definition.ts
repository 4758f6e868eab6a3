import type { RegistrationCheck, TaggedAddress } from '@spock/protocol';

import type {
	InstanceDefinition,
	InstanceHealth,
	OwnedInstance,
	RegistrationTerms,
} from '../../foundation/registrar.ts';
import { OWNER_META } from '../../foundation/registration-place.ts';

const BIND_META = 'spock-bind';
/** A hash of the secret of the client that registered it: nobody can make the secret of it. */
const CLAIMANT_META = 'spock-claimant';
/** The app of the token that it was registered with. */
export const APP_META = 'spock-app';
const DEFAULT_CHECK_INTERVAL_MS = 10_000;
const DEFAULT_CHECK_TIMEOUT_MS = 5000;

/** A service as an agent lists it: https://developer.hashicorp.com/consul/api-docs/agent/service#list-services */
export interface AgentService {
	readonly ID: string;
	readonly Service: string;
	readonly Address?: string;
	readonly Port?: number;
	readonly Tags?: readonly string[] | null;
	readonly Meta?: Readonly<Record<string, string>> | null;
	readonly Weights?: { readonly Passing: number; readonly Warning: number };
	readonly TaggedAddresses?: Readonly<Record<string, { readonly Address: string; readonly Port: number }>> | null;
}

/** A check as an agent lists it: https://developer.hashicorp.com/consul/api-docs/agent/check#list-checks */
export interface AgentCheck {
	readonly Node?: string;
	readonly Name?: string;
	readonly ServiceID?: string;
	readonly Status?: string;
	readonly Output?: string;
}

/** What the check is called that the sidecar renews. */
const RENEWED_NAME = 'the app is connected to its sidecar';

/**
 * The check that the sidecar renews. A check's id is unique at its agent and not within its service: Consul's own ids begin with
 * `service:`, and what stands before the instance's id here names one kind of check, so that no two ids of ours are equal either.
 */
export function checkIdOf(id: string): string {
	return `spock:ttl:${id}`;
}

/** The check that Consul does itself. Each way has an id of its own: an agent goes on with the earlier way of a check that changes it. */
function appCheckIdOf(id: string, way: 'http' | 'tcp'): string {
	return `spock:${way}:${id}`;
}

/** As versions before 0.2 named them: any program's check may have these ids. */
function earlierIds(id: string): { readonly renewed: string; readonly app: string } {
	return { renewed: `service:${id}`, app: `service:${id}:check` };
}

/** The check that the instance's sidecar renews, of this version or an earlier one. */
export function renewedCheck(id: string, checks: Readonly<Record<string, AgentCheck>>): AgentCheck | undefined {
	const earlier = checks[earlierIds(id).renewed];
	return checks[checkIdOf(id)] ?? (isEarlierRenewed(id, earlier) ? earlier : undefined);
}

function isEarlierRenewed(id: string, check: AgentCheck | undefined): boolean {
	return check?.Name === RENEWED_NAME && (check.ServiceID ?? id) === id;
}

/**
 * Ids of checks that sidecars have given this instance and that its definition has no longer; of one that was found, the check that
 * Consul does itself stays.
 */
export function outdatedChecks(
	{ id, check, isPartial = false }: InstanceDefinition,
	checks: Readonly<Record<string, AgentCheck>>,
): readonly string[] {
	const earlier = earlierIds(id);
	const isOwn = (checkId: string): boolean => checks[checkId]?.ServiceID === id;
	const outdated = isEarlierRenewed(id, checks[earlier.renewed]) ? [earlier.renewed] : [];
	if (isPartial) return outdated;
	if (check?.http === undefined) outdated.push(appCheckIdOf(id, 'http'));
	if (check?.tcp === undefined || check.http !== undefined) outdated.push(appCheckIdOf(id, 'tcp'));
	if (/^(?:GET |TCP to )/.test(checks[earlier.app]?.Name ?? '')) outdated.push(earlier.app);
	return outdated.filter(isOwn);
}

/** The body of a registration: https://developer.hashicorp.com/consul/api-docs/agent/service#register-service */
export function toServiceDefinition(
	definition: InstanceDefinition,
	{ status }: InstanceHealth,
	{ ttlMs, deregisterAfterMs, owner }: RegistrationTerms,
): Readonly<Record<string, unknown>> {
	const { id, service, host = '', port, tags, meta, weights, taggedAddresses = {}, check, bind } = definition;
	const { claimant, app } = definition;
	const whose = { ...(claimant && { [CLAIMANT_META]: claimant }), ...(app && { [APP_META]: app }) };
	return {
		ID: id,
		Name: service,
		Address: host,
		Port: port,
		Tags: tags,
		Meta: { ...meta, [OWNER_META]: owner, [BIND_META]: bind, ...whose },
		Weights: { Passing: weights?.passing ?? 1, Warning: weights?.warning ?? 1 },
		TaggedAddresses: Object.fromEntries(
			Object.entries(taggedAddresses).map(([tag, address]) => [tag, toTaggedAddress(address, port)]),
		),
		EnableTagOverride: false,
		Checks: [
			{
				CheckID: checkIdOf(id),
				Name: RENEWED_NAME,
				TTL: `${ttlMs}ms`,
				Status: status,
				DeregisterCriticalServiceAfter: `${deregisterAfterMs}ms`,
			},
			...(check === undefined ? [] : [toCheck(id, check)]),
		],
	};
}

function toTaggedAddress({ host, port }: TaggedAddress, servicePort: number): Readonly<Record<string, unknown>> {
	return { Address: host, Port: port ?? servicePort };
}

/** Critical until it has passed once, which is Consul's default: nobody is sent to an app that has not proved itself. */
function toCheck(id: string, check: RegistrationCheck): Readonly<Record<string, unknown>> {
	const { http, tcp, intervalMs = DEFAULT_CHECK_INTERVAL_MS, timeoutMs = DEFAULT_CHECK_TIMEOUT_MS } = check;
	return {
		CheckID: appCheckIdOf(id, http === undefined ? 'tcp' : 'http'),
		Name: http === undefined ? `TCP to ${tcp}` : `GET ${http}`,
		...(http === undefined ? { TCP: tcp } : { HTTP: http }),
		Interval: `${intervalMs}ms`,
		Timeout: `${timeoutMs}ms`,
	};
}

/** What an agent lists, as it was registered. Its own checks are not listed with what they ask, and are left out. */
export function readOwned(service: AgentService, checks: Readonly<Record<string, AgentCheck>>): OwnedInstance {
	const { ID, Service, Address = '', Port = 0, Tags, Meta, Weights, TaggedAddresses } = service;
	const { [OWNER_META]: _, [BIND_META]: bind, [CLAIMANT_META]: claimant, [APP_META]: app, ...meta } = Meta ?? {};
	const tagged = Object.entries(TaggedAddresses ?? {});
	const { Node, ...check } = renewedCheck(ID, checks) ?? {};
	return {
		definition: {
			id: ID,
			service: Service,
			...(Address !== '' && { host: Address }),
			port: Port,
			tags: Tags ?? [],
			meta,
			...(Weights && { weights: { passing: Weights.Passing, warning: Weights.Warning } }),
			...(tagged.length > 0 && {
				taggedAddresses: Object.fromEntries(
					tagged.map(([tag, address]) => [tag, { host: address.Address, port: address.Port }]),
				),
			}),
			bind: bind === 'sidecar' ? 'sidecar' : 'connection',
			...(claimant !== undefined && { claimant }),
			...(app !== undefined && { app }),
			isPartial: true,
		},
		instance: Node === undefined ? null : `${Node}/${ID}`,
		health: readHealth(check),
	};
}

/** What the app reported last. A check that ran out while no sidecar was there is no word of the app. */
function readHealth({ Status, Output = '' }: AgentCheck): InstanceHealth {
	if (Output.startsWith('TTL expired')) return { status: 'passing', note: '' };
	return { status: Status === 'warning' || Status === 'critical' ? Status : 'passing', note: Output };
}
