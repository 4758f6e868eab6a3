import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import {
	type RunningProcess,
	runSidecar,
	sidecarBin,
	startSidecar,
	type TempInstance,
	TempServices,
	type TempSocket,
	tempSocket,
} from '@spock/testkit';
import { expect, vi } from 'vitest';

import { askWorker, bundleWorker, killWorker, startWorker, workerReply } from '../worker-process.ts';
import type { AppCommand, AppReply, AppSettings } from './skew-messages.ts';
import { type View, viewOf } from './skew-view.ts';
import type { TlsPlace } from './tls-place.ts';

export type Build = 'earlier' | 'current';
export const BUILDS: readonly Build[] = ['earlier', 'current'];

/** For what must come in any case, on a machine however busy. */
const ANSWER_MS_MAX = 60_000;

const POLL = { timeout: 20_000, interval: 10 };

/** The command of a build's sidecar, and the modules of its client. */
function programs(build: Build): { readonly bin: string; readonly client: string; readonly transport: string } {
	if (build === 'current') {
		const urlOf = (name: string): string => new URL(`../../dist/${name}.js`, import.meta.url).href;
		return { bin: sidecarBin, client: urlOf('index'), transport: urlOf('tls') };
	}
	const directory = process.env['SPOCK_SKEW_EARLIER'];
	if (!directory || !existsSync(directory))
		throw new Error('SPOCK_SKEW_EARLIER names no build of an earlier commit: run `npm run suite skew`');
	const urlOf = (name: string): string => pathToFileURL(join(directory, `${name}.js`)).href;
	return { bin: join(directory, 'bin/sidecar.js'), client: urlOf('client'), transport: urlOf('tls') };
}

/** An app in a process of its own, with the client of a build. */
class SkewApp {
	readonly build: Build;
	readonly #process: ChildProcess;

	private constructor(build: Build, process: ChildProcess) {
		this.build = build;
		this.#process = process;
	}

	static async start(build: Build, worker: string, place: string | TlsPlace): Promise<SkewApp> {
		const { client, transport } = programs(build);
		const settings: AppSettings =
			typeof place === 'string' ? { client, at: { path: place } } : { client, at: { transport, ...place.address } };
		const process = startWorker(worker, { settings });
		await workerReply<AppReply, 'ready'>(process, 'ready', ANSWER_MS_MAX);
		return new SkewApp(build, process);
	}

	readonly ask = async <T>(command: AppCommand): Promise<T> => {
		const { value } = await askWorker<AppReply, AppCommand['kind']>(this.#process, command, ANSWER_MS_MAX);
		return value as T;
	};

	kill(): Promise<void> {
		return killWorker(this.#process);
	}
}

/**
 * A services file, sidecars that ask one another, and an app of each build at the first of them. The last one reads the file: it is the
 * sidecar of the apps, or the Spock of a node that their sidecar asks.
 */
export class SkewSite implements AsyncDisposable {
	readonly apps: SkewApp[] = [];
	readonly #place: TempSocket;
	readonly #services: TempServices;
	readonly #tls: TlsPlace | undefined;
	/** Nearest to the apps first. */
	readonly #builds: Build[];
	readonly #sidecars: RunningProcess[] = [];
	#successions = 0;

	private constructor(place: TempSocket, services: TempServices, builds: readonly Build[], tls?: TlsPlace) {
		this.#place = place;
		this.#services = services;
		this.#tls = tls;
		this.#builds = [...builds];
	}

	/** `builds`: that of each sidecar, nearest to the apps first. `tls`: where the last one is reached, in place of its socket. */
	static async open(builds: readonly Build[], tls?: TlsPlace): Promise<SkewSite> {
		const site = new SkewSite(await tempSocket(), await TempServices.make(), builds, tls);
		try {
			for (const [at, build] of [...builds.entries()].reverse()) await site.start(at, build);
			await site.startApps();
			return site;
		} catch (error) {
			await site[Symbol.asyncDispose]();
			throw error;
		}
	}

	/** Starts an app of each build. */
	async startApps(): Promise<void> {
		const worker = await bundleWorker(new URL('skew-app.ts', import.meta.url), this.#place.directory);
		const place = (this.#isLast(0) && this.#tls) || this.#path(0);
		this.apps.push(...(await Promise.all(BUILDS.map((build) => SkewApp.start(build, worker, place)))));
	}

	/** Lines that the sidecars have logged as a warning or worse. */
	warnings(): readonly string[] {
		const lines = this.#sidecars.flatMap((sidecar) => sidecar.stdout().split('\n'));
		return lines.filter((line) => /^\{"level":"(?:warn|error|fatal)"/.test(line));
	}

	async stopApps(): Promise<void> {
		await Promise.all(this.apps.splice(0).map((app) => app.kill()));
	}

	/** Starts the sidecar at this place of the chain. */
	async start(at: number, build: Build): Promise<void> {
		this.#builds[at] = build;
		const sidecar = await startSidecar(this.#path(at), this.#args(at), { bin: programs(build).bin });
		this.#sidecars[at] = sidecar;
		if (this.#isLast(at)) await this.#tls?.leadTo(sidecar);
	}

	/** Ends the sidecar at this place. */
	async stop(at: number, signal: NodeJS.Signals): Promise<void> {
		await this.#sidecars[at]?.stop(signal);
	}

	/** What the sidecar at this place has logged. */
	log(at: number): string {
		return this.#sidecars[at]?.stdout() ?? '';
	}

	/** Another sidecar is found in the place of the last one, over TLS, before that one is asked to end. Returns what that one has logged. */
	async succeed(build: Build): Promise<string> {
		const last = this.#builds.length - 1;
		await using old = this.#sidecars[last];
		// Its socket is not used, and must not be that of the next one.
		this.#successions++;
		await this.start(last, build);
		const result = await old?.stop('SIGTERM');
		expect(result).toMatchObject({ exitCode: 0, stderr: '' });
		return result?.stdout ?? '';
	}

	/** A sidecar takes the place of this one, which ends by itself. */
	async takeOver(at: number, build: Build): Promise<void> {
		await using old = this.#sidecars[at];
		this.#builds[at] = build;
		const args = ['start', '--take-over', '--socket', this.#path(at), ...this.#args(at)];
		const next = runSidecar(args, { bin: programs(build).bin });
		this.#sidecars[at] = next;
		expect(await Promise.race([old?.finished, next.finished])).toMatchObject({ exitCode: 0, stderr: '' });
		expect(next.child.exitCode, next.stdout()).toBe(null);
	}

	/** Replaces a service in the file, and returns what every app must see of it. */
	async set(service: string, instances: readonly (TempInstance & { readonly id: string })[]): Promise<View> {
		await this.#services.set(service, instances);
		const known = instances.map(({ id, host, port, tags = [], status = 'passing' }) => ({
			...{ instance: id, host, port, tags, status },
		}));
		known.sort((a, b) => (a.instance < b.instance ? -1 : 1));
		return viewOf(known, { source: 'live' });
	}

	/** Sets the value of a key in the file. */
	setKey(key: string, value: string): Promise<void> {
		return this.#services.setKey(key, value);
	}

	/**
	 * Waits until each app, all of which watch the service, has this view. `before`: what those may have instead, as the last known answer,
	 * that are of the earlier build, or behind a sidecar of it, where the view does not fit into a frame.
	 */
	async seen(service: string, view: View, before?: View): Promise<void> {
		const isMixed = this.#builds.includes('earlier');
		// Only the sidecar that has left the newer answer out says why: it is that of the app, unless there the answer is old already.
		const oversize = this.#builds.length === 1 || !isMixed;
		for (const { build, ask } of this.apps) {
			const isBehind = before !== undefined && (isMixed || build === 'earlier');
			const expected = isBehind ? [view, { ...before, source: 'last-known-good', oversize }] : [view];
			const look = (): Promise<View | undefined> => ask({ kind: 'watched', service });
			// Not `expect.poll`, which knows no tests side by side.
			await vi.waitFor(async () => expect(await look(), `app: ${build}`).toBeOneOf(expected), POLL);
		}
	}

	/** Asks each app, and returns their answers. */
	both<T>(command: AppCommand): Promise<readonly T[]> {
		return Promise.all(this.apps.map(({ ask }) => ask<T>(command)));
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.stopApps();
		await Promise.all(this.#sidecars.map((sidecar) => sidecar[Symbol.asyncDispose]()));
		await this.#services[Symbol.asyncDispose]();
		await this.#place[Symbol.asyncDispose]();
	}

	#isLast(at: number): boolean {
		return at === this.#builds.length - 1;
	}

	#path(at: number): string {
		return `${this.#place.path}-${at}-${this.#isLast(at) ? this.#successions : 0}`;
	}

	#args(at: number): readonly string[] {
		const next = at + 1;
		const upstream = (this.#isLast(next) && this.#tls?.upstreamArgs) || ['--upstream', `unix:${this.#path(next)}`];
		const source = this.#isLast(at)
			? ['--backend', 'local', '--services', this.#services.file, ...(this.#tls?.listenArgs ?? [])]
			: [...upstream, '--state-dir', join(this.#place.directory, 'state')];
		return [...source, '--empty-hold-ms', '0', '--drain-timeout-ms', '4000'];
	}
}
