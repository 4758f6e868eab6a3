import { createHash } from 'node:crypto';

import { REGISTRATION_ID_LENGTH_MAX, type RegisterServiceData, type ReportedStatus } from '@spock/protocol';

import type { InstanceDefinition, InstanceHealth } from '../foundation/registrar.ts';

/** What an id must not hold. */
const FOREIGN = /[^\w.:@~+-]/g;
const HASH_LENGTH = 8;

/** What fills in where an app says nothing. */
export interface RegistrationDefaults {
	/** The host, or nothing for the address of the registry's agent. */
	readonly advertise: string | undefined;
	/** Differs for every pod and machine of one agent. */
	readonly machine: string;
}

/** What is to stand in the registry, for valid data. */
export function definitionOf(
	data: RegisterServiceData,
	{ advertise, machine }: RegistrationDefaults,
): InstanceDefinition {
	const { service, port, host = advertise, tags = [], meta = {}, weights, taggedAddresses, check } = data;
	return {
		id: data.id ?? defaultId(`${service}-${data.host ?? machine}-${port}`),
		service,
		...(host !== undefined && { host }),
		port,
		tags,
		meta,
		...(weights && { weights }),
		...(taggedAddresses && { taggedAddresses }),
		...(check && { check }),
		bind: data.bind ?? 'connection',
	};
}

/** True for definitions of the same instance. Of one that was found, as much is compared as the registry tells. */
export function isSameDefinition(left: InstanceDefinition, right: InstanceDefinition): boolean {
	const isPartial = left.isPartial === true || right.isPartial === true;
	return JSON.stringify(comparable(left, isPartial)) === JSON.stringify(comparable(right, isPartial));
}

function comparable(definition: InstanceDefinition, isPartial: boolean): unknown {
	const { id, service, host, port, tags, weights, taggedAddresses, check, bind } = definition;
	const meta = Object.entries(definition.meta).sort(([one], [other]) => (one < other ? -1 : 1));
	const { passing = 1, warning = 1 } = weights ?? {};
	const parts = [id, service, host, port, tags, meta, passing, warning, bind];
	return isPartial ? parts : [...parts, taggedAddresses, check];
}

/** The health that an app reports. */
export function healthOf({
	status = 'passing',
	note = '',
}: {
	status?: ReportedStatus;
	note?: string;
}): InstanceHealth {
	return { status, note };
}

/** The text as an id. What cannot stand in one is replaced, and a hash tells two texts apart that then look the same. */
function defaultId(text: string): string {
	const plain = text.replace(FOREIGN, '-').replace(/^\W/, '_');
	if (plain === text && plain.length <= REGISTRATION_ID_LENGTH_MAX) return plain;
	const hash = createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
	return `${plain.slice(0, REGISTRATION_ID_LENGTH_MAX - HASH_LENGTH - 1)}-${hash}`;
}
