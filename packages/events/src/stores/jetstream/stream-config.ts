import type { StreamConfig } from '@nats-io/jetstream';
import { SpockError } from '@spock/protocol';

import type { JetStreamSettings } from './jetstream-options.ts';
import { type NatsSession, storeError } from './nats-link.ts';

const NANOSECONDS = 1_000_000;
/** Of the API of JetStream: there is no such stream. */
const STREAM_NOT_FOUND = 10059;

/** What a stream of ours may be at the server: what else it has is its operator's. */
export interface StreamState {
	readonly name: string;
	readonly isBatched: boolean;
	/** Longest message with its headers; -1 for any. */
	readonly messageBytesMax: number;
	/** Sequence numbers of what it keeps; 0 for none so far. */
	readonly first: number;
	readonly last: number;
}

/** Names of streams have dots, which separate tokens at NATS; ours have no tilde. */
export function tokenOf(name: string): string {
	return name.replaceAll('.', '~');
}

export function streamName({ prefix }: JetStreamSettings, stream: string): string {
	return `${prefix}-${tokenOf(stream)}`;
}

/** Of the events of one log, or with `*` of all logs or all partitions. */
export function subjectOf(
	{ prefix }: JetStreamSettings,
	stream: string,
	partition: number | '*',
	owner: string,
): string {
	return `${prefix}.${tokenOf(stream)}.${partition}.${owner}`;
}

/** Of a message, as `subjectOf` has named it. */
export function partitionIn(subject: string): number {
	return Number(subject.split('.')[2]);
}

/** The stream that keeps the places of logs and groups; no stream of events has a tilde behind the prefix. */
export function placesName({ prefix }: JetStreamSettings): string {
	return `${prefix}~places`;
}

/** Creates the stream if there is none. Rejects with UNAVAILABLE, also where it is one that would lose or hide events. */
export async function ensureStream(
	session: NatsSession,
	settings: JetStreamSettings,
	stream: string,
): Promise<StreamState> {
	const { prefix, maxAgeMs, maxBytes, dedupeMs } = settings;
	const name = streamName(settings, stream);
	const subject = subjectOf(settings, stream, '*', '*');
	return ensure(session, name, subject, {
		...common(settings),
		name,
		subjects: [subject],
		description: `Events of the stream ${stream}, fed by Spock (${prefix})`,
		max_age: maxAgeMs * NANOSECONDS,
		max_bytes: maxBytes,
		duplicate_window: dedupeMs * NANOSECONDS,
		...(session.hasFastIngest && { allow_batched: true }),
	});
}

export async function ensurePlaces(session: NatsSession, settings: JetStreamSettings): Promise<string> {
	const name = placesName(settings);
	const subject = `${name}.>`;
	await ensure(session, name, subject, {
		...common(settings),
		name,
		subjects: [subject],
		description: `How far logs and groups of Spock (${settings.prefix}) have come`,
		max_msgs_per_subject: 1,
		// Without ids nothing is recognised, and nothing must be.
		duplicate_window: 1000 * NANOSECONDS,
	});
	return name;
}

/** Nothing is ever dropped to make room: a full stream refuses, and the log keeps. */
function common({ replicas }: JetStreamSettings): Partial<StreamConfig> {
	return {
		storage: 'file',
		retention: 'limits',
		num_replicas: replicas,
		discard: 'new',
		allow_direct: true,
	} as Partial<StreamConfig>;
}

async function ensure(
	session: NatsSession,
	name: string,
	subject: string,
	config: Partial<StreamConfig> & { readonly name: string },
): Promise<StreamState> {
	try {
		const info = await session.streams.info(name).catch((error: unknown) => {
			if ((error as { readonly code?: unknown }).code === STREAM_NOT_FOUND) return session.streams.add(config);
			throw error;
		});
		refuseUnfit(name, subject, info.config, config);
		const { max_msg_size = -1, allow_batched } = info.config;
		return {
			name,
			isBatched: session.hasFastIngest && allow_batched === true,
			messageBytesMax: max_msg_size,
			first: info.state.first_seq,
			last: info.state.last_seq,
		};
	} catch (error) {
		throw storeError(`the NATS stream ${name} cannot be used`, error);
	}
}

/** Whatever would let events go somewhere else, vanish, or be stored twice. */
function refuseUnfit(name: string, subject: string, has: StreamConfig, wanted: Partial<StreamConfig>): void {
	const perSubject = wanted.max_msgs_per_subject ?? -1;
	const faults = [
		!(has.subjects ?? []).includes(subject) && `its subjects must include ${subject}`,
		has.retention !== 'limits' && `its retention must be limits, not ${has.retention}`,
		has.no_ack === true && 'it must acknowledge what it stores (no_ack)',
		has.sealed === true && 'it must not be sealed',
		has.mirror !== undefined && 'it must not be a mirror',
		(has.max_msgs_per_subject > 0 ? has.max_msgs_per_subject : -1) !== perSubject &&
			`its max_msgs_per_subject must be ${perSubject}, not ${has.max_msgs_per_subject}`,
		has.duplicate_window < (wanted.duplicate_window ?? 0) &&
			`its duplicate_window must be at least ${(wanted.duplicate_window ?? 0) / NANOSECONDS} ms`,
	].filter((fault) => fault !== false);
	if (faults.length === 0) return;
	throw new SpockError('UNAVAILABLE', `the NATS stream ${name} does not fit: ${faults.join('; ')}`, {
		details: { stream: name, faults },
	});
}
