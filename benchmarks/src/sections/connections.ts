import { serveSpock } from '../contenders.ts';
import type { LoadReport } from '../load/load.ts';
import { residentMb } from '../load/processor-time.ts';
import { median } from '../load/samples.ts';
import { LoadClient, type ServerProcess } from '../processes.ts';
import { allowedCores, pin, placements } from '../processor-cores.ts';
import type { ConnectionsFigure } from '../results.ts';
import type { Run } from '../run.ts';

/** Calls a second of all connections together. */
const RATE = 5000;

interface Crowd {
	readonly connections: number;
	readonly server: ServerProcess;
	readonly client: LoadClient;
	/** Resident memory once everybody is connected and has been answered once, in MB. */
	readonly serverMb: number;
	readonly clientMb: number;
	readonly reports: LoadReport[];
}

/** One sidecar for each number of connections, the same total rate for all, in turns. */
export async function measureConnections(run: Run): Promise<ConnectionsFigure[]> {
	const { tools, quick } = run;
	if ('missing' in tools.native) {
		run.leaveOut('many connections', tools.native.missing);
		return [];
	}
	const crowds: Crowd[] = [];
	try {
		for (const connections of quick ? [1, 100] : [1, 10, 100, 1000]) crowds.push(await gather(run, connections));
		for (let round = 0; round < (quick ? 2 : 7); round++) {
			for (const { client, reports } of crowds) {
				const window = { durationMs: quick ? 400 : 1000, warmupMs: 200 };
				reports.push(await client.run({ kind: 'open', rate: RATE, sampleEvery: 1, ...window }));
			}
		}
	} finally {
		for (const { client, server } of crowds) {
			await client.close();
			await server.close();
		}
	}
	const [alone] = crowds;
	run.say(`connections: ${crowds.map(({ connections }) => connections).join(', ')}`);
	return crowds.map(({ connections, serverMb, clientMb, reports }) => ({
		connections,
		callsPerSecond: median(reports.map(({ calls, elapsedMs }) => (calls / elapsedMs) * 1000)),
		p50Us: median(reports.map(({ p50Us }) => p50Us)),
		p99Us: median(reports.map(({ p99Us }) => p99Us)),
		cpuUs: median(reports.map(({ clientCpuUs, serverCpuUs, calls }) => (clientCpuUs + serverCpuUs) / calls)),
		sidecarKbEach: each(serverMb, alone?.serverMb, connections),
		clientKbEach: each(clientMb, alone?.clientMb, connections),
	}));
}

async function gather({ tools }: Run, connections: number): Promise<Crowd> {
	const server = await serveSpock(tools, `crowd-${connections}`);
	const pacer = 'path' in tools.native ? tools.native.path : '-';
	const address = `${connections}@${server.address}`;
	const command = [tools.node, tools.entry('load-client'), 'spock-many', address, String(server.pid), pacer];
	const client = await LoadClient.start(command);
	const cores = placements(allowedCores()).two;
	pin(server.pid, cores.server);
	pin(client.pid, cores.client);
	const [serverMb, clientMb] = [residentMb(server.pid), residentMb(client.pid)];
	return { connections, server, client, serverMb, clientMb, reports: [] };
}

function each(mb: number, aloneMb: number | undefined, connections: number): number | null {
	if (aloneMb === undefined || connections === 1) return null;
	return Math.max(0, ((mb - aloneMb) * 1024) / (connections - 1));
}
