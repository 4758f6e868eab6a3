import { createHash } from 'node:crypto';

import {
	META_COUNT_MAX,
	META_VALUE_LENGTH_MAX,
	REGISTRATION_ID_LENGTH_MAX,
	type RegisterServiceData,
	type ReportedStatus,
	SpockError,
} from '@spock/protocol';

import type { InstanceDefinition, InstanceHealth } from '../foundation/registrar.ts';

/** Characters that an id must not contain. */
const FOREIGN = /[^\w.:@~+-]/g;
const HASH_LENGTH = 8;

/** Defaults for what an app leaves out. */
export interface RegistrationDefaults {
	/** The host; undefined for the address of the registry's agent. */
	readonly advertise: string | undefined;
	/** The metadata `zone`; undefined for none. */
	readonly zone: string | undefined;
	/** Differs for every pod and machine of one agent. */
	readonly machine: string;
}

/**
 * The app that a request of this holder is for. A sidecar says for which of its apps it is: that counts below its own name, so that no
 * holder can speak for another one. Throws BAD_REQUEST if the whole is too long.
 */
export function appOf(holder: { readonly app?: string | undefined }, said: string | undefined): string | undefined {
	if (said === undefined) return holder.app;
	const app = `${holder.app ?? ''}/${said}`;
	if (app.length <= META_VALUE_LENGTH_MAX) return app;
	throw new SpockError(
		'BAD_REQUEST',
		`data.app must have at most ${META_VALUE_LENGTH_MAX} characters with ${holder.app ?? ''}/`,
		{
			details: { path: 'app' },
		},
	);
}

/** The definition for the registry, of valid data; `app` registers it. */
export function definitionOf(
	data: RegisterServiceData,
	{ advertise, zone, machine }: RegistrationDefaults,
	app?: string,
): InstanceDefinition {
	const { service, port, host = advertise, tags = [], meta = {}, weights, taggedAddresses, check } = data;
	return {
		id: data.id ?? defaultId(`${service}-${data.host ?? machine}-${port}`),
		service,
		...(host !== undefined && { host }),
		port,
		tags,
		// Consul keeps 64 of them: with the app there is room for one less.
		meta: zone === undefined || (app !== undefined && isFull(meta)) ? meta : { zone, ...meta },
		...(weights && { weights }),
		...(taggedAddresses && { taggedAddresses }),
		...(check && { check }),
		bind: data.bind ?? 'connection',
		...(app !== undefined && { app }),
	};
}

function isFull(meta: Readonly<Record<string, string>>): boolean {
	return Object.keys(meta).length >= META_COUNT_MAX;
}

/** True for equal definitions. Of one that was found, only what the registry returns is compared. */
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

/** The text as an id. Characters that an id must not contain are replaced, and a hash distinguishes texts that then look the same. */
function defaultId(text: string): string {
	const plain = text.replace(FOREIGN, '-').replace(/^\W/, '_');
	if (plain === text && plain.length <= REGISTRATION_ID_LENGTH_MAX) return plain;
	const hash = createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);
	return `${plain.slice(0, REGISTRATION_ID_LENGTH_MAX - HASH_LENGTH - 1)}-${hash}`;
}
