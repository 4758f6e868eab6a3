import { step } from '@spock/protocol/internal';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { Lifecycle } from './lifecycle.ts';
import { type LifecycleEvent, type LifecycleState, lifecycleMachine } from './lifecycle-machine.ts';

const states = Object.keys(lifecycleMachine) as LifecycleState[];
const events: readonly LifecycleEvent[] = [
	'bound',
	'bind failed',
	'terminate',
	'replaced',
	'grace over, no clients',
	'grace over, clients',
	'last client left',
	'drain deadline',
	'second signal',
	'all closed',
];

/** Every cell that does something; all others must do nothing. */
const CELLS: Readonly<Record<string, string>> = {
	'starting + bound': 'serving: ready',
	'starting + bind failed': 'stopped: exit 1',
	'starting + terminate': 'stopping: close all',
	'starting + second signal': 'stopped: exit 1',
	'serving + terminate': 'grace: not ready, start the minimum grace',
	'serving + replaced': 'handing over: not ready, send clients away, start the linger',
	'handing over + terminate': 'grace: ',
	'handing over + grace over, no clients': 'stopping: close all',
	'handing over + grace over, clients': 'handed over: ',
	'handing over + drain deadline': 'stopping: close all',
	'handed over + terminate': 'waiting for clients: ',
	'handed over + last client left': 'stopping: close all',
	'handed over + drain deadline': 'stopping: close all',
	'grace + grace over, no clients': 'stopping: close all',
	'grace + grace over, clients': 'waiting for clients: send TCP clients away',
	'grace + drain deadline': 'stopping: close all',
	'grace + second signal': 'stopping: destroy all',
	'waiting for clients + last client left': 'stopping: close all',
	'waiting for clients + drain deadline': 'stopping: close all',
	'waiting for clients + second signal': 'stopping: destroy all',
	'stopping + drain deadline': 'stopping: destroy all',
	'stopping + second signal': 'stopped: exit 1',
	'stopping + all closed': 'stopped: flush, exit 0',
};

describe('lifecycleMachine', () => {
	const pairs = states.flatMap((state) => events.map((event) => [state, event] as const));
	it.each(pairs)('%s + %s', (state, event) => {
		const { state: next, actions } = step(lifecycleMachine, state, event);
		expect(`${next}: ${actions.join(', ')}`).toBe(CELLS[`${state} + ${event}`] ?? `${state}: `);
	});
});

function started(graceMs: number, drainTimeoutMs = 25_000) {
	const clock = new FakeClock();
	const seen: string[] = [];
	let clients = 0;
	let finishClosing: () => void = () => undefined;
	const closed = new Promise<void>((resolve) => {
		finishClosing = resolve;
	});
	const lifecycle = new Lifecycle({
		clock,
		graceMs,
		drainTimeoutMs,
		clients: () => clients,
		closeAll: () => {
			seen.push('close all');
			if (clients === 0) finishClosing();
			return closed;
		},
		sendAway: () => seen.push('send clients away'),
		sendTcpAway: () => seen.push('send TCP clients away'),
		destroyAll: () => {
			seen.push('destroy all');
			clients = 0;
			finishClosing();
		},
		phase: (phase) => seen.push(phase),
		ended: (exitCode) => seen.push(`exit ${exitCode}`),
	});
	lifecycle.handle('bound');
	seen.length = 0;
	return {
		clock,
		seen,
		lifecycle,
		setClients: (count: number) => {
			clients = count;
			if (count === 0) lifecycle.handle('last client left');
		},
	};
}

describe('Lifecycle', () => {
	it('leaves as soon as the minimum grace is over when nobody is connected', async () => {
		const { clock, seen, lifecycle } = started(1000);
		lifecycle.terminate();
		await clock.advance(999);
		expect(seen).toEqual(['grace']);
		await clock.advance(1);
		expect(seen).toEqual(['grace', 'stopping', 'close all', 'stopped', 'exit 0']);
		expect(clock.pendingTimers).toBe(0);
	});

	it('a grace of 0 leaves at once', async () => {
		const { clock, seen, lifecycle } = started(0);
		lifecycle.terminate();
		await clock.advance(0);
		expect(seen.at(-1)).toBe('exit 0');
	});

	it('asks TCP clients to leave after the grace, waits for all, and exits with the last one', async () => {
		const { clock, seen, lifecycle, setClients } = started(1000);
		setClients(2);
		lifecycle.terminate();
		await clock.advance(999);
		expect(seen).toEqual(['grace']);
		await clock.advance(20_000);
		expect(seen).toEqual(['grace', 'waiting for clients', 'send TCP clients away']);
		setClients(0);
		await settle();
		expect(seen.at(-1)).toBe('exit 0');
		expect(clock.pendingTimers).toBe(0);
	});

	it('a client that never leaves is asked to at the drain deadline, and cut off a second later', async () => {
		const { clock, seen, lifecycle, setClients } = started(1000, 5000);
		setClients(1);
		lifecycle.terminate();
		await clock.advance(5000);
		expect(seen).toEqual(['grace', 'waiting for clients', 'send TCP clients away', 'stopping', 'close all']);
		await clock.advance(1000);
		expect(seen).toContain('destroy all');
		expect(seen.at(-1)).toBe('exit 0');
		expect(clock.pendingTimers).toBe(0);
	});

	it('a second signal cuts off the clients that are waited for', async () => {
		const { clock, seen, lifecycle, setClients } = started(1000);
		setClients(1);
		lifecycle.terminate();
		await clock.advance(1000);
		expect(lifecycle.state).toBe('waiting for clients');
		lifecycle.terminate();
		await settle();
		expect(seen.slice(-1)).toEqual(['exit 0']);
		expect(clock.pendingTimers).toBe(0);
	});

	it('a second signal cuts everybody off at once', async () => {
		const { clock, seen, lifecycle, setClients } = started(1000);
		setClients(1);
		lifecycle.terminate();
		lifecycle.terminate();
		await settle();
		expect(seen).toContain('destroy all');
		expect(seen.at(-1)).toBe('exit 0');
		expect(clock.pendingTimers).toBe(0);
	});

	it('one that is replaced sends its clients away at once, and leaves with the last; a signal meanwhile is the first', async () => {
		const { clock, seen, lifecycle, setClients } = started(5000);
		setClients(1);
		lifecycle.handle('replaced');
		expect(seen).toEqual(['handing over', 'send clients away']);
		await clock.advance(100);
		expect(seen.at(-1)).toBe('handed over');
		lifecycle.terminate();
		expect(seen.at(-1)).toBe('waiting for clients');
		setClients(0);
		await settle();
		expect(seen).not.toContain('destroy all');
		expect(seen.at(-1)).toBe('exit 0');
		expect(clock.pendingTimers).toBe(0);
	});

	it('one that is replaced lingers for those that had connected before', async () => {
		const { clock, seen, lifecycle } = started(0);
		lifecycle.handle('replaced');
		await clock.advance(99);
		expect(seen.at(-1)).toBe('send clients away');
		await clock.advance(1);
		expect(seen.at(-1)).toBe('exit 0');
	});
});
