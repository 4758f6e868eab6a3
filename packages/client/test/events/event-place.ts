import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { type RunningProcess, runSidecar, startSidecar } from '@spock/testkit';

import { bundleWorker } from '../worker-process.ts';
import { type EventAppSettings, noteReport, type Told } from './event-report.ts';

/** Deletes nothing that is still to be counted. */
const KEEPS_ALL = ['--events-bytes-max', String(4 * 1024 ** 3)];

/** A running app, and what it has told. */
export interface EventApp {
	readonly run: string;
	readonly told: Told;
	/** SIGKILL; resolves when it is gone and its last word is read. */
	kill(): Promise<void>;
}

/** A directory with a sidecar's socket and its events, which outlive it, and apps that emit there. */
export class EventPlace implements AsyncDisposable {
	readonly path: string;
	readonly log: string;
	readonly told: Map<string, Told> = new Map();
	readonly #directory: string;
	readonly #app: string;
	readonly #children = new Set<ChildProcess>();
	#sidecar: RunningProcess | undefined;
	#ownerBefore: number | undefined;

	private constructor(directory: string, app: string) {
		this.#directory = directory;
		this.#app = app;
		this.path = join(directory, 'sidecar.sock');
		this.log = join(directory, 'events');
	}

	static async make(): Promise<EventPlace> {
		const directory = await mkdtemp('/tmp/spock-events-');
		return new EventPlace(directory, await bundleWorker(new URL('./event-app.ts', import.meta.url), directory));
	}

	/** Starts a sidecar, in place of the one that was killed. */
	async startSidecar(args: readonly string[] = []): Promise<RunningProcess> {
		const flags = ['--backend', 'local', '--events', this.log, '--log-level', 'warn', ...KEEPS_ALL, ...args];
		const sidecar = await startSidecar(this.path, flags);
		this.#sidecar = sidecar;
		return sidecar;
	}

	/** Starts another one in place of the one that runs, which it gives back: that one has been asked to leave, or hangs. */
	replaceSidecar(): { readonly old: RunningProcess; readonly next: RunningProcess } {
		const old = this.#sidecar;
		if (old === undefined) throw new Error('no sidecar runs');
		const args = ['start', '--take-over', '--socket', this.path, '--grace-ms', '0', '--backend', 'local'];
		const next = runSidecar([...args, '--events', this.log, '--log-level', 'warn', ...KEEPS_ALL]);
		this.#sidecar = next;
		this.#ownerBefore = this.#owner();
		return { old, next };
	}

	/** As `replaceSidecar`, of one that does not answer until it is sent SIGCONT. */
	stopAndReplaceSidecar(): { readonly old: RunningProcess; readonly next: RunningProcess } {
		this.#sidecar?.child.kill('SIGSTOP');
		return this.replaceSidecar();
	}

	/** Whether another process has the log than before `replaceSidecar`. */
	ownerHasChanged(): boolean {
		return this.#owner() !== this.#ownerBefore;
	}

	/** SIGKILL; resolves when it is gone. */
	async killSidecar(): Promise<void> {
		await this.#sidecar?.stop('SIGKILL');
		this.#sidecar = undefined;
	}

	startApp(settings: Omit<EventAppSettings, 'path'>): EventApp {
		const { run } = settings;
		const told: Told = { accepted: 0, persisted: 0, gapMs: 0 };
		this.told.set(run, told);
		const child = spawn(process.execPath, [this.#app, JSON.stringify({ path: this.path, ...settings })], {
			stdio: ['ignore', 'inherit', 'inherit', 'pipe', 'ipc'],
		});
		this.#children.add(child);
		let text = '';
		const report = child.stdio[3] as NodeJS.ReadableStream;
		report.setEncoding('utf8').on('data', (chunk: string) => {
			text += chunk;
			const end = text.lastIndexOf('\n') + 1;
			noteReport(told, text.slice(0, end));
			text = text.slice(end);
		});
		const closed = once(child, 'close');
		return {
			run,
			told,
			kill: async () => {
				child.kill('SIGKILL');
				await closed;
				this.#children.delete(child);
			},
		};
	}

	#owner(): number | undefined {
		return statSync(join(this.log, 'owner.sock'), { throwIfNoEntry: false })?.ino;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const child of this.#children) child.kill('SIGKILL');
		await this.killSidecar();
		await rm(this.#directory, { recursive: true, force: true });
	}
}
