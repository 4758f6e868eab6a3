import { setTimeout as delay } from 'node:timers/promises';

import { connect } from '@spock/client';

import { answerCommands } from './answer-commands.ts';

/** What {@link probeScaleCaller} is given. */
export interface ScaleCallerSettings {
	readonly path: string;
	readonly service: string;
}

/** `start` begins to call, `stop` is answered with the calls that were answered since. */
export type ScaleCallerCommand = { readonly kind: 'start' | 'stop' };

/** When a call was made, on the clock of `performance.timeOrigin + performance.now()`, and how long it took, in ms. */
export type TimedCall = readonly [atMs: number, tookMs: number];

/** Between two calls. */
const PAUSE_MS = 1;

/** A client that makes one call over the wire after the other, whenever it is connected. */
export async function probeScaleCaller([settings = '{}']: readonly string[]): Promise<void> {
	const { path, service } = JSON.parse(settings) as ScaleCallerSettings;
	const diplomat = await connect({ path, whileDisconnected: 'fail', readyTimeoutMs: 60_000 });
	let calls: TimedCall[] = [];
	let isCalling = false;
	const call = async (): Promise<void> => {
		while (isCalling) {
			const startedMs = performance.now();
			try {
				await diplomat.request('getService', { service });
				calls.push([performance.timeOrigin + startedMs, performance.now() - startedMs]);
			} catch {
				// Without a connection, which is not what is measured here; the times of those that come back are.
			}
			await delay(PAUSE_MS);
		}
	};
	await answerCommands<ScaleCallerCommand>(({ kind }) => {
		isCalling = kind === 'start';
		if (!isCalling) return calls;
		calls = [];
		void call();
		return true;
	});
}
