// What the images weigh, how long the sidecar's takes to be ready, and what it holds: run it by `npm run suite figures`.
import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';

import { type RealConsul, waitFor } from '@spock/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { startBaristaConsul } from './barista-consul.ts';
import { POD_GROUP } from './playable-pod.ts';
import { type ContainerState, containerState, kernelStatus, podEngine, podman } from './podman.ts';
import { createSocketVolume } from './podman-pod.ts';

const NAME = 'spock-figures';
const ADMIN = '127.0.0.1:9464';
const STARTS = 8;
const LAYER_BYTES_MAX = 15e6;
const READY_MS_MAX = 500;
const RESIDENT_BYTES_MAX = 73_000_000;
/** A tick of the kernel's accounting, as Linux gives it to programs. */
const TICK_MS = 10;
/** How often the app asks before it is looked what the sidecar holds then. */
const QUESTIONS = 250;
/** How long the memory must have stood still to be called at rest. */
const REST_MS = 3000;

const figures: Record<string, unknown> = {};
let consul: RealConsul;

beforeAll(async () => {
	consul = await startBaristaConsul();
	await createSocketVolume(NAME, POD_GROUP);
});

afterAll(async () => {
	await consul?.[Symbol.asyncDispose]();
	await podman(['volume', 'rm', '--force', NAME]);
	const reports = new URL('../../../../reports/', import.meta.url);
	await mkdir(reports, { recursive: true });
	await writeFile(new URL('image.json', reports), JSON.stringify(figures, null, 2));
});

/** The layers of an archive, from the base on, with their sizes as they are unpacked. */
function layersOf(archive: string): { readonly name: string; readonly bytes: number }[] {
	const read = (args: string[]): string => execFileSync('tar', args, { encoding: 'utf8' });
	const [{ Layers }] = JSON.parse(read(['--extract', '--to-stdout', '--file', archive, 'manifest.json']));
	const sizes = new Map(
		read(['--list', '--verbose', '--file', archive])
			.split('\n')
			.map((line) => line.split(/\s+/))
			.map(([, , bytes, , , name]) => [name, Number(bytes)]),
	);
	return Layers.map((name: string) => ({ name, bytes: sizes.get(name) ?? Number.NaN }));
}

/** Runs a container of an image, with the rights that it has in the pod. Disposing it removes it. */
async function run(image: string, name: string, user: number, args: readonly string[]): Promise<AsyncDisposable> {
	const rights = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];
	const users = ['--user', `${user}:${user}`, '--group-add', String(POD_GROUP)];
	await podman([
		'run',
		'--detach',
		'--name',
		name,
		'--network',
		'host',
		...rights,
		...users,
		'--volume',
		`${NAME}:/uds`,
		image,
		...args,
	]);
	return { [Symbol.asyncDispose]: async () => void (await podman(['rm', '--force', '--time', '0', name])) };
}

const startSidecar = (): Promise<AsyncDisposable> =>
	run(podEngine().images.sidecar.name, NAME, 10001, ['start', '--consul', consul.url, '--admin', ADMIN]);

async function isReady(): Promise<boolean> {
	// Refused until it listens.
	return (await fetch(`http://${ADMIN}/readyz`).catch(() => undefined))?.ok === true;
}

/** Milliseconds of CPU that a process has used. */
async function cpuMs({ pid }: ContainerState): Promise<number> {
	const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ');
	return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** What of a process is in memory, in bytes, once that stands still: all of it, and what it shares with no file. */
async function restingMemory({ pid }: ContainerState): Promise<{ resident: number; anonymous: number }> {
	let last = { resident: 0, anonymous: 0 };
	let since = performance.now();
	return waitFor(
		'memory that stands still',
		async () => {
			const status = await kernelStatus(pid);
			const bytes = (name: string): number => Number.parseInt(status[name] ?? '', 10) * 1024;
			const now = { resident: bytes('VmRSS'), anonymous: bytes('RssAnon') };
			if (now.resident !== last.resident) since = performance.now();
			last = now;
			return performance.now() - since > REST_MS && now;
		},
		60_000,
	);
}

it('what the images add to their base is small', () => {
	const { sidecar, app } = podEngine().images;
	const [ofSidecar, ofApp] = [layersOf(sidecar.archive), layersOf(app.archive)];
	const base = ofSidecar.filter(({ name }) => ofApp.some((other) => other.name === name));
	const own = (layers: typeof base): number =>
		layers.filter((layer) => !base.some(({ name }) => name === layer.name)).reduce((sum, { bytes }) => sum + bytes, 0);
	Object.assign(figures, {
		baseBytes: base.reduce((sum, { bytes }) => sum + bytes, 0),
		sidecarBytes: own(ofSidecar),
		appBytes: own(ofApp),
	});
	expect(base.length).toBeGreaterThan(0);
	expect(own(ofSidecar)).toBeLessThan(LAYER_BYTES_MAX);
	expect(own(ofApp)).toBeLessThan(LAYER_BYTES_MAX);
});

it('it is ready soon after its start', async () => {
	const starts: { readonly readyMs: number; readonly cpuMs: number }[] = [];
	for (let turn = 0; turn < STARTS; turn++) {
		await using _sidecar = await startSidecar();
		await waitFor('a sidecar that is ready', isReady, 60_000);
		const readyAt = Date.now();
		const state = await containerState(NAME);
		starts.push({ readyMs: readyAt - state.startedAt, cpuMs: await cpuMs(state) });
	}
	figures['starts'] = starts;
	// Of the best: the machine may be busy with something else meanwhile.
	expect(Math.min(...starts.map(({ readyMs }) => readyMs))).toBeLessThan(READY_MS_MAX);
});

it('it holds little memory', async () => {
	await using _sidecar = await startSidecar();
	await waitFor('a sidecar that is ready', isReady, 60_000);
	const state = await containerState(NAME);
	const rest = await restingMemory(state);
	await using _app = await run(podEngine().images.app.name, `${NAME}-app`, 10002, []);
	await waitFor(
		'questions of the app',
		async () => {
			const { stdout } = await podman(['logs', '--tail', '1', `${NAME}-app`]);
			return stdout.startsWith('{') && JSON.parse(stdout).questions > QUESTIONS;
		},
		60_000,
	);
	const status = await kernelStatus(state.pid);
	figures['memory'] = { rest, askedBytes: Number.parseInt(status['VmRSS'] ?? '', 10) * 1024 };
	expect(rest.resident).toBeLessThan(RESIDENT_BYTES_MAX);
});
