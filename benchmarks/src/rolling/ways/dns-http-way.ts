import { Agent } from 'node:http';

import { type ClientSettings, HTTP_SERVICE } from '../rolling-messages.ts';
import { DnsAnswers } from './dns-answers.ts';
import { getText } from './get-text.ts';
import { Retried } from './retried.ts';
import type { Way } from './way.ts';

/** Round robin over what DNS told last, with as many tries as the others have, each at the next address. */
export async function openDnsHttpWay(settings: ClientSettings): Promise<Way> {
	const { attempt, close } = await openAttempt(settings);
	const retried = new Retried();
	return { call: () => retried.call(attempt), retries: () => retried.retries, close };
}

/** The same with one try. */
export async function openDnsHttpOnceWay(settings: ClientSettings): Promise<Way> {
	const { attempt, close } = await openAttempt(settings);
	return { call: attempt, retries: () => 0, close };
}

async function openAttempt({
	socket,
	dnsTtlMs,
}: ClientSettings): Promise<{ readonly attempt: () => Promise<string>; readonly close: () => Promise<void> }> {
	const dns = await DnsAnswers.open(socket, HTTP_SERVICE, dnsTtlMs);
	const agent = new Agent({ keepAlive: true });
	return {
		attempt: async () => getText({ ...(await dns.next()), agent }),
		close: () => {
			agent.destroy();
			return dns.close();
		},
	};
}
