import { type ChildProcess, fork } from 'node:child_process';
import type { Accepted } from './waiting-sockets.ts';
import type { ToSupervisor, ToWorker } from './worker-messages.ts';

/** How a process ended. */
export interface Exit {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
}

/** What a worker's process tells. */
export interface WorkerEvents {
	/** May also come after its end, as long as it is not `silent`. */
	message(worker: WorkerProcess, message: ToSupervisor): void;
	exited(worker: WorkerProcess, exit: Exit): void;
	/** Everything that it has said has been told. */
	silent(worker: WorkerProcess): void;
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
			// What it wrote before its end is read in the next turn. `disconnect` is not waited for: Node does not tell it when
			// a socket was on its way, and keeps the channel.
			setImmediate(() =>
				setImmediate(() => {
					if (this.#child.connected) this.#child.disconnect();
					events.silent(this);
				}),
			);
		};
		this.#child.on('message', (message) => events.message(this, message as ToSupervisor));
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

	/** Passes a connection on, and keeps it open here. To a worker that has died it is not passed; `silent` follows, or came. */
	sendSocket({ socket, listener }: Accepted): void {
		const message: ToWorker = { type: 'socket', listener };
		if (this.#child.connected) this.#child.send(message, socket, { keepOpen: true }, () => undefined);
	}

	/**
	 * Tells it of a signal. Not by a signal: service managers send theirs to all processes of a group, and the worker would
	 * take the second for one that wants it to hurry.
	 */
	forward(signal: NodeJS.Signals): void {
		const isLate = (error: Error | null): void => void (error !== null && this.kill(signal));
		if (this.#child.connected) this.#child.send({ type: 'signal', signal } satisfies ToWorker, isLate);
		else this.kill(signal);
	}

	kill(signal: NodeJS.Signals): void {
		this.#child.kill(signal);
	}
}
