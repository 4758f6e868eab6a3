import { SpockError } from '@spock/protocol';

import type { InstanceDefinition } from '../../foundation/registrar.ts';
import type { Sighting } from '../../foundation/registration-place.ts';

/** Where one instance is registered. */
export interface Placed {
	readonly place: number;
	readonly service: string;
	readonly owner: string;
	/** For whom it is: the app, or else the client. */
	readonly share: string;
	/** Null if the registry did not return it. */
	readonly node: string | null;
	/** As it was defined; undefined for the host of the node. */
	readonly at: { readonly host: string | undefined; readonly port: number };
	/** The host for a definition without one, if it is not that of the place. */
	readonly host: string | undefined;
	/** What the registry published last. */
	seen: Sighting | undefined;
	/** The place has failed, as the registry publishes: another one must take it over. */
	isLost: boolean;
	/** The last write did not reach the place. */
	isAway: boolean;
	/** Ends the wait for a report in flight. */
	onLost?: () => void;
}

/** What is known of one when it has been written. */
export type PlacedFacts = Pick<Placed, 'place' | 'service' | 'owner' | 'share' | 'at' | 'host'> & {
	readonly instance: string | null;
};

/** What the registry publishes of one registration; undefined where it is unknown. */
export type View = readonly Sighting[] | undefined;

/** The definition with the host that it had where it was registered first. Throws UNAVAILABLE if that is unknown. */
export function hosted(
	definition: InstanceDefinition,
	before: Placed | undefined,
	view: View,
	nodeHost: string | undefined,
): InstanceDefinition {
	if (definition.host !== undefined || before === undefined) return definition;
	const host = before.host ?? (view?.find(({ node }) => node === before.node) ?? before.seen)?.nodeHost ?? nodeHost;
	if (host !== undefined) return { ...definition, host };
	const message = `${definition.id} has the address of its agent, which is unknown: register it with a host`;
	throw new SpockError('UNAVAILABLE', message, { details: { id: definition.id, owner: before.owner } });
}

/** As it is published; where it is no longer, as it was seen last, or else as the place listed it. */
export function maintenanceOf(before: Placed, view: View, listed: string | undefined): string | undefined {
	const published = view?.find(({ node }) => node === before.node) ?? before.seen;
	return published === undefined ? listed : published.maintenance;
}

/** True where the place itself did not answer, and not where it refused. */
export function isAway(error: unknown): error is SpockError {
	if (!SpockError.is(error, 'UNAVAILABLE')) return false;
	return error.details['owner'] === undefined && error.details['isUnknownToken'] !== true;
}

export function unseenError(id: string): SpockError {
	const message = `whether ${id} is registered elsewhere is unknown, as no other address reports it`;
	return new SpockError('UNAVAILABLE', message, { details: { id } });
}

/** What makes the caller register it again. */
export function registerAnew(id: string, { node }: Placed): SpockError {
	return new SpockError('NO_SUCH_SERVICE', `the node ${node} of ${id} has failed or left`, { details: { id } });
}

/** Rejects when the place is lost, for the one report in flight. */
export function lossOf(id: string, placed: Placed): Promise<never> {
	return new Promise((_, reject) => {
		placed.onLost = () => reject(registerAnew(id, placed));
	});
}

/** Readers are sent to it at another node: registered here as well, they would find it twice. */
export function blockedError(id: string, owner: string, node: string, cause: SpockError | undefined): SpockError {
	const message = `${id} is still published as well at ${node}, whose agent cannot be reached: another one takes it over when that ends`;
	return new SpockError('UNAVAILABLE', message, { details: { id, owner, node }, ...(cause && { cause }) });
}

export function isBlocked(error: unknown): error is SpockError {
	return SpockError.is(error, 'UNAVAILABLE') && 'node' in error.details;
}

/**
 * True for a registration of this very instance: where readers connect to is the same. An owner that was meant to be unique at its agent
 * alone may be another sidecar's elsewhere.
 */
export function isTwin({ host, port }: Sighting, at: Placed['at']): boolean {
	return port === at.port && (at.host === undefined || host === at.host);
}

/** True if readers are sent to this very instance at another node as well. An address that is unknown could be another sidecar's. */
export function isElsewhere(
	id: string,
	{ node, at, host: kept, seen }: Placed,
	sightings: readonly Sighting[],
	nodeHost: string | undefined,
): boolean {
	const host = at.host ?? kept ?? seen?.host ?? nodeHost;
	if (node === null || host === undefined) return false;
	return sightings.some((one) => one.id === id && one.node !== node && one.isServed && isTwin(one, { ...at, host }));
}
