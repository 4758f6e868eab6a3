// The pod of k8s/ with its real images, played by podman: run it by `npm run suite pod`.
import { mkdir, writeFile } from 'node:fs/promises';

import { type RealConsul, waitFor } from '@spock/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { startBaristaConsul } from './barista-consul.ts';
import { type PlayablePodOptions, POD_GROUP, playablePod } from './playable-pod.ts';
import { kernelStatus, podEngine } from './podman.ts';
import { type AppLine, PodmanPod } from './podman-pod.ts';

/** What the app does after SIGTERM: a sidecar that left at its own SIGTERM would be missed. */
const APP_DRAIN_MS = 2500;
const GRACE_SECONDS = 35;

/** A line of the sidecar's log. */
interface LogLine {
	readonly time: string;
	readonly phase?: string;
}

/** What happened when, for the table of the documentation. */
const events: { readonly at: number; readonly event: string }[] = [];
let consul: RealConsul;

beforeAll(async () => {
	consul = await startBaristaConsul();
});

afterAll(async () => {
	await consul?.[Symbol.asyncDispose]();
	const reports = new URL('../../../../reports/', import.meta.url);
	await mkdir(reports, { recursive: true });
	await writeFile(new URL('pod.json', reports), JSON.stringify(events, null, 2));
});

async function play(
	name: string,
	change: Partial<Pick<PlayablePodOptions, 'appEnv' | 'sidecarEnv'>> = {},
): Promise<PodmanPod> {
	const { sidecar, app } = podEngine().images;
	const manifest = playablePod({
		name,
		sidecarImage: sidecar.name,
		appImage: app.name,
		sidecarEnv: {
			CONSUL_HTTP_ADDR: consul.url,
			HOST_IP: '127.0.0.1',
			SPOCK_ADVERTISE: '127.0.0.1',
			SPOCK_OWNER: name,
			...change.sidecarEnv,
		},
		appEnv: { APP_DRAIN_MS: String(APP_DRAIN_MS), ...change.appEnv },
	});
	const pod = await PodmanPod.play(name, manifest, POD_GROUP);
	await waitFor('lookups of the app', async () => ((await pod.appLine())?.lookups ?? 0) > 0, 60_000);
	return pod;
}

/** Waits until the app has looked up again, has been answered by the sidecar, and, after a crash, by another one. */
async function goesOn(pod: PodmanPod, since: AppLine, reconnects: number): Promise<AppLine> {
	const answers = (line: AppLine): number => line.questions - line.questionsFailed;
	return waitFor('more lookups and answers', async () => {
		const line = await pod.appLine();
		if (line === undefined || line.reconnects < reconnects) return false;
		return line.lookups > since.lookups && answers(line) > answers(since) && line;
	});
}

async function appLine(pod: PodmanPod): Promise<AppLine> {
	return waitFor('a line of the app', () => pod.appLine());
}

const failsWith = (call: string): string =>
	`try { ${call}; console.log('done') } catch (error) { console.log(error.code) }`;

it('both run as users of their own, with no right but to their socket', async () => {
	await using pod = await play('spock-pod-rights');
	for (const [container, user] of [
		['sidecar', 10001],
		['app', 10002],
	] as const) {
		const status = await kernelStatus((await pod.state(container)).pid);
		expect(status['Uid']?.split('\t')).toEqual(Array(4).fill(String(user)));
		expect(status['Groups']?.split(' ')).toContain(String(POD_GROUP));
		expect(status).toMatchObject({
			CapEff: '0000000000000000',
			CapBnd: '0000000000000000',
			NoNewPrivs: '1',
			Seccomp: '2',
		});
		expect(await pod.evaluate(container, failsWith("require('node:fs').writeFileSync('/opt/x', '')"))).toBe('EROFS');
	}
	// The socket: for the group alone, on a tmpfs, and nothing that the app could replace.
	const socket =
		"const { mode, uid, gid } = require('node:fs').statSync('/uds/sidecar.sock');console.log(mode & 0o7777, uid, gid)";
	expect(await pod.evaluate('app', socket)).toBe(`${0o660} 10001 ${POD_GROUP}`);
	const mounts = await pod.evaluate(
		'app',
		"process.stdout.write(require('node:fs').readFileSync('/proc/mounts', 'utf8'))",
	);
	expect(mounts).toMatch(/^tmpfs \/uds tmpfs ro,\S*size=16384k/m);
	for (const call of [
		"unlinkSync('/uds/sidecar.sock')",
		"writeFileSync('/uds/x', '')",
		"renameSync('/uds/sidecar.sock', '/uds/x')",
	]) {
		expect(await pod.evaluate('app', failsWith(`require('node:fs').${call}`))).toBe('EROFS');
	}
	expect(await pod.exec('sidecar', ['sidecar', 'health'])).toBe('ready');
	const registered = await pod.exec('sidecar', ['sidecar', 'list']);
	expect(registered).toContain('barista');
});

it('a sidecar that is killed twice is missed by no lookup, and its app leaves before it', async () => {
	await using pod = await play('spock-pod-life');
	const first = await pod.state('sidecar');
	const note = (event: string, at: number): number => events.push({ at: at - first.startedAt, event });
	const listening = (await pod.log<LogLine>('sidecar')).find(({ phase }) => phase === 'serving');
	note('the sidecar is started', first.startedAt);
	note('the sidecar serves', Date.parse(listening?.time ?? ''));

	let line = await appLine(pod);
	for (const [index, time] of ['first', 'second'].entries()) {
		line = await goesOn(pod, line, index);
		note(`SIGKILL for the sidecar, the ${time} time`, Date.now());
		await pod.crash('sidecar');
		note('it is started again', (await pod.state('sidecar')).startedAt);
		line = await goesOn(pod, line, index + 1);
		expect(line).toMatchObject({ failed: 0 });
	}

	const stoppedAt = Date.now();
	await pod.stop(GRACE_SECONDS);
	const [app, sidecar] = [await pod.state('app'), await pod.state('sidecar')];
	const end = await appLine(pod);
	note('SIGTERM for both', stoppedAt);
	note(`the app's last lookup, of ${end.lookups.toLocaleString('en-US')}; ${end.failed} failed`, end.lastLookupAt);
	note("the app's process has ended", app.finishedAt);
	note("the sidecar's process has ended", sidecar.finishedAt);
	expect(end).toMatchObject({ phase: 'ended', failed: 0, questionsFailed: line.questionsFailed });
	// It looks up until its drain is over, but for the last turn.
	expect(end.lastLookupAt - stoppedAt).toBeGreaterThanOrEqual(APP_DRAIN_MS - 1000);
	expect(app.exitCode).toBe(0);
	expect(sidecar.exitCode).toBe(0);
	// It leaves when the app has closed its connection, which is a moment before the app's process ends.
	const ending = (await pod.log<LogLine>('sidecar')).findLast(({ phase }) => phase === 'stopping');
	expect(Date.parse(ending?.time ?? '')).toBeGreaterThanOrEqual(end.lastLookupAt);
	expect(sidecar.finishedAt - stoppedAt).toBeLessThan(GRACE_SECONDS * 1000);
	const phases = (await pod.log<LogLine>('sidecar')).map(({ phase }) => phase).filter(Boolean);
	expect(phases.slice(-4)).toEqual(['grace', 'waiting for clients', 'stopping', 'stopped']);
});

it('an app that does not listen to SIGTERM is not waited for past the drain time-out, and still finds its services', async () => {
	await using pod = await play('spock-pod-deaf', {
		appEnv: { APP_ON_SIGTERM: 'ignore' },
		sidecarEnv: { SPOCK_DRAIN_TIMEOUT_MS: '1500' },
	});
	await pod.stop(5);
	const [app, sidecar] = [await pod.state('app'), await pod.state('sidecar')];
	// 128 + SIGKILL: its grace period was over.
	expect(app.exitCode).toBe(137);
	expect(sidecar.exitCode).toBe(0);
	expect(sidecar.finishedAt).toBeLessThan(app.finishedAt);
	expect(await appLine(pod)).toMatchObject({ failed: 0 });
});
