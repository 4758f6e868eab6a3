import { type ChildProcess, fork } from 'node:child_process';
import type { Accepted } from './waiting-sockets.ts';
import type { ToSupervisor, ToWorker } from './worker-messages.ts';

/** How a process ended. */
export interface Exit {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
}

/** What a worker's process tells. After `exited` nothing is told. */
export interface WorkerEvents {
	message(worker: WorkerProcess, message: ToSupervisor): void;
	exited(worker: WorkerProcess, exit: Exit): void;
}

/** A worker's process: it loads, and opens nothing before it is activated. */
export class WorkerProcess {
	readonly #child: ChildProcess;
	#hasExited = false;

	constructor(events: WorkerEvents) {
		const [, main = '', ...args] = process.argv;
		this.#child = fork(main, [...args, '--supervised'], {
			// Ctrl-C reaches every process of the terminal's group: the worker shall hear of it once, from here.
			detached: true,
			stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
		});
		const exited = (exit: Exit): void => {
			if (this.#hasExited) return;
			this.#hasExited = true;
			events.exited(this, exit);
		};
		this.#child.on('message', (message) => {
			if (!this.#hasExited) events.message(this, message as ToSupervisor);
		});
		this.#child.on('exit', (code, signal) => exited({ code, signal }));
		// It could not be started: the same as one that ended at once.
		this.#child.on('error', () => {
			if (this.#child.pid === undefined) exited({ code: 1, signal: null });
		});
	}

	get pid(): number {
		return this.#child.pid ?? -1;
	}

	/** Does nothing for a worker that has died; its end is told. */
	send(message: ToWorker): void {
		if (this.#child.connected) this.#child.send(message, () => undefined);
	}

	/** Gives a connection away; it is gone if the worker dies meanwhile. */
	sendSocket({ socket, listener }: Accepted): void {
		const message: ToWorker = { type: 'socket', listener };
		if (!this.#child.connected) socket.destroy();
		else {
			this.#child.send(message, socket, {}, (error) => {
				if (error !== null) socket.destroy();
			});
		}
	}

	kill(signal: NodeJS.Signals): void {
		this.#child.kill(signal);
	}
}
