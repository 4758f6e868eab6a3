import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { serveSpock } from '../contenders.ts';
import { freePort } from '../free-port.ts';
import type { LoadReport } from '../load/load.ts';
import { median } from '../load/samples.ts';
import { LoadClient, type ServerProcess, startAnnouncedServer } from '../processes.ts';
import { allowedCores, pin, placements } from '../processor-cores.ts';
import type { ConnectPerCallFigure } from '../results.ts';
import type { Run } from '../run.ts';

interface Candidate {
	readonly contender: string;
	readonly label: string;
	readonly transport: 'unix' | 'tcp';
	readonly server: ServerProcess;
	readonly client: LoadClient;
	readonly reports: LoadReport[];
}

/** What it costs to dial for each call: the raw echo and the product, over a unix domain socket and over TCP. */
export async function measureConnectPerCall(run: Run): Promise<ConnectPerCallFigure[]> {
	const candidates: Candidate[] = [];
	try {
		for (const transport of ['unix', 'tcp'] as const) {
			candidates.push(await startEcho(run, transport), await startSpock(run, transport));
		}
		for (let round = 0; round < (run.quick ? 2 : 5); round++) {
			for (const { client, reports } of candidates) {
				const window = { durationMs: 400, warmupMs: 100 };
				reports.push(await client.run({ kind: 'closed', inFlight: 1, sampleEvery: 1, ...window }));
			}
		}
	} finally {
		for (const { client, server } of candidates) {
			await client.close();
			await server.close();
		}
	}
	run.say('connection for each call');
	return candidates.map(({ contender, label, transport, reports }) => ({
		contender,
		label,
		transport,
		p50Us: median(reports.map(({ p50Us }) => p50Us)),
		p99Us: median(reports.map(({ p99Us }) => p99Us)),
		cpuUs: median(reports.map(({ clientCpuUs, serverCpuUs, calls }) => (clientCpuUs + serverCpuUs) / calls)),
	}));
}

async function startEcho(run: Run, transport: 'unix' | 'tcp'): Promise<Candidate> {
	const { tools } = run;
	const address = transport === 'unix' ? `unix:${tools.directory}/echo-per-call.sock` : 'tcp:127.0.0.1:0';
	const server = await startAnnouncedServer([tools.node, tools.entry('serve'), 'echo', address]);
	return start(run, 'echo', 'node:net echo', transport, 'echo-per-call', server);
}

async function startSpock(run: Run, transport: 'unix' | 'tcp'): Promise<Candidate> {
	const name = `per-call-${transport}`;
	if (transport === 'unix') {
		return start(run, 'spock', 'Spock and Diplomat', transport, 'spock-per-call', await serveSpock(run.tools, name));
	}
	const port = await freePort();
	const address = `127.0.0.1:${port}`;
	const server = await serveSpock(run.tools, name, ['--listen', address]);
	await untilListening(port);
	return start(run, 'spock', 'Spock and Diplomat', transport, 'spock-per-call', { ...server, address });
}

async function start(
	{ tools }: Run,
	contender: string,
	label: string,
	transport: 'unix' | 'tcp',
	peer: string,
	server: ServerProcess,
): Promise<Candidate> {
	const command = [tools.node, tools.entry('load-client'), peer, server.address, String(server.pid)];
	const client = await LoadClient.start(command);
	const { two } = placements(allowedCores());
	pin(server.pid, two.server);
	pin(client.pid, two.client);
	return { contender, label, transport, server, client, reports: [] };
}

/** A client waits for the socket of a sidecar, and for a port; this waits first so that the dialling is not in its way. */
async function untilListening(port: number): Promise<void> {
	for (let attempt = 0; attempt < 500; attempt++) {
		const socket = connect(port, '127.0.0.1');
		const isOpen = await new Promise<boolean>((resolve) => {
			socket.once('connect', () => resolve(true));
			socket.once('error', () => resolve(false));
		});
		socket.destroy();
		if (isOpen) return;
		await delay(20);
	}
	throw new Error(`nobody listens at port ${port}`);
}
