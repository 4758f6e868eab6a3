import { createDiplomat } from '@spock/client';
import { FakeClock, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { type Dispatcher, undicis } from '../test/clients.ts';
import { ScriptedSource, startInstances } from '../test/instances.ts';
import { dispatcherWith } from './dispatcher.ts';
import { AGENT_IDLE_MS } from './idle-agents.ts';

const URL = 'http://barista.spock/';

describe.each(undicis)('agents of %s whose service cannot be watched', (_name, undici) => {
	it('are closed once their instances are gone, and those of the others stay', async () => {
		await using instances = await startInstances(3);
		const source = new ScriptedSource({ barista: instances.map((one) => one.record()) });
		await using diplomat = createDiplomat({ source, policy: 'round-robin' });
		// biome-ignore lint/correctness/useYield: it fails before it has something to give.
		diplomat.watchService = async function* () {
			throw new Error('denied');
		};
		let made = 0;
		const closed = new Set<object>();
		class Counted extends undici.Agent {
			constructor(options: object) {
				super(options);
				made++;
			}

			// Undici's calls itself, with a callback.
			override close(...args: []): Promise<void> {
				closed.add(this);
				return super.close(...args);
			}
		}
		const clock = new FakeClock();
		const agentOptions = { keepAliveTimeout: 600_000 };
		const dispatcher = dispatcherWith({ diplomat, Agent: Counted, agentOptions }, clock) as unknown as Dispatcher;
		let disconnected = 0;
		(dispatcher as unknown as NodeJS.EventEmitter).on('disconnect', () => disconnected++);
		for (let turn = 0; turn < 3; turn++) await undici.get(URL, { dispatcher });
		// One for each instance, and one for what is no service.
		expect([made, closed.size]).toEqual([4, 0]);
		await clock.advance(3 * AGENT_IDLE_MS);
		expect(closed.size).toBe(0);
		const [staying = expect.unreachable(), ...leaving] = instances;
		for (const { sockets } of leaving) for (const socket of sockets) socket.destroy();
		await waitFor('the ends of the connections', () => disconnected === 2);
		await clock.advance(AGENT_IDLE_MS);
		expect([made, closed.size, staying.sockets.size]).toEqual([4, 2, 1]);
		for (let turn = 0; turn < 3; turn++) await undici.get(URL, { dispatcher });
		expect([made, closed.size]).toEqual([6, 2]);
		await dispatcher.close();
		expect([closed.size, clock.pendingTimers]).toEqual([6, 0]);
	});
});
