import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { ContainerEvent } from '../src/machine/container-events.ts';
import { PodMachine } from '../src/machine/pod-machine.ts';
import { readRendered, renderedDirectory } from '../src/manifests.ts';
import { isReady } from '../src/pod.ts';
import { APPS, haveLiveCalls, startAtSocket, watchRegistrations } from './apps-of-node.ts';
import { documentedProbes } from './grpc-probes.ts';
import { NodeSpock, withoutSidecar } from './node-spock.ts';
import { ADDRESS, RunningPod, SERVICE } from './running-pod.ts';

/** A tally is some milliseconds late on a busy machine, and the kubelet's and the app's clocks are read one after the other. */
const SLACK_MS = 250;

const directory = renderedDirectory(process.env);
const native = readRendered(directory, 'consul-agent-on-node');
const ordinary = readRendered(directory, 'without-native-sidecars');
let machine: PodMachine;

beforeAll(async () => {
	const { SPOCK_SIDECAR_IMAGE: sidecar = '', SPOCK_APP_IMAGE: app = '' } = process.env;
	machine = await PodMachine.start(process.env, [
		{ archive: sidecar, name: 'spock-sidecar:0.1.0' },
		{ archive: app, name: 'spock-example-app:0.1.0' },
	]);
	await register();
});
afterAll(() => machine?.[Symbol.asyncDispose]());

describe('a pod with a native sidecar', () => {
	it('starts the app when the sidecar can answer it, and ends the sidecar when the app has left', async () => {
		const pod = await RunningPod.start(machine, native, {
			title: 'start, and an end in good order',
			name: 'order',
			leavesAfterMs: 2000,
		});
		const sidecarStart = await pod.container('sidecar', 'start');
		const serves = await pod.sidecarLogs('serving');
		const appStart = await pod.container('app', 'start');
		const first = await pod.appSays('first lookup');
		expect(first).toMatchObject({ address: ADDRESS });
		expect([sidecarStart.atMs, serves, appStart.atMs, first.atMs]).toEqual(
			[sidecarStart.atMs, serves, appStart.atMs, first.atMs].toSorted((one, two) => one - two),
		);
		await pod.is('all containers are ready', ({ status }) =>
			[...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].every(({ ready }) => ready),
		);

		await pod.remove();
		const appExit = await expectEnds(pod);
		expect(await pod.sidecarLogs('signal received; shutting down')).toBeGreaterThanOrEqual(appExit.atMs - SLACK_MS);
		expect(pod.tell()).toMatchObject({ failed: 0, longestAgeMs: 0 });
	});

	it('goes on with lookups while the sidecar is killed and started again, and says how old they are', async () => {
		const pod = await RunningPod.start(machine, native, {
			title: 'SIGKILL of the sidecar, twice',
			name: 'kills',
		});
		for (const kill of [0, 1]) {
			await waitForLive(pod);
			const { pid } = await pod.container('sidecar', 'start', kill);
			const killedAtMs = Date.now();
			pod.note('SIGKILL of the sidecar', killedAtMs);
			process.kill(pid, 'SIGKILL');
			expect((await pod.container('sidecar', 'exit', kill)).exitCode).toBe(137);
			const { atMs: lostAtMs } = await pod.appSays('lost', kill);
			const { atMs: backAtMs } = await pod.appSays('back', kill);
			const gap = pod.tallies(lostAtMs + SLACK_MS, backAtMs);
			expect(gap.length).toBeGreaterThan(1);
			for (const [index, { atMs, lookups, stale, ageMsMin, ageMsMax }] of gap.entries()) {
				expect(stale).toBe(lookups);
				expect(ageMsMax).toBeLessThanOrEqual(atMs - killedAtMs + SLACK_MS);
				// A tally tells of the time since the one before it.
				const sinceMs = gap[index - 1]?.atMs ?? lostAtMs;
				expect(ageMsMin).toBeGreaterThanOrEqual(sinceMs - lostAtMs - SLACK_MS);
			}
		}
		await waitForLive(pod);
		expect(pod.record.containers.filter(({ container }) => container === 'app')).toHaveLength(1);
		await pod.remove();
		await expectEnds(pod, { sidecarRestarts: 2 });
		expect(pod.tell().failed).toBe(0);
	});

	it('has an app that ignores SIGTERM killed when the grace period is over, and the sidecar ends by itself after it', async () => {
		const pod = await RunningPod.start(machine, native, {
			title: 'an app that ignores SIGTERM',
			name: 'stays',
			manner: 'stays',
		});
		await pod.remove();
		const told = await pod.appSays('SIGTERM');
		const appExit = await expectEnds(pod, { appExitCode: 137 });
		// The grace period of the manifest, 35 s, less what the kubelet needs to begin.
		expect(appExit.atMs - told.atMs).toBeGreaterThan(30_000);
		expect(pod.tell()).toMatchObject({ failed: 0, longestAgeMs: 0 });
	});

	it('does not start the app before the registry has answered', async () => {
		await machine.consul.kill();
		const pod = await RunningPod.place(machine, native, {
			title: 'start while Consul is away',
			name: 'early',
		});
		await pod.probesFail(3, 'Startup');
		expect(pod.record.containers).toMatchObject([{ container: 'sidecar', kind: 'start' }]);
		const awayUntilMs = Date.now();
		await restartConsul();
		pod.note('Consul is there', Date.now());
		await pod.firstLookup();
		expect((await pod.container('app', 'start')).atMs).toBeGreaterThan(awayUntilMs);
		await pod.remove();
		await expectEnds(pod);
		expect(pod.tell()).toMatchObject({ failed: 0, longestAgeMs: 0 });
	});

	it('is done when the app of a Job is', async () => {
		const pod = await RunningPod.start(machine, native, {
			title: 'a pod of a Job',
			name: 'job',
			manner: 'ends',
			leavesAfterMs: 1000,
			isJob: true,
		});
		const appExit = await expectEnds(pod);
		await pod.is('the pod has succeeded', ({ status }) => status?.phase === 'Succeeded');
		pod.note('the pod has succeeded', Date.now());
		expect(await pod.sidecarLogs('signal received; shutting down')).toBeGreaterThanOrEqual(appExit.atMs - SLACK_MS);
		expect(pod.tell()).toMatchObject({ failed: 0, longestAgeMs: 0 });
		await pod.remove();
	});
});

describe('a pod whose sidecar is probed over gRPC alone, by the settings that docs/GRPC.md has', () => {
	const asked = { periodSeconds: 1, timeoutSeconds: 1 };

	it('is started and ready when the registry has answered, and not before', async () => {
		await machine.consul.kill();
		const pod = await RunningPod.place(machine, native, {
			title: 'probes over gRPC',
			name: 'grpc',
			sidecar: documentedProbes(),
		});
		await pod.probesFail(3, 'Startup', 'NOT_SERVING');
		expect(pod.record.containers).toMatchObject([{ container: 'sidecar', kind: 'start' }]);
		expect(await pod.pod()).not.toSatisfy(isReady);
		await restartConsul();
		await pod.firstLookup();
		await pod.is('ready', isReady);
		await pod.remove();
		await expectEnds(pod);
	});

	it('is not ready while the sidecar is not, which liveness takes no notice of; one that hangs is killed', async () => {
		await machine.consul.kill();
		const { startupProbe: _, readinessProbe, livenessProbe, ...documented } = documentedProbes();
		const pod = await RunningPod.place(machine, native, {
			title: 'readiness and liveness over gRPC',
			name: 'grpc-asked',
			sidecar: {
				...documented,
				// Without one readiness is asked from the start.
				startupProbe: undefined,
				readinessProbe: { ...readinessProbe, ...asked, failureThreshold: 1 },
				// As late as the process needs to listen, on a busy machine too; and what hangs need not be waited for.
				livenessProbe: { ...livenessProbe, ...asked, initialDelaySeconds: 5, terminationGracePeriodSeconds: 1 },
			},
		});
		await pod.probesFail(8, 'Readiness', 'NOT_SERVING');
		const sidecar = await pod.container('sidecar', 'start');
		await pod.is('the sidecar is running and not ready', ({ status }) =>
			(status?.initContainerStatuses ?? []).some(({ state, ready }) => state.running !== undefined && !ready),
		);
		expect(await pod.pod()).not.toSatisfy(isReady);
		expect(pod.probesFailed('Liveness')).toBe(0);
		await restartConsul();
		await pod.is('ready', isReady);

		process.kill(sidecar.pid, 'SIGSTOP');
		await pod.is('not ready', (found) => !isReady(found));
		await pod.probesFail(3, 'Liveness');
		expect((await pod.container('sidecar', 'exit')).pid).toBe(sidecar.pid);
		await pod.container('sidecar', 'start', 1);
		await pod.is('ready again', isReady);
		await pod.remove();
		await pod.container('sidecar', 'exit', 1);
	});
});

describe('a pod with two ordinary containers', () => {
	it('has both told to end at once, and the sidecar waits until the app has left', async () => {
		const pod = await RunningPod.start(machine, ordinary, {
			title: 'two ordinary containers, for clusters before 1.29',
			name: 'ordinary',
			leavesAfterMs: 5000,
		});
		await pod.remove();
		const { atMs: appTold } = await pod.appSays('SIGTERM');
		const sidecarTold = await pod.sidecarLogs('signal received; shutting down');
		// Well before the app leaves: it really is told beside the app, and not after it.
		expect(sidecarTold).toBeLessThan(appTold + 2500);
		// The sidecar waits for the app's connection, which ends before its process does.
		await expectEnds(pod, { slackMs: SLACK_MS });
		expect(pod.tell()).toMatchObject({ failed: 0, longestAgeMs: 0 });
	});
});

describe('two pods of apps that ask the Spock of their node', () => {
	it('have no lookup and no call fail while it is replaced by the next one, stay registered, and have live answers soon', async () => {
		await using node = await NodeSpock.prepare(machine, nodeAddress(), readRendered(directory, 'node'));
		await node.place('node-before');
		const apps = await Promise.all(
			APPS.map((name) =>
				RunningPod.start(machine, withoutSidecar(native), {
					title: `the Spock of the node is replaced: ${name}`,
					name,
					shared: node.shared(name),
				}),
			),
		);
		await using registrations = await watchRegistrations(machine);
		// As a DaemonSet with maxSurge does it: the next one is ready before the one in place is told to end.
		await node.place('node-after');
		const replacedAtMs = Date.now();
		for (const app of apps) app.note('the Spock in place is taken away', replacedAtMs);
		expect(await node.remove('node-before')).toBe(0);
		// The next one has not been asked for the service before: until Consul has answered it, what is known has an age.
		await haveLiveCalls(apps, 'the Spock in place has ended');
		expect(registrations.losses).toEqual([]);
		await endWithoutFailure(apps);
		expect(await node.remove('node-after')).toBe(0);
	});

	it('have no lookup and no call fail while the next one takes the socket over, and stay registered', async () => {
		await using node = await NodeSpock.prepare(machine, nodeAddress(), readRendered(directory, 'node-socket'));
		await node.place('socket-before');
		const apps = await startAtSocket(machine, node, {
			title: 'the Spock of the node is taken over',
			prefix: 'socket-',
		});
		await using registrations = await watchRegistrations(machine, 'socket-');
		await takeSocketOver(node, apps, 'socket');
		expect(await node.remove('socket-before')).toBe(0);
		await haveLiveCalls(apps, 'the Spock that was taken over has ended');
		expect(registrations.losses).toEqual([]);
		await endWithoutFailure(apps);
		expect(await node.remove('socket-after')).toBe(0);
	});

	it('are served at the socket by the next one again when its container has crashed; the one before still waits', async () => {
		await using node = await NodeSpock.prepare(machine, nodeAddress(), readRendered(directory, 'node-socket'));
		await node.place('crash-before');
		const apps = await startAtSocket(machine, node, {
			title: 'the next Spock of the node crashes',
			prefix: 'crash-',
		});
		await using registrations = await watchRegistrations(machine, 'crash-');
		await takeSocketOver(node, apps, 'crash');
		for (const app of apps) app.note('SIGKILL of the next Spock', Date.now());
		// Two seconds, of which the kubelet needs some by itself: the one before has looked meanwhile.
		const [app] = apps as [RunningPod, ...RunningPod[]];
		await node.crash('crash-after', () => app.appSays('tally', app.tallies().length + 20));
		await haveLiveCalls(apps, 'the next Spock was started again');
		// Of its first end: it was not started again either.
		expect(await node.remove('crash-before')).toBe(0);
		await haveLiveCalls(apps, 'the Spock in place before has ended');
		expect(registrations.losses).toEqual([]);
		await endWithoutFailure(apps);
		await node.remove('crash-after');
	});

	it('are served at the socket by the one in place before, when the next one is taken away again', async () => {
		await using node = await NodeSpock.prepare(machine, nodeAddress(), readRendered(directory, 'node-socket'));
		await node.place('undo-before');
		const apps = await startAtSocket(machine, node, {
			title: 'an upgrade of the Spock of the node is undone',
			prefix: 'undo-',
			// The one before waits for 5 s, in case the next one is started again.
			timeoutMs: 30_000,
		});
		await using registrations = await watchRegistrations(machine, 'undo-');
		await takeSocketOver(node, apps, 'undo');
		expect(await node.remove('undo-after')).toBe(0);
		await node.ready('undo-before');
		await haveLiveCalls(apps, 'the Spock in place before serves again');
		expect(registrations.losses).toEqual([]);
		await endWithoutFailure(apps);
		await node.remove('undo-before');
	});
});

/** Ends apps that have worked, and of which no lookup and no call failed. */
async function endWithoutFailure(apps: readonly RunningPod[]): Promise<void> {
	for (const app of apps) {
		await app.remove();
		expect((await app.container('app', 'exit')).exitCode).toBe(0);
		const { lookups, calls, failed } = app.tell();
		expect(failed).toBe(0);
		expect(Math.min(lookups, calls)).toBeGreaterThan(100);
	}
}

function nodeAddress(): string {
	return process.env['SPOCK_MACHINE_ADDRESS'] ?? '';
}

/** As a DaemonSet with maxSurge has it: two pods are there at once, and the first is not started again. */
async function takeSocketOver(node: NodeSpock, apps: readonly RunningPod[], name: string): Promise<void> {
	for (const app of apps) app.note('the next Spock is placed', Date.now());
	await node.place(`${name}-after`);
	await node.logs(`${name}-before`, 'replaced; waiting for a signal to exit');
	await machine.containerStatus(`${name}-before`, 'sidecar', 'running, not ready', ({ ready, state, restartCount }) => {
		return state.running !== undefined && !ready && restartCount === 0;
	});
}

/** Both containers end, the sidecar after the app and by itself. Gives the app's end. */
async function expectEnds(
	pod: RunningPod,
	{
		appExitCode = 0,
		sidecarRestarts = 0,
		slackMs = 0,
	}: { readonly appExitCode?: number; readonly sidecarRestarts?: number; readonly slackMs?: number } = {},
): Promise<ContainerEvent> {
	const app = await pod.container('app', 'exit');
	const sidecar = await pod.container('sidecar', 'exit', sidecarRestarts);
	expect([app.exitCode, sidecar.exitCode]).toEqual([appExitCode, 0]);
	expect(sidecar.atMs).toBeGreaterThan(app.atMs - slackMs);
	return app;
}

/** Consul keeps nothing of before. */
async function restartConsul(): Promise<void> {
	await machine.consul.restart();
	await register();
}

async function register(): Promise<void> {
	const [Address, port] = ADDRESS.split(':');
	await machine.consul.put('/v1/agent/service/register', { Name: SERVICE, Address, Port: Number(port) });
}

/** Until the app has live answers. */
async function waitForLive(pod: RunningPod): Promise<void> {
	const from = Date.now();
	await pod.is('live answers', () => pod.tallies(from).some(({ lookups, stale }) => lookups > 0 && stale === 0));
}
