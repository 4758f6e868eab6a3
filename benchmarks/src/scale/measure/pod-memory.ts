import { makeAuthority } from '@spock/testkit/certificates';

import { freePort } from '../../free-port.ts';
import type { LoadClient } from '../../processes.ts';
import type { ScaleAppsCommand, ScaleAppsSettings } from '../processes/scale-apps.ts';
import type { MemoryEach, PodMemoryFigure } from '../scale-results.ts';
import { type ScaleRun, startHelper } from '../scale-run.ts';
import { serviceNames } from './registered-services.ts';

const SIZE = { pods: 1000, before: 50 };
const SIZE_QUICK = { pods: 20, before: 5 };
const SERVICES = 10;
const INSTANCES_EACH = 10;
const CONNECT_MS_MAX = 300_000;

type Size = typeof SIZE;

/** How much a node Spock grows by each further pod, at a unix socket and with TLS: the first pods are connected before. */
export async function measurePodMemory(run: ScaleRun): Promise<PodMemoryFigure> {
	const size = run.quick ? SIZE_QUICK : SIZE;
	const { ca, issue } = makeAuthority();
	const port = await freePort();
	const path = run.place('pods.sock');
	const withTls = { path: run.place('tls.sock'), tls: { port, ...issue() }, instances: INSTANCES_EACH };
	const socket = await measureEach(run, size, { path, instances: INSTANCES_EACH }, path);
	const tls = await measureEach(run, size, withTls, { port, ca });
	return { services: SERVICES, instancesEach: INSTANCES_EACH, pods: size.pods, socket, tls };
}

async function measureEach(
	run: ScaleRun,
	{ pods, before }: Size,
	settings: unknown,
	place: ScaleAppsSettings['at'][number],
): Promise<MemoryEach> {
	const node = await startHelper(run, 'scale-node', settings, { flags: ['--expose-gc'] });
	let apps: LoadClient | undefined;
	try {
		apps = await startHelper(run, 'scale-apps', { at: [place], services: serviceNames('pod', SERVICES) });
		const connect = (count: number): ScaleAppsCommand => ({ kind: 'connect', count });
		await apps.ask(connect(before), CONNECT_MS_MAX);
		const first = (await node.ask({ kind: 'memory' })) as { rss: number; heap: number };
		await apps.ask(connect(pods), CONNECT_MS_MAX);
		const last = (await node.ask({ kind: 'memory' })) as { rss: number; heap: number };
		return { rssKb: (last.rss - first.rss) / 1024 / pods, heapKb: (last.heap - first.heap) / 1024 / pods };
	} finally {
		await apps?.close();
		await node.close();
	}
}
