import { writeSync } from 'node:fs';

import { dieOf } from '../commands/run-command.ts';

/** Alternate screen, cursor and wrapping off; and back. https://invisible-island.net/xterm/ctlseqs/ctlseqs.html */
const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[0m\u001b[?7h\u001b[?25h\u001b[?1049l';
const STOP_KEY = '\u001a';
const ENDING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

/** The events of a terminal. */
export interface TerminalEvents {
	key(text: string): void;
	/** It has another size, or was covered: draw the whole screen. */
	redraw(): void;
}

/**
 * The terminal as a whole screen, from its making to `close`. However this process ends, by a signal or a fault of ours too, the
 * terminal is as it was before; only SIGKILL leaves it as it is, which `reset` mends.
 */
export class Terminal {
	readonly #events: TerminalEvents;
	#isOpen = false;
	#lines: readonly string[] = [];
	readonly #onData = (data: string): void => this.#received(data);
	readonly #onResize = (): void => this.#redraw();
	readonly #onExit = (): void => this.#leave();
	readonly #onContinue = (): void => {
		this.#enter();
		this.#redraw();
	};
	readonly #onSignal = (signal: NodeJS.Signals): void => {
		this.close();
		process.exit(dieOf(signal));
	};

	constructor(events: TerminalEvents) {
		this.#events = events;
		// Runs for uncaught exceptions too.
		process.on('exit', this.#onExit);
		process.on('SIGCONT', this.#onContinue);
		for (const signal of ENDING) process.on(signal, this.#onSignal);
		process.stdin.setEncoding('utf8').on('data', this.#onData);
		process.stdout.on('resize', this.#onResize);
		this.#enter();
	}

	get width(): number {
		return process.stdout.columns || 80;
	}

	get height(): number {
		return process.stdout.rows || 24;
	}

	/** Shows these lines; only those that are different are sent. Erased before the text: behind a full line it would take the last column. */
	draw(lines: readonly string[]): void {
		if (!this.#isOpen) return;
		const changed = lines.flatMap((line, index) =>
			line === this.#lines[index] ? [] : [`\u001b[${index + 1};1H\u001b[K${line}\u001b[0m`],
		);
		this.#lines = lines;
		if (changed.length > 0) process.stdout.write(changed.join(''));
	}

	/** Gives the terminal back; idempotent. */
	close(): void {
		process.off('exit', this.#onExit);
		process.off('SIGCONT', this.#onContinue);
		for (const signal of ENDING) process.off(signal, this.#onSignal);
		process.stdin.off('data', this.#onData).pause();
		process.stdout.off('resize', this.#onResize);
		this.#leave();
	}

	#enter(): void {
		if (this.#isOpen) return;
		this.#isOpen = true;
		process.stdin.setRawMode(true).resume();
		writeSync(1, ENTER);
	}

	#leave(): void {
		if (!this.#isOpen) return;
		this.#isOpen = false;
		try {
			process.stdin.setRawMode(false);
			// At once: what is written to a stream may not be sent any more when a process ends.
			writeSync(1, LEAVE);
		} catch {
			// The terminal is gone, and with it all that could be restored.
		}
	}

	#redraw(): void {
		this.#lines = [];
		if (this.#isOpen) process.stdout.write('\u001b[2J');
		this.#events.redraw();
	}

	#received(data: string): void {
		// In raw mode Ctrl-Z is a letter like any other.
		if (data === STOP_KEY) {
			this.#leave();
			process.kill(process.pid, 'SIGSTOP');
		} else this.#events.key(data);
	}
}
