// The pod of examples/compose with its real images and a real Consul, played by podman: run it by `npm run suite pod`.
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { findConsul, waitFor } from '@spock/testkit';
import { expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';

import { podEngine, podman } from './podman.ts';

const POD = 'spock-example';
const example = fileURLToPath(new URL('../../../../examples/compose/pod.yaml', import.meta.url));

/** The image that the pod names, with the Consul of the tests in it: its own cannot be fetched here. */
async function makeConsulImage(): Promise<void> {
	const directory = join(podEngine().directory, 'consul-image');
	await mkdir(directory, { recursive: true });
	await copyFile(findConsul(process.env), join(directory, 'consul'));
	const from = `FROM ${podEngine().images.sidecar.name}\nUSER 0:0\nCOPY consul /usr/local/bin/\nENTRYPOINT ["consul"]\n`;
	await writeFile(join(directory, 'Containerfile'), from);
	await podman(['build', '--quiet', '--tag', 'docker.io/hashicorp/consul:1.20', directory]);
}

const run = async (container: string, ...command: string[]): Promise<string> =>
	(await podman(['exec', `${POD}-${container}`, ...command])).stdout.trim();

/** The pod without its ports of this machine, which podman opens on a network of its own alone. */
async function withoutPorts(): Promise<string> {
	const documents = parseAllDocuments(await readFile(example, 'utf8')).map((document) => document.toJS());
	for (const { spec } of documents) for (const container of spec.containers ?? []) delete container.ports;
	const path = join(podEngine().directory, 'example.yaml');
	await writeFile(path, documents.map((document) => stringify(document)).join('---\n'));
	return path;
}

/** What the waiter answers; undefined until it listens. The network is that of the test, which has loopback and nothing else. */
const ask = (): Promise<Response | undefined> => fetch('http://127.0.0.1:8081/').catch(() => undefined);

it('the example: one app calls another by its name, also when Consul is gone', async () => {
	await makeConsulImage();
	const manifest = await withoutPorts();
	await podman(['kube', 'play', '--network', 'host', manifest]);
	try {
		const answer = await waitFor(
			'the menu',
			async () => {
				// 503 until the barista is registered.
				const one = await ask();
				return one?.ok === true && one;
			},
			60_000,
		);
		expect(await answer.json()).toEqual({ drinks: ['espresso', 'cortado', 'flat white'] });
		// The names of all services are asked for apart from the instances of one, and may come a moment later.
		await waitFor('the list', async () => (await run('waiter-sidecar', 'sidecar', 'list')).includes('barista'), 60_000);
		await podman(['stop', '--time', '0', `${POD}-consul`]);
		expect((await ask())?.status).toBe(200);
	} finally {
		await podman(['kube', 'down', manifest]);
	}
});
