import { EventEmitter, once } from 'node:events';

import { retry } from '@spock/client/integrations';
import { DiscoveryAgent } from '@spock/http';
import { expect, it } from 'vitest';

import { type HttpInstance, startInstance } from './http-instance.ts';
import { scriptedService } from './scripted-service.ts';
import { send } from './send.ts';

const INSTANCES = 5;
/** Requests under way at once, one after the other each. */
const CALLERS = 20;

/** Callers that ask until `during` has ended, which can wait until each has ended some calls more; what they met. */
async function underLoad(
	call: () => Promise<{ readonly status: number }>,
	during: (more: (calls: number) => Promise<void>) => Promise<void>,
): Promise<{ readonly done: number; readonly errors: readonly unknown[] }> {
	let isOver = false;
	let done = 0;
	const errors: unknown[] = [];
	const ended = new Array<number>(CALLERS).fill(0);
	const progress = new EventEmitter();
	const more = async (calls: number): Promise<void> => {
		const enough = ended.map((count) => count + calls);
		while (ended.some((count, index) => count < (enough[index] as number))) await once(progress, 'call');
	};
	const callers = ended.map(async (_, index) => {
		while (!isOver) {
			await call().then(
				({ status }) => (status === 200 ? done++ : errors.push(status)),
				(error: unknown) => errors.push(error),
			);
			ended[index] = (ended[index] as number) + 1;
			progress.emit('call');
		}
	});
	await during(more);
	isOver = true;
	await Promise.all(callers);
	return { done, errors };
}

/** Ends each instance and starts it anew somewhere else, one after the other; the registry hears of it before, or after. */
async function restartEach(
	list: HttpInstance[],
	publish: (list: readonly HttpInstance[]) => void,
	isAnnounced: boolean,
	hasServed: () => Promise<void>,
): Promise<void> {
	for (let index = 0; index < list.length; index++) {
		const old = list[index] as HttpInstance;
		if (isAnnounced) {
			publish(list.filter((one) => one !== old));
			// What was on its way is there now. Then as servers end: no new connections, and idle ones closed.
			await hasServed();
			old.server.close();
		} else {
			await old.stop();
			await hasServed();
		}
		list[index] = await startInstance(old.id);
		publish(list);
		await hasServed();
		await old.stop();
	}
}

it.each([
	['an instance leaves the registry before it ends: no failure even without a retry, whatever the method', true],
	['instances are killed and leave the registry late: no failure with retry', false],
] as const)('a rolling restart under load: %s', async (_what, isAnnounced) => {
	const list = await Promise.all(Array.from({ length: INSTANCES }, (_, index) => startInstance(`web-${index}`)));
	await using service = scriptedService('web');
	service.set(list);
	const agent = new DiscoveryAgent({ diplomat: service.diplomat });
	const sendOnce = () => send('http://web.spock/', { agent, method: 'POST' }, 'a body');
	const call = () => (isAnnounced ? sendOnce() : retry(sendOnce));
	const result = await underLoad(call, (more) =>
		restartEach(
			list,
			(now) => service.set(now),
			isAnnounced,
			() => more(5),
		),
	);
	expect(result.errors).toEqual([]);
	expect(result.done).toBeGreaterThanOrEqual(INSTANCES * 2 * 5 * CALLERS);
	expect(service.open()).toBe(0);
	agent.destroy();
	await Promise.all(list.map((one) => one.stop()));
});
