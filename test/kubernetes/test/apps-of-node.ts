import { waitFor } from '@spock/testkit';

import type { PodMachine } from '../src/machine/pod-machine.ts';
import { readRendered, renderedDirectory } from '../src/manifests.ts';
import type { NodeSpock } from './node-spock.ts';
import { RegistrationWatch } from './registration-watch.ts';
import { RunningPod } from './running-pod.ts';

/** Apps that have tokens for the Spock of their node. */
export const APPS = ['app-one', 'app-two'] as const;

/** Both apps without a sidecar, at the socket of the node, by their manifests. Their pods are called as they are, behind a prefix. */
export function startAtSocket(
	machine: PodMachine,
	node: NodeSpock,
	{ title, prefix, ...limits }: { readonly title: string; readonly prefix: string; readonly timeoutMs?: number },
): Promise<readonly RunningPod[]> {
	const manifests = readRendered(renderedDirectory(process.env), 'spock-on-node-socket');
	return Promise.all(
		APPS.map((app) =>
			RunningPod.start(machine, node.client(app, manifests), {
				title: `${title}: ${app}`,
				name: `${prefix}${app}`,
				shared: { tokenFile: '/etc/spock/node/token', ...limits },
			}),
		),
	);
}

/** Watches both from the moment on in which each has registered itself by its token, with the address of its pod. */
export async function watchRegistrations(machine: PodMachine, prefix = ''): Promise<RegistrationWatch> {
	const names = APPS.map((app) => `${prefix}${app}`);
	const watch = await RegistrationWatch.begin(machine.consul.url, names);
	for (const [at, name] of names.entries()) {
		const address = await waitFor(`the address of ${name}`, async () => (await machine.pod(name))?.status?.podIP);
		const { app, address: registered } = watch.registered[name] ?? {};
		if (app !== APPS[at] || registered !== address) {
			throw new Error(`${name} is registered by ${app} at ${registered}; expected ${APPS[at]} at ${address}`);
		}
	}
	return watch;
}

/** Waits until each has live answers, and answers over the wire, from now on. */
export async function haveLiveCalls(apps: readonly RunningPod[], after: string): Promise<void> {
	const fromMs = Date.now();
	for (const app of apps) {
		app.note(after, fromMs);
		await app.is('live answers and calls', () =>
			app.tallies(fromMs).some(({ lookups, calls, stale }) => lookups > 0 && calls > 0 && stale === 0),
		);
	}
}
