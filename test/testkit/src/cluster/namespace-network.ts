import { execFile } from 'node:child_process';
import { readlink } from 'node:fs/promises';
import { promisify } from 'node:util';

import { type RunningProcess, spawnProcess } from '../spawn-sidecar.ts';
import { waitFor } from '../wait-for.ts';
import type { ConsulNetwork } from './consul-network.ts';

const run = promisify(execFile);

/** Nobody else is in these networks: the ports are Consul's own. */
const PORTS = { http: 8500, server: 8300, serfLan: 8301 };
const PREFIX = '10.77.0';

/** Agents on a network of their own, each in a namespace with one cable to a switch that all share. */
export interface NamespaceNetwork extends ConsulNetwork {
	/** Pulls the cable of an agent at the switch: what it sends and what is sent to it is lost, without a word. */
	cut(agent: number): Promise<void>;
	/** Puts it back. */
	heal(agent: number): Promise<void>;
}

/**
 * Makes the network, of namespaces that end with this process. Rejects with the reason where the machine does not allow
 * it: that takes Linux, `ip`, and the right to make namespaces (root, or user namespaces).
 */
export async function namespaceNetwork(size: number): Promise<NamespaceNetwork> {
	if (process.platform !== 'linux') throw new Error(`network namespaces are Linux's: this is ${process.platform}`);
	const made = new Namespaces(size);
	try {
		await made.open();
		return made;
	} catch (error) {
		await made[Symbol.asyncDispose]();
		throw new Error(`no network namespace can be made here: ${(error as Error).message.trim()}`, { cause: error });
	}
}

class Namespaces implements NamespaceNetwork {
	readonly addresses: readonly string[];
	readonly ports = PORTS;
	readonly #size: number;
	/** A user who is not root becomes root of a user namespace, and the networks belong to that one. */
	readonly #isRoot = process.getuid?.() === 0;
	/** A process that does nothing in each namespace keeps it: that of the switch, then that of each agent. */
	readonly #holders: RunningProcess[] = [];

	constructor(size: number) {
		this.#size = size;
		this.addresses = Array.from({ length: size }, (_, number) => `${PREFIX}.${number + 1}`);
	}

	async open(): Promise<void> {
		const own = await readlink('/proc/self/ns/net');
		const user = this.#isRoot ? [] : ['-U', '-r'];
		const hub = await this.#hold(['unshare', ...user, '-n', 'cat'], own);
		const hubNet = await readlink(`/proc/${hub.pid}/ns/net`);
		await this.#inHub(['link', 'add', 'switch', 'type', 'bridge', 'forward_delay', '0']);
		await this.#inHub(['link', 'set', 'switch', 'up']);
		for (let number = 0; number < this.#size; number++) {
			const member = await this.#hold(this.#enter(hub, ['unshare', '-n', 'cat']), hubNet);
			const cable = `cable${number}`;
			const peer = ['peer', 'name', 'eth0', 'netns', String(member.pid)];
			await this.#inHub(['link', 'add', cable, 'type', 'veth', ...peer]);
			await this.heal(number);
			await this.#inHub(['link', 'set', cable, 'up']);
			for (const words of [
				['link', 'set', 'lo', 'up'],
				['addr', 'add', `${this.addresses[number]}/24`, 'dev', 'eth0'],
				['link', 'set', 'eth0', 'up'],
			]) {
				await this.#ip(member, words);
			}
		}
	}

	command(agent: number, command: readonly string[]): readonly string[] {
		return this.#enter(this.#holderOf(agent), command);
	}

	// Out of the switch and not down: a cable that is down is noticed, and a real loss of packets is not.
	cut(agent: number): Promise<void> {
		return this.#inHub(['link', 'set', `cable${agent}`, 'nomaster']);
	}

	heal(agent: number): Promise<void> {
		return this.#inHub(['link', 'set', `cable${agent}`, 'master', 'switch']);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const holder of this.#holders.splice(0).reverse()) await holder[Symbol.asyncDispose]();
	}

	#inHub(words: readonly string[]): Promise<void> {
		return this.#ip(this.#holders[0] as RunningProcess, words);
	}

	async #ip(where: RunningProcess, words: readonly string[]): Promise<void> {
		const [program = '', ...args] = this.#enter(where, ['ip', ...words]);
		await run(program, args);
	}

	#enter({ pid }: RunningProcess, command: readonly string[]): readonly string[] {
		const user = this.#isRoot ? [] : ['-U', '--preserve-credentials'];
		return ['nsenter', '-t', String(pid), ...user, '-n', ...command];
	}

	#holderOf(agent: number): RunningProcess {
		const holder = this.#holders[agent + 1];
		if (holder === undefined) throw new Error(`there is no agent ${agent} in this network`);
		return holder;
	}

	/** Starts a holder and waits until it is in a namespace other than `before`. */
	async #hold([program = '', ...args]: readonly string[], before: string): Promise<RunningProcess> {
		// Its input stays open as long as this process lives, and `cat` ends with it: nothing is left behind by a crash.
		const holder = spawnProcess(program, args, { keepInput: true });
		this.#holders.push(holder);
		let isOver = false;
		const over = (): void => {
			isOver = true;
		};
		holder.finished.then(over, over);
		await waitFor('a network namespace', async () => isOver || (await isElsewhere(holder.pid, before)));
		if (isOver) throw new Error(`${program} ${args.join(' ')}: ${holder.stderr()}`);
		return holder;
	}
}

async function isElsewhere(pid: number, before: string): Promise<boolean> {
	try {
		return ![before, await readlink('/proc/self/ns/net')].includes(await readlink(`/proc/${pid}/ns/net`));
	} catch {
		// The process has just started, or has ended: whoever waits sees which.
		return false;
	}
}
