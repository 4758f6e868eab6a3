import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

import { makeAuthority, waitFor } from '@spock/testkit';

import type { SharedSpock } from '../src/lookup-app-messages.ts';
import type { PodMachine } from '../src/machine/pod-machine.ts';
import { isReady, type Pod, type PodSpec, type Volume } from '../src/pod.ts';
import type { Manifest } from '../src/static-pod.ts';

const PORT = 7777;
const WAIT_MS = 90_000;
const FILES = '/run/spock-node';
/** Tokens by the names of their apps. */
const TOKENS = { 'app-one': 'the-token-of-the-first-app', 'app-two': 'the-token-of-the-second-app' };

/**
 * The Spock of a node, by the manifests, under a kubelet that has no API server: files of the machine stand for its Secrets, and, where
 * it listens over TLS, a forwarder at the address of the node for its Service, which leads new connections to the pod that is ready.
 */
export class NodeSpock implements AsyncDisposable {
	readonly #machine: PodMachine;
	readonly #address: string;
	readonly #template: Pick<Pod, 'spec'> & Partial<Pod>;
	readonly #ca: string;
	readonly #service: Server;
	readonly #sockets = new Set<Socket>();
	#target = '';

	private constructor(machine: PodMachine, address: string, manifests: readonly Manifest[], ca: string) {
		this.#machine = machine;
		this.#address = address;
		this.#ca = ca;
		const daemonSet = manifests.find(({ kind }) => kind === 'DaemonSet')?.spec;
		this.#template = (daemonSet as { readonly template: Pick<Pod, 'spec'> }).template;
		this.#service = createServer({ allowHalfOpen: true }, (socket) => this.#forward(socket));
	}

	/** Makes what its pods need; none runs yet. */
	static async prepare(machine: PodMachine, address: string, manifests: readonly Manifest[]): Promise<NodeSpock> {
		const authority = makeAuthority();
		const { cert, key } = authority.issue({ names: [address] });
		const tokens = Object.entries(TOKENS).map(([app, token]) => `${app}: ${token}`);
		for (const [path, text] of [
			['spock-tls/tls.crt', cert],
			['spock-tls/tls.key', key],
			['spock-tokens/tokens', tokens.join('\n')],
			...Object.entries(TOKENS).map(([app, token]) => [`${app}/token`, token] as const),
		] as const) {
			await mkdir(join(FILES, path, '..'), { recursive: true });
			await writeFile(join(FILES, path), text);
			await chmod(join(FILES, path), 0o444);
		}
		const node = new NodeSpock(machine, address, manifests, authority.ca);
		await new Promise<void>((resolve) => node.#service.listen(PORT, address, resolve));
		return node;
	}

	/** How an app asks it over TLS. */
	shared(app: keyof typeof TOKENS): SharedSpock {
		return { host: this.#address, port: PORT, token: TOKENS[app], ca: this.#ca };
	}

	/** The manifests of an app with files in place of its Secret. */
	client(app: keyof typeof TOKENS, manifests: readonly Manifest[]): readonly Manifest[] {
		return withSpec(manifests, (spec) => ({
			...spec,
			volumes: (spec.volumes ?? []).map((volume) => (volume['secret'] === undefined ? volume : directory(volume, app))),
		}));
	}

	/** Has a pod of it run, and the Service lead there once it is ready. */
	async place(name: string): Promise<void> {
		await this.#machine.kubelet.place(this.#pod(name));
		const { status } = await this.ready(name);
		this.#target = status?.podIP ?? '';
	}

	/** Waits until that pod is ready. */
	ready(name: string): Promise<Pod> {
		return this.#wait(name, 'to be ready', async () => {
			const found = await this.#machine.pod(name);
			return found !== undefined && isReady(found) ? found : undefined;
		});
	}

	/** Waits until the Spock of that pod has logged something. */
	async logs(name: string, message: string): Promise<void> {
		await this.#wait(name, `to log "${message}"`, () =>
			this.#machine.record(name).sidecar.some((line) => line.includes(`"msg":"${message}"`)),
		);
	}

	/** Has the Spock of that pod crash, and the kubelet start it again, after something else; resolves then. */
	async crash(name: string, away: () => Promise<unknown>): Promise<void> {
		const starts = () =>
			this.#machine
				.record(name)
				.containers.filter(({ container, kind }) => container === 'sidecar' && kind === 'start');
		const { pid } = await this.#wait(name, 'to be started', () => starts()[0]);
		await this.#machine.kubelet.pausedDuring(async () => {
			process.kill(pid, 'SIGKILL');
			await away();
		});
		await this.#wait(name, 'to be started again', () => starts().length > 1);
	}

	/** Has that pod end; gives the exit code of its Spock. */
	async remove(name: string): Promise<number | undefined> {
		await this.#machine.kubelet.remove(name);
		const exit = await this.#wait(name, 'to end', () =>
			this.#machine.record(name).containers.find(({ container, kind }) => container === 'sidecar' && kind === 'exit'),
		);
		return exit.exitCode;
	}

	async [Symbol.asyncDispose](): Promise<void> {
		for (const socket of this.#sockets) socket.destroy();
		await new Promise((resolve) => this.#service.close(resolve));
	}

	/** With what is known of the pod where it is in vain. */
	async #wait<T>(
		name: string,
		what: string,
		probe: () => T | undefined | false | Promise<T | undefined | false>,
	): Promise<T> {
		return waitFor(`${name} ${what}`, probe, WAIT_MS).catch((error: Error) => {
			const { containers, sidecar } = this.#machine.record(name);
			throw new Error(`${error.message}: ${JSON.stringify({ containers, sidecar })}`, { cause: error });
		});
	}

	/** As the manifest has it, but for what only an API server can give: Secrets, a service account, and so the login at Consul. */
	#pod(name: string): Pod {
		const { spec, metadata } = this.#template;
		const { serviceAccountName: _, ...others } = spec;
		const consul = /^(?:SPOCK_)?CONSUL_/;
		const volumes = (spec.volumes ?? []).filter((volume) => !volume.name.startsWith('consul-'));
		const containers = spec.containers.map((container) => ({
			...container,
			env: [
				...(container.env ?? []).filter((variable) => !consul.test(variable.name)),
				{ name: 'CONSUL_HTTP_ADDR', value: `http://${this.#address}:8500` },
			],
			volumeMounts: (container.volumeMounts ?? []).filter((mount) => volumes.some((one) => one.name === mount.name)),
		}));
		return {
			apiVersion: 'v1',
			kind: 'Pod',
			metadata: { name, namespace: 'default', labels: metadata?.labels ?? {} },
			spec: {
				...others,
				containers,
				volumes: volumes.map((volume) => (volume['secret'] === undefined ? volume : directory(volume, volume.name))),
			},
		};
	}

	#forward(socket: Socket): void {
		const there = createConnection({ host: this.#target, port: PORT, allowHalfOpen: true });
		for (const [one, other] of [
			[socket, there],
			[there, socket],
		] as const) {
			this.#sockets.add(one);
			one.on('error', () => other.destroy());
			one.on('close', () => {
				this.#sockets.delete(one);
				other.destroy();
			});
			one.pipe(other);
		}
	}
}

/** A directory of the machine in place of a Secret. */
function directory({ name }: Volume, of: string): Volume {
	return { name, hostPath: { path: join(FILES, of), type: 'Directory' } };
}

/** The manifests of an app without its sidecar. */
export function withoutSidecar(manifests: readonly Manifest[]): readonly Manifest[] {
	return withSpec(manifests, ({ initContainers: _, volumes = [], containers, ...others }) => ({
		...others,
		containers: containers.map((container) => ({
			...container,
			volumeMounts: container.volumeMounts?.filter(({ name }) => name !== 'uds') ?? [],
		})),
		volumes: volumes.filter(({ name }) => name !== 'uds'),
	}));
}

/** With the pods of the Deployment changed. */
function withSpec(manifests: readonly Manifest[], change: (spec: PodSpec) => PodSpec): readonly Manifest[] {
	return manifests.map((manifest) => {
		if (manifest.kind !== 'Deployment') return manifest;
		const spec = manifest.spec as { readonly template: Pick<Pod, 'spec'> };
		return { ...manifest, spec: { ...spec, template: { ...spec.template, spec: change(spec.template.spec) } } };
	});
}
