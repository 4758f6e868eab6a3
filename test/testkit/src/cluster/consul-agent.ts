import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { type RunningProcess, spawnProcess } from '../spawn-sidecar.ts';
import { askConsul, type ConsulReply, type ConsulRequest, consulJson } from './consul-request.ts';

/** What makes one agent: where it lives and how it is told to behave. */
export interface ConsulAgentOptions {
	/** Its name among the members. */
	readonly name: string;
	readonly address: string;
	readonly httpPort: number;
	readonly isServer: boolean;
	/** Its own directory: data, socket. */
	readonly directory: string;
	/** The program and what comes before its arguments. */
	readonly command: readonly string[];
	/** Configuration in HCL, all of it but what the other options say. */
	readonly hcl: readonly string[];
	/** Sent with every request that has no token of its own. */
	readonly token: string;
}

/** One Consul agent of a cluster, a process of its own that the test may maltreat. */
export class ConsulAgent {
	readonly name: string;
	readonly address: string;
	readonly isServer: boolean;
	/** For whoever lives on the agent's network. */
	readonly url: string;
	/** Of its HTTP API, reached from every network. */
	readonly socketPath: string;
	readonly #options: ConsulAgentOptions;
	#process: RunningProcess | undefined;
	#isPaused = false;

	constructor(options: ConsulAgentOptions) {
		const { name, address, isServer, httpPort, directory } = options;
		this.name = name;
		this.address = address;
		this.isServer = isServer;
		this.url = `http://${address}:${httpPort}`;
		this.#options = options;
		this.socketPath = join(directory, 'http.sock');
	}

	/** True while there is a process that is not paused. */
	get isRunning(): boolean {
		return this.#process !== undefined && this.#process.child.exitCode === null && !this.#isPaused;
	}

	/** Starts the process, on the data that the last one left; idempotent. It may take a while to answer. */
	start(): void {
		if (this.#process?.child.exitCode === null && this.#process.child.signalCode === null) return;
		const { command, hcl, directory, address, name } = this.#options;
		const [program = '', ...args] = command;
		const all = [
			...hcl,
			`node_name = "${name}" bind_addr = "${address}" client_addr = "${address}"`,
			`data_dir = "${join(directory, 'data')}"`,
			// A socket beside the port: the test itself asks there, from wherever it is.
			`addresses { http = "${address} unix://${this.socketPath}" }`,
		];
		this.#process = spawnProcess(program, [...args, 'agent', ...all.flatMap((text) => ['-hcl', text])]);
		this.#isPaused = false;
	}

	/** Ends the process by a signal, SIGKILL unless another is named, and waits for its end; idempotent. */
	async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
		// A paused process takes no signal but SIGKILL.
		if (signal !== 'SIGKILL') this.resume();
		await this.#process?.stop(signal);
		this.#process = undefined;
		this.#isPaused = false;
	}

	/** Removes what it has on its disk: it must have ended. */
	async erase(): Promise<void> {
		await rm(join(this.#options.directory, 'data'), { recursive: true, force: true });
	}

	/** SIGSTOP: it keeps its connections and does nothing. */
	pause(): void {
		this.#isPaused = this.#process?.child.kill('SIGSTOP') ?? false;
	}

	/** SIGCONT; idempotent. */
	resume(): void {
		if (this.#isPaused) this.#process?.child.kill('SIGCONT');
		this.#isPaused = false;
	}

	/** Leaves the cluster in good order, as an operator does who takes a machine away, and waits until the process has ended. */
	async leave(): Promise<void> {
		const leaving = this.#process;
		await this.ask({ method: 'PUT', path: '/v1/agent/leave', timeoutMs: 30_000 });
		await leaving?.finished;
		this.#process = undefined;
	}

	/** Any request; rejects when there is no answer. */
	ask(request: ConsulRequest): Promise<ConsulReply> {
		return askConsul(this.socketPath, { token: this.#options.token, ...request });
	}

	/** The JSON of an answer. Rejects unless its status is 200. */
	async json<T>(request: ConsulRequest): Promise<T> {
		return consulJson<T>(request, await this.ask(request));
	}

	/** The JSON of an answer, or undefined where there is none yet. For whoever asks until there is. */
	async tryJson<T>(request: ConsulRequest): Promise<T | undefined> {
		try {
			const reply = await this.ask(request);
			return reply.status === 200 ? consulJson<T>(request, reply) : undefined;
		} catch {
			// Not there, paused, or cut off: that is what the tests are about, and the caller's bound ends the asking.
			return undefined;
		}
	}

	/** Why it ended, if it did: for the message of a start that failed. */
	lastWords(): string {
		const { child, stdout } = this.#process ?? {};
		return child === undefined || child.exitCode === null ? '' : (stdout?.().slice(-1500) ?? '');
	}
}
