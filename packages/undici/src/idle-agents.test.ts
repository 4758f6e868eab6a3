import { FakeClock } from '@spock/testkit';
import { expect, it } from 'vitest';
import type { AnyDispatcher } from './any-undici.ts';
import { AGENT_IDLE_MS, IdleAgents } from './idle-agents.ts';

function agent(): AnyDispatcher {
	return { dispatch: () => true, close: async () => undefined, destroy: async () => undefined };
}

it('drops what has had neither a connection nor a request for a while, and nothing else', async () => {
	const clock = new FakeClock();
	const dropped: AnyDispatcher[] = [];
	const idle = new IdleAgents((one) => dropped.push(one), clock);
	const [unused, used, connected, other] = [agent(), agent(), agent(), agent()];
	for (const one of [unused, used, connected]) idle.add(one);
	await clock.advance(AGENT_IDLE_MS / 2);
	idle.use(used);
	idle.delete(connected);
	idle.use(other);
	await clock.advance(AGENT_IDLE_MS / 2);
	expect(dropped).toEqual([unused]);
	await clock.advance(AGENT_IDLE_MS);
	expect(dropped).toEqual([unused, used]);
	expect(clock.pendingTimers).toBe(0);
});

it('has a timer only while there is something to wait for', () => {
	const clock = new FakeClock();
	const idle = new IdleAgents(() => expect.unreachable(), clock);
	const [one, two] = [agent(), agent()];
	idle.add(one);
	idle.add(two);
	expect(clock.pendingTimers).toBe(1);
	idle.delete(one);
	expect(clock.pendingTimers).toBe(1);
	idle.delete(two);
	expect(clock.pendingTimers).toBe(0);
});
