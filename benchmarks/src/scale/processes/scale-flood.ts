import { setTimeout as delay } from 'node:timers/promises';

import { connect } from '@spock/client';

import { answerCommands } from './answer-commands.ts';
import type { ScaleCallerSettings } from './scale-caller.ts';

const IN_FLIGHT = 512;

/** A client that calls as fast as it is answered, until its input ends. */
export async function probeScaleFlood([settings = '{}']: readonly string[]): Promise<void> {
	const { path, service } = JSON.parse(settings) as ScaleCallerSettings;
	const diplomat = await connect({ path, readyTimeoutMs: 60_000 });
	const flood = async (): Promise<void> => {
		for (;;) {
			// An overloaded sidecar refuses calls, and this one goes on.
			await diplomat.request('getService', { service }).catch(() => delay(1));
		}
	};
	for (let flow = 0; flow < IN_FLIGHT; flow++) void flood();
	await answerCommands(() => null);
}
