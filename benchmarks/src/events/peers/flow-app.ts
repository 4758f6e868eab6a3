import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

import type { OwnTools } from '../../toolbox.ts';
import type { PeerCommand } from './peer-command.ts';
import type { SenderPlace } from './sender.ts';

/** A flow that stands still for so long does not go on by itself. */
const PROGRESS_MS_MAX = 60_000;

/** What the apps of a kill loop have said, over all their lives. */
export class FlowBook {
	/** Numbers of events whose call has begun. */
	readonly called: Set<number> = new Set();
	/** Of those, the ones that were acknowledged to an app. */
	readonly acknowledged: Set<number> = new Set();
	#next = 1;

	/** A number that no app has used. */
	get next(): number {
		return this.#next;
	}

	/** A call of this event has begun. */
	call(number: number): void {
		this.called.add(number);
		this.#next = number + 1;
	}
}

/** An app that hands over numbered events until it is stopped, or killed. */
export class FlowApp {
	readonly #child: ChildProcess;
	readonly #book: FlowBook;
	readonly #closed: Promise<unknown>;

	private constructor(child: ChildProcess, book: FlowBook) {
		this.#child = child;
		this.#book = book;
		this.#closed = once(child, 'close');
	}

	/** Starts one that goes on behind what the book has. */
	static async start(tools: OwnTools, place: SenderPlace, book: FlowBook): Promise<FlowApp> {
		const args = [tools.entry('events-peer'), JSON.stringify(place)];
		const child = spawn(tools.node, args, { stdio: ['pipe', 'pipe', 'inherit'] });
		const app = new FlowApp(child, book);
		const lines = createInterface({ input: child.stdout });
		lines.on('line', (line) => app.#hear(line));
		app.#send({ kind: 'flow', from: book.next });
		await app.progress();
		return app;
	}

	/** Resolves when events are done that were not when it was called. */
	async progress(): Promise<void> {
		const { size } = this.#book.acknowledged;
		const deadlineMs = performance.now() + PROGRESS_MS_MAX;
		while (this.#book.acknowledged.size <= size) {
			if (this.#child.exitCode !== null) throw new Error(`the app ended with ${this.#child.exitCode}`);
			if (performance.now() > deadlineMs) throw new Error(`no event was taken for ${PROGRESS_MS_MAX} ms`);
			await delay(5);
		}
	}

	/** By SIGKILL; resolves when all that it said is in the book. */
	async kill(): Promise<void> {
		this.#child.kill('SIGKILL');
		await this.#closed;
	}

	/** Resolves when all events that it has called are done. */
	async stop(): Promise<void> {
		this.#send({ kind: 'stop' });
		const timer = setTimeout(() => this.#child.kill('SIGKILL'), PROGRESS_MS_MAX);
		await this.#closed;
		clearTimeout(timer);
		if (this.#child.exitCode !== 0) throw new Error('the app did not end: its last events were not taken');
	}

	#send(command: PeerCommand): void {
		this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
	}

	#hear(line: string): void {
		const number = Number(line.slice(2));
		if (line.startsWith('c ')) this.#book.call(number);
		else if (line.startsWith('d ')) this.#book.acknowledged.add(number);
	}
}
