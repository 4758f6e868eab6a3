import { Socket } from 'node:net';

import { step } from '@spock/protocol/internal';
import { FakeClock, settle } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { type CrashReport, Supervisor } from './supervisor.ts';
import { type SupervisorEvent, type SupervisorState, supervisorMachine } from './supervisor-machine.ts';
import { WaitingSockets } from './waiting-sockets.ts';
import type { ToSupervisor } from './worker-messages.ts';
import type { Exit, WorkerEvents, WorkerProcess } from './worker-process.ts';

const states = Object.keys(supervisorMachine) as SupervisorState[];
const events = Object.keys(supervisorMachine.starting) as SupervisorEvent[];

/** Every cell that does something; all others must do nothing. */
const CELLS: Readonly<Record<string, string>> = {
	'starting + served': 'serving: start the stable time',
	'starting + gone': 'ended: end',
	'starting + signal': 'ending: forward',
	'serving + held': 'stable: reset backoff, prepare a standby',
	'serving + gone': 'backing off: cancel timer, report, schedule restart',
	'serving + replaced': 'replaced: cancel timer, end the standby',
	'serving + signal': 'ending: cancel timer, end the standby, forward',
	'stable + gone': 'restarting: report, activate',
	'stable + replaced': 'replaced: end the standby',
	'stable + signal': 'ending: end the standby, forward',
	'restarting + served': 'serving: start the stable time',
	'restarting + gone': 'backing off: report, schedule restart',
	'restarting + signal': 'ending: end the standby, forward',
	'backing off + due': 'restarting: activate',
	'backing off + signal': 'ended: cancel timer, end the standby, end',
	'replaced + gone': 'ended: end',
	'replaced + signal': 'ending: forward',
	'ending + gone': 'ended: end',
	'ending + signal': 'ending: forward',
};

describe('supervisorMachine', () => {
	const pairs = states.flatMap((state) => events.map((event) => [state, event] as const));
	it.each(pairs)('%s + %s', (state, event) => {
		const { state: next, actions } = step(supervisorMachine, state, event);
		expect(`${next}: ${actions.join(', ')}`).toBe(CELLS[`${state} + ${event}`] ?? `${state}: `);
	});
});

/** A worker that does what the test says. */
class FakeWorker {
	readonly pid: number;
	readonly killed: NodeJS.Signals[] = [];
	readonly told: NodeJS.Signals[] = [];
	readonly sent: string[] = [];
	readonly #events: WorkerEvents;

	constructor(events: WorkerEvents, pid: number) {
		this.#events = events;
		this.pid = pid;
	}

	get #self(): WorkerProcess {
		return this as unknown as WorkerProcess;
	}

	send({ type }: { readonly type: string }): void {
		this.sent.push(type);
	}

	sendSocket(): void {
		this.sent.push('socket');
	}

	forward(signal: NodeJS.Signals): void {
		this.told.push(signal);
	}

	kill(signal: NodeJS.Signals): void {
		this.killed.push(signal);
	}

	/** Closes its first listener. */
	closes(): void {
		const question = { ask: 'close', listener: 0 } as const;
		this.#events.message(this.#self, { type: 'question', id: 1, question });
	}

	says(type: 'serving' | 'loaded' | 'pong' | 'replaced' | 'accepting'): void {
		this.#events.message(this.#self, { type } as ToSupervisor);
	}

	dies(exit: Exit = { code: null, signal: 'SIGKILL' }): void {
		this.#events.exited(this.#self, exit);
		this.#events.silent(this.#self);
	}
}

function supervising(options: { standby?: boolean; hangMs?: number } = {}) {
	const clock = new FakeClock();
	const workers: FakeWorker[] = [];
	const [reports, hung, exitCodes]: [CrashReport[], number[], number[]] = [[], [], []];
	const asked: string[] = [];
	const sockets = new WaitingSockets(clock, () => undefined);
	const supervisor = new Supervisor({
		clock,
		random: () => 1,
		sockets,
		listeners: { answer: ({ ask }) => Promise.resolve(void asked.push(ask)) },
		spawn: (events) => {
			const worker = new FakeWorker(events, workers.length);
			workers.push(worker);
			return worker as unknown as WorkerProcess;
		},
		pid: 1,
		stableMs: 5000,
		standby: options.standby ?? true,
		hangMs: options.hangMs ?? 0,
		crashed: (report) => reports.push(report),
		prepared: () => undefined,
		hung: (pid) => hung.push(pid),
		ended: (exitCode) => exitCodes.push(exitCode),
	});
	supervisor.start();
	const worker = (index: number): FakeWorker => workers[index] as FakeWorker;
	return { clock, supervisor, workers, worker, sockets, asked, reports, hung, exitCodes };
}

describe('Supervisor', () => {
	it('prepares a standby once the worker has held, and activates it in the moment of the crash', async () => {
		const { clock, workers, worker, reports } = supervising();
		worker(0).says('serving');
		await clock.advance(4999);
		expect(workers).toHaveLength(1);
		await clock.advance(1);
		expect(workers).toHaveLength(2);
		expect(worker(1).sent).toEqual([]);
		worker(0).dies();
		expect(worker(1).sent).toEqual(['activate']);
		expect(reports).toMatchObject([{ pid: 0, signal: 'SIGKILL', restarts: 1, restartMs: 0, hasStandby: true }]);
	});

	it('starts one that crashes at once later each time, up to half a minute, and soon again after one that has held', async () => {
		const { clock, worker, reports } = supervising({ standby: false });
		for (let crash = 0; crash < 12; crash++) {
			worker(crash).says('serving');
			worker(crash).dies();
			await clock.advance(30_000);
		}
		expect(reports.map(({ restartMs }) => restartMs)).toEqual([
			...[100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000],
		]);
		worker(12).says('serving');
		await clock.advance(5000);
		worker(12).dies();
		worker(13).says('serving');
		worker(13).dies();
		expect(reports.slice(12).map(({ restartMs }) => restartMs)).toEqual([0, 100]);
	});

	it('kills a worker that does not answer three pings, and none that merely loads or was asleep with the machine', async () => {
		const { clock, worker, hung } = supervising({ hangMs: 3000 });
		await clock.advance(60_000);
		worker(0).says('serving');
		await clock.advance(3000);
		worker(0).says('pong');
		await clock.advance(3000);
		expect(hung).toEqual([]);
		await clock.advance(1000);
		expect(hung).toEqual([0]);
		expect(worker(0).killed).toEqual(['SIGKILL']);
	});

	it('ends with the exit code of a first worker that never served', () => {
		const { worker, exitCodes, reports } = supervising();
		worker(0).dies({ code: 2, signal: null });
		expect([exitCodes, reports]).toEqual([[2], []]);
	});

	it.each([
		[{ code: 0, signal: null }, 0],
		[{ code: 1, signal: null }, 1],
		[{ code: null, signal: 'SIGTERM' as const }, 0],
		[{ code: null, signal: 'SIGKILL' as const }, 1],
	])('passes a signal on, and after the end of the worker by %o it ends with %d', (exit, exitCode) => {
		const { worker, supervisor, exitCodes } = supervising();
		worker(0).says('serving');
		supervisor.signal('SIGTERM');
		supervisor.signal('SIGTERM');
		expect([worker(0).told, worker(0).killed]).toEqual([['SIGTERM', 'SIGTERM'], []]);
		expect(exitCodes).toEqual([]);
		worker(0).dies(exit);
		expect(exitCodes).toEqual([exitCode]);
	});

	it('keeps the sockets when a worker leaves by itself, and replaces it as one that has crashed', async () => {
		const { clock, worker, sockets, asked, reports, exitCodes } = supervising();
		worker(0).says('accepting');
		worker(0).says('serving');
		await clock.advance(5000);
		worker(0).closes();
		await settle();
		expect([asked, worker(0).sent]).toEqual([[], ['activate', 'answer']]);
		// It waits for the next one already.
		sockets.add({ socket: new Socket(), listener: 0 });
		worker(0).dies({ code: 0, signal: null });
		expect([reports.length, exitCodes, worker(1).sent]).toEqual([1, [], ['activate']]);
		worker(1).says('accepting');
		expect([worker(0).sent, worker(1).sent]).toEqual([
			['activate', 'answer'],
			['activate', 'socket'],
		]);
	});

	it.each(['starting', 'replaced', 'ending'] as const)('lets go of a socket with its worker while %s', (state) => {
		const { worker, supervisor, asked } = supervising();
		if (state !== 'starting') worker(0).says('serving');
		if (state === 'replaced') worker(0).says('replaced');
		if (state === 'ending') supervisor.signal('SIGTERM');
		expect(supervisor.state).toBe(state);
		worker(0).closes();
		expect(asked).toEqual(['close']);
	});

	it('leaves nothing running when it ends: neither standby nor timer', async () => {
		const { clock, worker, supervisor } = supervising({ hangMs: 3000 });
		worker(0).says('serving');
		await clock.advance(5000);
		worker(0).says('replaced');
		supervisor.signal('SIGINT');
		expect(worker(1).killed).toEqual(['SIGKILL']);
		worker(0).dies({ code: 0, signal: null });
		expect(clock.pendingTimers).toBe(0);
	});
});
