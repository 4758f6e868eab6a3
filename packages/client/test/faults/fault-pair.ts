import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

import type { RunningProcess } from '@spock/testkit';

import { askWorker, bundleWorker, killWorker, startWorker, workerReply } from '../worker-process.ts';
import type { AppCommand, AppReply, AppSettings, RoundResult } from './fault-messages.ts';
import { SERVICES, SidecarPlace } from './sidecar-place.ts';

/** So many calls are in flight when the sidecar goes, and each of them ends. */
export const IN_FLIGHT = 1024;
/** For what must come in any case, on a machine however busy. */
const ANSWER_MS_MAX = 60_000;
/** A fault comes at any moment of the app's and the sidecar's work: up to so long after the load is on. */
const FAULT_DELAY_MS_MAX = 20;

/** Options of {@link FaultPair}. */
export interface FaultPairOptions {
	readonly heartbeatMs: number;
}

/** A real sidecar and an app in a process of its own, at a socket of their own. */
export class FaultPair implements AsyncDisposable {
	readonly #place: SidecarPlace;
	#app: ChildProcess | undefined;
	#sidecar: RunningProcess | undefined;

	private constructor(place: SidecarPlace) {
		this.#place = place;
	}

	static async start({ heartbeatMs }: FaultPairOptions): Promise<FaultPair> {
		const place = await SidecarPlace.make();
		const pair = new FaultPair(place);
		try {
			pair.#sidecar = await place.startSidecar();
			const worker = await bundleWorker(new URL('fault-app.ts', import.meta.url), place.directory);
			// As with the defaults of both: the heartbeat finds nothing dead before it counts as stable.
			const stableMs = heartbeatMs / 2;
			const settings: AppSettings = {
				path: place.path,
				services: SERVICES,
				inFlight: IN_FLIGHT,
				heartbeatMs,
				stableMs,
			};
			pair.#app = startWorker(worker, { settings });
			await workerReply<AppReply, 'ready'>(pair.#app, 'ready', ANSWER_MS_MAX);
			return pair;
		} catch (error) {
			await pair[Symbol.asyncDispose]();
			throw error;
		}
	}

	/** SIGKILL while the calls are in flight, and another sidecar at the same path. */
	async kill(): Promise<RoundResult> {
		await this.#load(30_000);
		await this.#sidecar?.stop('SIGKILL');
		this.#sidecar = await this.#place.startSidecar();
		return this.#ask('result');
	}

	/** SIGSTOP while the calls are in flight, until the client has noticed; then SIGCONT. */
	async stop(): Promise<RoundResult> {
		await this.#load(30_000);
		this.#sidecar?.child.kill('SIGSTOP');
		await this.#ask('lost');
		await delay(Math.random() * FAULT_DELAY_MS_MAX);
		this.#sidecar?.child.kill('SIGCONT');
		return this.#ask('result');
	}

	/** SIGSTOP for longer than the calls wait and shorter than the heartbeat: what they asked for is answered too late. */
	async pause(timeoutMs: number): Promise<RoundResult> {
		await this.#load(timeoutMs);
		this.#sidecar?.child.kill('SIGSTOP');
		await delay(timeoutMs * 4);
		this.#sidecar?.child.kill('SIGCONT');
		return this.#ask('result');
	}

	async [Symbol.asyncDispose](): Promise<void> {
		if (this.#app !== undefined) await killWorker(this.#app);
		await this.#sidecar?.[Symbol.asyncDispose]();
		await this.#place[Symbol.asyncDispose]();
	}

	async #load(timeoutMs: number): Promise<void> {
		await this.#send({ kind: 'load', timeoutMs });
		await delay(Math.random() * FAULT_DELAY_MS_MAX);
	}

	#ask<Kind extends 'lost' | 'result'>(kind: Kind): Promise<Extract<AppReply, { readonly kind: Kind }>> {
		return this.#send({ kind }) as Promise<Extract<AppReply, { readonly kind: Kind }>>;
	}

	#send(command: AppCommand): Promise<AppReply> {
		if (this.#app === undefined) throw new Error('the app has not been started');
		return askWorker<AppReply, AppCommand['kind']>(this.#app, command, ANSWER_MS_MAX);
	}
}
