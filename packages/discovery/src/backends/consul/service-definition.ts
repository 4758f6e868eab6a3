import type { TaggedAddress } from '@spock/protocol';

import type {
	InstanceDefinition,
	InstanceHealth,
	OwnedInstance,
	RegistrationTerms,
} from '../../foundation/registrar.ts';
import { OWNER_META } from '../../foundation/registration-place.ts';
import { type AgentCheck, appCheck, renewedCheck, toAppCheck, toRenewedCheck } from './instance-checks.ts';

const BIND_META = 'spock-bind';
/** A hash of the secret of the client that registered it: nobody can make the secret of it. */
const CLAIMANT_META = 'spock-claimant';
/** The app of the token that it was registered with. */
export const APP_META = 'spock-app';

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

/** The body of a registration, where the instance has these checks already: https://developer.hashicorp.com/consul/api-docs/agent/service#register-service */
export function toServiceDefinition(
	definition: InstanceDefinition,
	{ status }: InstanceHealth,
	terms: RegistrationTerms,
	checks: Readonly<Record<string, AgentCheck>> = {},
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
		Meta: { ...meta, [OWNER_META]: terms.owner, [BIND_META]: bind, ...whose },
		Weights: { Passing: weights?.passing ?? 1, Warning: weights?.warning ?? 1 },
		TaggedAddresses: Object.fromEntries(
			Object.entries(taggedAddresses).map(([tag, address]) => [tag, toTaggedAddress(address, port)]),
		),
		EnableTagOverride: false,
		Checks: [toRenewedCheck(id, status, terms), ...(check === undefined ? [] : [toAppCheck(id, check, checks)])],
	};
}

function toTaggedAddress({ host, port }: TaggedAddress, servicePort: number): Readonly<Record<string, unknown>> {
	return { Address: host, Port: port ?? servicePort };
}

/** What an agent lists, as it was registered. What Consul adds to the tagged addresses is among them. */
export function readOwned(service: AgentService, checks: Readonly<Record<string, AgentCheck>>): OwnedInstance {
	const { ID, Service, Address = '', Port = 0, Tags, Meta, Weights, TaggedAddresses } = service;
	const { [OWNER_META]: _, [BIND_META]: bind, [CLAIMANT_META]: claimant, [APP_META]: app, ...meta } = Meta ?? {};
	const tagged = Object.entries(TaggedAddresses ?? {});
	const { Node, ...renewed } = renewedCheck(ID, checks) ?? {};
	const check = appCheck(ID, checks);
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
			...(check !== undefined && { check }),
			bind: bind === 'sidecar' ? 'sidecar' : 'connection',
			...(claimant !== undefined && { claimant }),
			...(app !== undefined && { app }),
			isPartial: true,
		},
		instance: Node === undefined ? null : `${Node}/${ID}`,
		health: readHealth(renewed),
	};
}

/** What the app reported last. A check that ran out while no sidecar was there is no word of the app. */
function readHealth({ Status, Output = '' }: AgentCheck): InstanceHealth {
	if (Output.startsWith('TTL expired')) return { status: 'passing', note: '' };
	return { status: Status === 'warning' || Status === 'critical' ? Status : 'passing', note: Output };
}
