import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { sourceBundle } from '@spock/testkit/source-bundle';
import { build } from 'esbuild';

import type { AttackCommand, AttackReply, GoodCommand, GoodReply } from './messages.ts';

const ANSWER_MS_MAX = 90_000;

/** A process that is told what to do and says when it has. */
export class Actor<Command extends object, Reply extends { readonly kind: string }> implements AsyncDisposable {
	readonly #child: ChildProcess;

	constructor(child: ChildProcess) {
		this.#child = child;
	}

	/** The next reply of a kind. Rejects when the process ends or says nothing for too long. */
	async next<Kind extends Reply['kind']>(kind: Kind): Promise<Extract<Reply, { readonly kind: Kind }>> {
		const controller = new AbortController();
		const { signal } = controller;
		const timer = setTimeout(() => controller.abort(new Error(`no ${kind} within ${ANSWER_MS_MAX} ms`)), ANSWER_MS_MAX);
		try {
			const ended = once(this.#child, 'exit', { signal }).then(([code]): never => {
				throw new Error(`a process ended with ${code} before it said ${kind}`);
			});
			ended.catch(() => undefined);
			for (;;) {
				const [reply] = (await Promise.race([once(this.#child, 'message', { signal }), ended])) as [Reply];
				if (reply.kind === kind) return reply as Extract<Reply, { readonly kind: Kind }>;
			}
		} finally {
			clearTimeout(timer);
			controller.abort();
		}
	}

	ask<Kind extends Reply['kind']>(command: Command, kind: Kind): Promise<Extract<Reply, { readonly kind: Kind }>> {
		const reply = this.next(kind);
		this.#child.send(command);
		return reply;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
		this.#child.kill('SIGKILL');
		await once(this.#child, 'exit');
	}
}

export type GoodClient = Actor<GoodCommand, GoodReply>;
export type Attacker = Actor<AttackCommand, AttackReply>;

/** The programs of the actors, bundled from their sources. Disposing removes them. */
export class Cast implements AsyncDisposable {
	readonly #directory: string;

	private constructor(directory: string) {
		this.#directory = directory;
	}

	static async prepare(): Promise<Cast> {
		const directory = await mkdtemp('/tmp/spock-hostile-');
		const source = (name: string): string => fileURLToPath(new URL(`${name}.ts`, import.meta.url));
		await build({
			...sourceBundle,
			entryPoints: { attacker: source('attacker'), 'good-client': source('good-client') },
			outdir: directory,
			outExtension: { '.js': '.mjs' },
		});
		return new Cast(directory);
	}

	async goodClient(path: string): Promise<GoodClient> {
		return this.#start('good-client', path);
	}

	/** `connections`: how many it holds where the attack is to hold connections. */
	async attacker(connections = 0): Promise<Attacker> {
		return this.#start('attacker', String(connections));
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await rm(this.#directory, { recursive: true, force: true });
	}

	async #start<Command extends object, Reply extends { readonly kind: string }>(
		name: string,
		argument: string,
	): Promise<Actor<Command, Reply>> {
		const child = fork(join(this.#directory, `${name}.mjs`), [argument], { execArgv: [] });
		const actor = new Actor<Command, Reply>(child);
		await actor.next('ready');
		return actor;
	}
}
