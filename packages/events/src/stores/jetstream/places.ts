import { SpockError } from '@spock/protocol';

import type { ApiError } from './fast-ingest.ts';
import type { JetStreamSettings } from './jetstream-options.ts';
import { type NatsSession, storeError } from './nats-link.ts';
import { ensurePlaces, placesName } from './stream-config.ts';

const EXPECTED = 'Nats-Expected-Last-Subject-Sequence';
/** Of the API of JetStream: somebody else has written meanwhile. */
const WRONG_LAST_SEQUENCE = 10071;

/** A value, and which write it is: the next one that replaces it names this. */
export interface Kept<Value> {
	readonly value: Value;
	/** 0: there is none yet. */
	readonly revision: number;
}

/** One of the values, for who replaces it. */
export interface RecordPlace<Value> {
	/** By the leader. */
	get(): Promise<Kept<Value> | undefined>;
	/** Gives the new revision; undefined if somebody else has written meanwhile. */
	replace(value: Value, revision: number): Promise<number | undefined>;
}

/** Small JSON values, each replaced only by who knows the one before: a stream that keeps the last message of each subject. */
export class Places {
	readonly #settings: JetStreamSettings;
	/** Anew at each connection: the server may have lost everything. */
	readonly #ensured = new WeakSet<NatsSession>();

	constructor(settings: JetStreamSettings) {
		this.#settings = settings;
	}

	/** Asks the leader: a replica may be behind. */
	async get<Value>(session: NatsSession, name: string): Promise<Kept<Value> | undefined> {
		const stream = await this.#stream(session);
		try {
			const message = await session.streams.getMessage(stream, { last_by_subj: `${stream}.${name}` });
			return message === null ? undefined : { value: message.json<Value>(), revision: message.seq };
		} catch (error) {
			throw storeError('a place cannot be read from NATS', error);
		}
	}

	/** Gives the new revision; undefined if it is not this one that is there. */
	async replace(session: NatsSession, name: string, value: unknown, revision: number): Promise<number | undefined> {
		const stream = await this.#stream(session);
		const headers = session.newHeaders();
		headers.set(EXPECTED, String(revision));
		const timeout = this.#settings.timeoutMs;
		try {
			const answer = await session.connection.request(`${stream}.${name}`, JSON.stringify(value), { headers, timeout });
			const { seq, error } = answer.json<{ readonly seq: number; readonly error?: ApiError }>();
			if (error?.err_code === WRONG_LAST_SEQUENCE) return undefined;
			if (error !== undefined) throw new SpockError('UNAVAILABLE', error.description);
			return seq;
		} catch (error) {
			throw storeError('a place cannot be kept at NATS', error);
		}
	}

	/** Removes the value unless it was replaced since, and those below its name. */
	async remove(session: NatsSession, name: string, revision: number): Promise<void> {
		const stream = placesName(this.#settings);
		try {
			await session.streams.purge(stream, { filter: `${stream}.${name}`, seq: revision + 1 });
			await session.streams.purge(stream, { filter: `${stream}.${name}.>` });
		} catch (error) {
			throw storeError('a place cannot be removed from NATS', error);
		}
	}

	async #stream(session: NatsSession): Promise<string> {
		if (this.#ensured.has(session)) return placesName(this.#settings);
		const name = await ensurePlaces(session, this.#settings);
		this.#ensured.add(session);
		return name;
	}
}
