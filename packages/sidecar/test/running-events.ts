import { createSidecar, type SidecarLimits } from '@spock/sidecar';
import { tempSocket } from '@spock/testkit';

import { EventGuest } from '../src/events/event-guest.ts';
import { FakeSource } from './fake-source.ts';
import { MemoryEvents } from './memory-events.ts';
import { type Frame, RawClient } from './raw-client.ts';

/** A sidecar that takes events into memory. */
export interface RunningEvents extends AsyncDisposable {
	readonly path: string;
	readonly events: MemoryEvents;
	/** Why connections were closed. */
	readonly reasons: string[];
	readonly failures: string[];
	open(): Promise<RawClient>;
	/** Asks it to end, and waits. */
	end(): Promise<void>;
}

/** Starts one. Disposing it ends it at once. */
export async function runEvents(
	events: MemoryEvents = new MemoryEvents(),
	limits: SidecarLimits = {},
): Promise<RunningEvents> {
	const place = await tempSocket();
	const source = new FakeSource();
	source.publish('barista', ['1.2.3.4']);
	const reasons: string[] = [];
	const failures: string[] = [];
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: place.path } }],
		limits: { graceMs: 0, drainTimeoutMs: 0, ...limits },
		events: {
			create: (context) =>
				new EventGuest(context, {
					serve: () => events,
					directory: '/memory',
					drainMs: 5,
					openFailed: (error) => failures.push(error.message),
				}),
		},
		observer: { connectionClosed: (_id, reason) => reasons.push(reason) },
	});
	await sidecar.start();
	const end = async (): Promise<void> => {
		sidecar.terminate();
		sidecar.terminate();
		await sidecar.ended;
	};
	return {
		path: place.path,
		events,
		reasons,
		failures,
		open: () => RawClient.open(place.path),
		end,
		[Symbol.asyncDispose]: async () => {
			await end();
			await place[Symbol.asyncDispose]();
		},
	};
}

/** The line of an event. */
export function eventLine(seq: number, payload: unknown, stream = 'orders'): string {
	return `{"seq":${seq},"func":"event","data":{"stream":"${stream}","payload":${JSON.stringify(payload)}}}\n`;
}

/** A call line with its producer, and the uplink of that. */
export interface OpenProducer extends AsyncDisposable {
	readonly call: RawClient;
	readonly uplink: RawClient;
	readonly reply: Record<string, unknown>;
}

/** Opens a producer as a client does. */
export async function openProducer(
	running: Pick<RunningEvents, 'open'>,
	data: Record<string, unknown> = { producer: 'p' },
): Promise<OpenProducer> {
	const call = await running.open();
	const frame = await call.ask(1, 'openProducer', data);
	const reply = frame?.['data'] as Record<string, unknown> | undefined;
	if (reply === undefined) throw new Error(`no producer: ${JSON.stringify(frame)}`);
	const uplink = await running.open();
	uplink.send({ func: 'uplink', data: { ticket: reply['ticket'] } });
	return {
		call,
		uplink,
		reply,
		[Symbol.asyncDispose]: async () => {
			call.socket.destroy();
			uplink.socket.destroy();
		},
	};
}

/** The pushes `acked` of a call line, up to the one that says this. */
export async function ackedUpTo(call: RawClient, persisted: number): Promise<Frame> {
	for (;;) {
		const frame = await call.next();
		if (frame === undefined) throw new Error('the call line has ended');
		const { data, event } = frame as unknown as { data: { persisted: number }; event?: string };
		if (event === 'acked' && data.persisted >= persisted) return frame;
	}
}
