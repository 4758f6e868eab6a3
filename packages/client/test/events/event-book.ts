import { once } from 'node:events';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';

import { waitFor } from '@spock/testkit';

import type { Told } from './event-report.ts';

/** What the log holds of one app, and what is wrong with it. */
export interface Audit {
	readonly events: number;
	/** Told accepted, or persisted, and not there. */
	readonly lostAccepted: number;
	readonly lostPersisted: number;
	readonly twice: number;
	/** Events that are behind a later one of their app. */
	readonly outOfOrder: number;
	/** Events without which a later one of their app is there. */
	readonly holes: number;
	readonly examples: readonly string[];
}

interface Frame {
	readonly id?: number;
	readonly error?: { readonly message: string };
	readonly event?: string;
	readonly data: {
		readonly connections?: number;
		readonly consumer?: number;
		readonly position?: number;
		readonly events?: readonly Delivered[] & { readonly next?: number };
	};
}

interface Delivered {
	readonly n: number;
	readonly position: number;
	readonly event: { readonly stream: string; readonly payload: { readonly run: string; readonly count: number } };
}

const EXAMPLES_MAX = 5;

/** A connection that has said hello. */
async function openLine(path: string): Promise<{
	readonly send: (frame: unknown) => void;
	/** The next frame; rejects for a failure. */
	readonly next: () => Promise<Frame>;
	readonly close: () => void;
}> {
	const socket = createConnection(path);
	await once(socket, 'connect');
	const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
	const send = (frame: unknown): void => void socket.write(`${JSON.stringify(frame)}\n`);
	const next = async (): Promise<Frame> => {
		const { value, done } = await lines.next();
		if (done === true) throw new Error('the sidecar ended the connection');
		const frame = JSON.parse(value) as Frame;
		if (frame.error !== undefined) throw new Error(frame.error.message);
		return frame;
	};
	send({ id: 1, func: 'hello', data: { versions: [1], client: 'audit', features: ['push', 'events'] } });
	await next();
	return { send, next, close: () => socket.destroy() };
}

/** Resolves when a sidecar has read to their ends the connections of all who have died. */
export async function untilAllRead(path: string): Promise<void> {
	const { send, next, close } = await openLine(path);
	await waitFor('the end of every other connection', async () => {
		send({ id: 2, func: 'status', data: null });
		return (await next()).data.connections === 1;
	});
	close();
}

/**
 * Every event that a sidecar has, by position: read with nothing of this repository but the words of PROTOCOL.md. One reader for each
 * stream, from its first event to the last that was there when it began.
 */
export async function readAll(path: string, streams: readonly string[]): Promise<Delivered[]> {
	const { send, next, close } = await openLine(path);
	const found: Delivered[] = [];
	for (const [index, stream] of streams.entries()) {
		// Positions are given in order: what comes behind this one came after the question.
		send({ id: 2, func: 'publish', data: { stream, payload: { run: 'audit', count: index + 1 } } });
		const { position: last = 0 } = (await next()).data;
		send({ id: 3, func: 'openConsumer', data: { stream, from: 'first', inFlightMax: 1000 } });
		let consumer = -1;
		for (let isOpen = true; isOpen; ) {
			const { event, data } = await next();
			if (event === undefined) consumer = data.consumer ?? -1;
			if (event !== 'deliver' || data.consumer !== consumer) continue;
			const events = data.events ?? [];
			found.push(...events);
			send({ func: 'ack', data: { consumer, n: events.map(({ n }) => n) } });
			isOpen = !events.some(({ position }) => position >= last);
		}
		send({ id: 4, func: 'closeConsumer', data: { consumer } });
		for (let frame = await next(); frame.id !== 4; frame = await next());
	}
	close();
	return found.filter(({ event }) => event.payload.run !== 'audit').sort((one, other) => one.position - other.position);
}

/** Holds what is there against what was told. Each app numbers its events from 1, over all streams. */
export function audit(events: readonly Delivered[], told: ReadonlyMap<string, Told>): Audit {
	let lostAccepted = 0;
	let lostPersisted = 0;
	let twice = 0;
	let outOfOrder = 0;
	let holes = 0;
	const examples: string[] = [];
	const seen = new Map<string, Set<number>>();
	const lastOf = new Map<string, number>();
	for (const { position, event } of events) {
		const { run, count } = event.payload;
		const counts = seen.get(run) ?? new Set();
		seen.set(run, counts);
		const last = lastOf.get(run) ?? 0;
		if (counts.has(count)) {
			twice++;
			examples.push(`${run}: ${count} again at ${position}`);
		} else if (count < last) {
			outOfOrder++;
			examples.push(`${run}: ${count} behind ${last} at ${position}`);
		}
		counts.add(count);
		lastOf.set(run, Math.max(last, count));
	}
	for (const [run, { accepted, persisted }] of told) {
		const counts = seen.get(run) ?? new Set();
		const last = lastOf.get(run) ?? 0;
		for (let count = 1; count <= Math.max(last, accepted, persisted); count++) {
			if (counts.has(count)) continue;
			if (count <= accepted) lostAccepted++;
			if (count <= persisted) lostPersisted++;
			if (count < last) holes++;
			examples.push(`${run}: ${count} is missing (accepted ${accepted}, persisted ${persisted}, last ${last})`);
		}
	}
	return {
		events: events.length,
		lostAccepted,
		lostPersisted,
		twice,
		outOfOrder,
		holes,
		examples: examples.slice(0, EXAMPLES_MAX),
	};
}

/** What several logs hold together, and what is wrong with them. */
export function sumAudits(audits: readonly Audit[]): Audit {
	const sum = (name: keyof Omit<Audit, 'examples'>): number => audits.reduce((total, each) => total + each[name], 0);
	return {
		events: sum('events'),
		lostAccepted: sum('lostAccepted'),
		lostPersisted: sum('lostPersisted'),
		twice: sum('twice'),
		outOfOrder: sum('outOfOrder'),
		holes: sum('holes'),
		examples: audits.flatMap(({ examples }) => examples).slice(0, EXAMPLES_MAX),
	};
}
