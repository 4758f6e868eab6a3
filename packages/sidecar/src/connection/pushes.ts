import {
	encodePayload,
	encodePush,
	fitsFrame,
	type KeyQuery,
	type KeySnapshot,
	keyQueryKey,
	normaliseKeyQuery,
	normaliseQuery,
	queryKey,
	type RegistrationReply,
	type ServiceQuery,
	type ServiceSnapshot,
	type ServiceSource,
	type SpockError,
} from '@spock/protocol';

import { keysOf } from '../foundation/sidecar-source.ts';
import { ConnectionSubscriptions, type PushConnection, type PushSink } from './connection-subscriptions.ts';
import type { SnapshotPush } from './snapshot-delta.ts';
import { type SnapshotReading, snapshotPush, snapshotRefusal } from './snapshot-text.ts';

/** The connection that sends the pushes. */
export interface PushPort extends PushConnection {
	/** Sends a push. */
	push(push: SnapshotPush): void;
	/** What the client reads. */
	reading(): SnapshotReading;
	/** From now on this query is too long for the client, which has an older snapshot or none. */
	oversize(name: string, refusal: SpockError): void;
}

/** All pushes of one connection: services and keys. */
export class Pushes {
	readonly services: ConnectionSubscriptions<ServiceQuery, ServiceSnapshot>;
	readonly #source: ServiceSource;
	readonly #port: PushPort;
	readonly #countMax: number;
	// Created when first needed: most connections never watch a key.
	#keys: ConnectionSubscriptions<KeyQuery, KeySnapshot> | undefined;

	/** `countMax` limits the subscriptions to services, and separately those to keys. */
	constructor(source: ServiceSource, port: PushPort, countMax: number) {
		this.#source = source;
		this.#port = port;
		this.#countMax = countMax;
		this.services = new ConnectionSubscriptions<ServiceQuery, ServiceSnapshot>(
			{ source, keyOf: queryKey, normalise: normaliseQuery },
			this.#sink('service'),
			countMax,
		);
	}

	get size(): number {
		return this.services.size + (this.#keys?.size ?? 0);
	}

	/** Grows whenever what is watched changes. */
	get revision(): number {
		return this.services.revision + (this.#keys?.revision ?? 0);
	}

	/** Keys of the key queries that are watched. */
	get watchedKeys(): readonly string[] {
		return this.#keys?.watched ?? [];
	}

	/** Queries whose newest answer is too long for this client. */
	get oversizeCount(): number {
		return this.services.oversizeCount + (this.#keys?.oversizeCount ?? 0);
	}

	/** Throws UNKNOWN_FUNC if the registry has no keys. */
	get keys(): ConnectionSubscriptions<KeyQuery, KeySnapshot> {
		this.#keys ??= new ConnectionSubscriptions<KeyQuery, KeySnapshot>(
			{ source: keysOf(this.#source), keyOf: keyQueryKey, normalise: normaliseKeyQuery },
			this.#sink('key'),
			this.#countMax,
		);
		return this.#keys;
	}

	/** Sends waiting pushes, as far as the client reads them. */
	flush(): void {
		this.services.flush();
		this.#keys?.flush();
	}

	clear(): void {
		this.services.clear();
		this.#keys?.clear();
	}

	#sink(event: 'service' | 'key'): PushSink<ServiceSnapshot | KeySnapshot> {
		const port = this.#port;
		return {
			isBusy: () => port.isBusy(),
			encode: (snapshot, base) => snapshotPush(event, snapshot, port.reading(), base),
			push: (push) => port.push(push),
			superseded: () => port.superseded(),
			refusal: (snapshot) => snapshotRefusal(event, snapshot, port.reading()),
			oversize: (snapshot, refusal) => port.oversize('key' in snapshot ? snapshot.key : snapshot.service, refusal),
			now: () => port.now(),
			asker: () => port.asker(),
			full: () => port.full(),
		};
	}
}

/** Characters of an error that fit into the shortest frame, beside names of ordinary length. */
const ERROR_LENGTH_MAX = 64;

/**
 * The push line for a change of a registration, with a shortened error if it does not fit. Undefined if even that is longer than a
 * frame: the client's own request then failed with the same.
 */
export function registrationPush(registration: RegistrationReply, frameBytesMax: number): string | undefined {
	const line = encodePush('registration', encodePayload(registration));
	if (fitsFrame(line, frameBytesMax)) return line;
	const error = registration.error?.slice(0, ERROR_LENGTH_MAX) ?? null;
	const shorter = encodePush('registration', encodePayload({ ...registration, error }));
	return fitsFrame(shorter, frameBytesMax) ? shorter : undefined;
}
