import type { SupervisionStatus } from '@spock/protocol';
import { Backoff, type Clock, type Random, step, type TimerHandle } from '@spock/protocol/internal';

import type { Listeners } from './listeners.ts';
import {
	LETTING_GO,
	type SupervisorAction,
	type SupervisorEvent,
	type SupervisorState,
	supervisorMachine,
} from './supervisor-machine.ts';
import type { WaitingSockets } from './waiting-sockets.ts';
import type { ToSupervisor } from './worker-messages.ts';
import type { Exit, WorkerEvents, WorkerProcess } from './worker-process.ts';

const RESTART_DELAY_MS_MIN = 100;
const RESTART_DELAY_MS_MAX = 30_000;
/** Pings without a word from the worker after which it hangs; a machine that slept misses one at most. */
const MISSED_PINGS_MAX = 3;

/** What is told of a worker that has ended unasked. */
export interface CrashReport extends Exit {
	readonly pid: number;
	/** Since the start of the supervisor. */
	readonly restarts: number;
	/** When the next one is activated; 0 for at once. */
	readonly restartMs: number;
	/** True if a standby is there for it. */
	readonly hasStandby: boolean;
}

/** What a supervisor acts on. */
export interface SupervisorOptions {
	readonly clock: Clock;
	/** Default `Math.random`. */
	readonly random?: Random;
	readonly sockets: WaitingSockets;
	readonly listeners: Pick<Listeners, 'answer'>;
	readonly spawn: (events: WorkerEvents) => WorkerProcess;
	/** Process id told to workers. */
	readonly pid: number;
	/** A worker that has served for this long does not crash at once. */
	readonly stableMs: number;
	/** False: no standby is kept; a restart then takes as long as a start. */
	readonly standby: boolean;
	/** A worker that is silent for this long is killed; 0: never. */
	readonly hangMs: number;
	readonly crashed: (report: CrashReport) => void;
	/** A standby has loaded. */
	readonly prepared: (pid: number) => void;
	/** A worker hangs, and is killed. */
	readonly hung: (pid: number) => void;
	/** Called once, with the exit code of the process. */
	readonly ended: (exitCode: number) => void;
}

/** Keeps one worker serving. Decisions are in {@link supervisorMachine}. */
export class Supervisor implements WorkerEvents {
	readonly #options: SupervisorOptions;
	readonly #backoff: Backoff;
	#state: SupervisorState = 'starting';
	#worker: WorkerProcess | undefined;
	#standby: WorkerProcess | undefined;
	#timer: TimerHandle | undefined;
	#pingTimer: TimerHandle | undefined;
	#missedPings = 0;
	#restarts = 0;
	#restartMs = 0;
	#lastExit: SupervisionStatus['lastExit'] = null;
	#exit: Exit & { readonly pid: number } = { code: 0, signal: null, pid: -1 };
	#signal: NodeJS.Signals | undefined;

	constructor(options: SupervisorOptions) {
		this.#options = options;
		const { random } = options;
		this.#backoff = new Backoff({
			delayMsMin: RESTART_DELAY_MS_MIN,
			delayMsMax: RESTART_DELAY_MS_MAX,
			...(random && { random }),
		});
	}

	get state(): SupervisorState {
		return this.#state;
	}

	/** Starts the first worker; once. */
	start(): void {
		this.#activate();
	}

	/** Passes a signal on. The worker ends as it does without a supervisor, and this with its exit code. */
	signal(signal: NodeJS.Signals): void {
		this.#signal = signal;
		// Nothing is left to be ended: it ends as it was asked to.
		if (this.#worker === undefined) this.#exit = { code: 0, signal: null, pid: -1 };
		this.#handle('signal');
	}

	message(worker: WorkerProcess, message: ToSupervisor): void {
		if (worker === this.#standby && message.type === 'loaded') this.#options.prepared(worker.pid);
		if (message.type === 'taken') this.#options.sockets.taken(worker);
		if (worker !== this.#worker) return;
		this.#missedPings = 0;
		switch (message.type) {
			case 'question':
				this.#answer(worker, message);
				return;
			case 'accepting':
				this.#options.sockets.sendTo(worker);
				return;
			case 'serving':
				// Not before: whoever loads, or asks a registry for the first time, is not expected to answer.
				this.#armPing();
				this.#handle('served');
				return;
			case 'replaced':
				this.#handle('replaced');
				return;
			case 'taken':
			case 'loaded':
			case 'pong':
				return;
		}
	}

	exited(worker: WorkerProcess, exit: Exit): void {
		if (worker === this.#standby) {
			// Prepared again by the next worker that holds: one that cannot even load would only be spawned in a circle.
			this.#standby = undefined;
			return;
		}
		if (worker !== this.#worker) return;
		const { clock, sockets } = this.#options;
		this.#worker = undefined;
		sockets.hold();
		clock.clearTimeout(this.#pingTimer);
		this.#exit = { ...exit, pid: worker.pid };
		this.#lastExit = { ...exit, at: clock.wallNow() };
		this.#handle('gone');
	}

	silent(worker: WorkerProcess): void {
		this.#options.sockets.gone(worker);
	}

	#handle(event: SupervisorEvent): void {
		const { state, actions } = step(supervisorMachine, this.#state, event);
		this.#state = state;
		for (const action of actions) this.#act(action);
	}

	#act(action: SupervisorAction): void {
		const { clock, standby, stableMs, spawn } = this.#options;
		switch (action) {
			case 'activate':
				this.#activate();
				return;
			case 'report':
				this.#report();
				return;
			case 'start the stable time':
				this.#arm(stableMs, 'held');
				return;
			case 'cancel timer':
				clock.clearTimeout(this.#timer);
				return;
			case 'reset backoff':
				this.#backoff.reset();
				return;
			case 'prepare a standby':
				if (standby) this.#standby ??= spawn(this);
				return;
			case 'schedule restart':
				this.#arm(this.#restartMs, 'due');
				return;
			case 'end the standby':
				this.#standby?.kill('SIGKILL');
				this.#standby = undefined;
				return;
			case 'forward':
				if (this.#signal !== undefined) this.#worker?.forward(this.#signal);
				return;
			case 'end':
				this.#end();
				return;
		}
	}

	#arm(delayMs: number, event: SupervisorEvent): void {
		this.#timer = this.#options.clock.setTimeout(() => this.#handle(event), delayMs);
	}

	#activate(): void {
		const { spawn, pid } = this.#options;
		this.#worker = this.#standby ?? spawn(this);
		this.#standby = undefined;
		this.#worker.send({
			type: 'activate',
			supervision: { pid, restarts: this.#restarts, lastExit: this.#lastExit },
		});
	}

	/** Counts a crash, decides how long the next start waits, and tells. */
	#report(): void {
		this.#restarts++;
		this.#restartMs = this.#state === 'restarting' ? 0 : this.#backoff.next();
		const hasStandby = this.#standby !== undefined;
		this.#options.crashed({ ...this.#exit, restarts: this.#restarts, restartMs: this.#restartMs, hasStandby });
	}

	#armPing(): void {
		const { clock, hangMs, hung } = this.#options;
		if (hangMs === 0) return;
		this.#pingTimer = clock.setTimeout(() => {
			const worker = this.#worker;
			if (worker === undefined) return;
			if (this.#missedPings++ >= MISSED_PINGS_MAX) {
				hung(worker.pid);
				// A process that is stopped hears nothing else. Its end is told as any other.
				worker.kill('SIGKILL');
				return;
			}
			worker.send({ type: 'ping' });
			this.#armPing();
		}, hangMs / MISSED_PINGS_MAX);
		this.#pingTimer.unref?.();
	}

	#answer(worker: WorkerProcess, { id, question }: Extract<ToSupervisor, { type: 'question' }>): void {
		const { listeners, sockets } = this.#options;
		// It leaves by itself: who connects from now on waits for the next one.
		const isKept = question.ask === 'close' && !LETTING_GO.has(this.#state);
		if (isKept) sockets.hold();
		(isKept ? Promise.resolve() : listeners.answer(question)).then(
			(value) => worker.send({ type: 'answer', id, value: value ?? null }),
			({ message, cause }: Error) => {
				const { code = null } = (cause ?? {}) as { readonly code?: string };
				worker.send({ type: 'refusal', id, message, code });
			},
		);
	}

	/** A worker that a signal of ours has ended before it could handle it has ended as it was asked to. */
	#end(): void {
		const { code, signal } = this.#exit;
		this.#options.ended(code ?? (signal === this.#signal ? 0 : 1));
	}
}
