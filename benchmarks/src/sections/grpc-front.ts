import { join } from 'node:path';

import { CONTENDERS, type Contender, serveSpock } from '../contenders.ts';
import { freePort } from '../free-port.ts';
import type { ServerProcess } from '../processes.ts';
import type { CallFigure } from '../results.ts';
import type { Run } from '../run.ts';
import type { Tool, Toolbox } from '../toolbox.ts';
import { measureCalls } from './calls.ts';

type Transport = 'unix' | 'tcp';

/** What the front is measured beside: our own wire, and gRPC servers that only echo. */
const BESIDE: readonly string[] = ['spock', 'grpc-js-unix', 'grpc-js-go-unix'];

const FRONTS: readonly Contender[] = (['unix', 'tcp'] as const).flatMap((transport) => [
	{
		id: `front-js-${transport}`,
		label: `grpc-js → the sidecar's gRPC front, ${nameOf(transport)}`,
		peer: 'grpc-front',
		serve: (tools) => serveFront(tools, transport),
	},
	{
		id: `front-go-${transport}`,
		label: `grpc-go → the sidecar's gRPC front, ${nameOf(transport)}`,
		needs: ({ go }) => go,
		serve: (tools) => serveFront(tools, transport),
		client: (tools, server) => [pathOf(tools.go), 'load', server.address, String(server.pid)],
	} satisfies Contender,
]);

/** `Get` of the gRPC front from two languages, beside the sidecar's own protocol and plain gRPC servers. */
export async function measureGrpcFront(run: Run): Promise<CallFigure[]> {
	const beside = CONTENDERS.filter(({ id }) => BESIDE.includes(id));
	const window = run.quick
		? { rounds: 3, durationMs: 250, warmupMs: 80 }
		: { rounds: 5, durationMs: 800, warmupMs: 200 };
	// With a thousand calls in flight gRPC answers none of them within a round.
	const shapes = ['two-cores', '64-in-flight'] as const;
	return measureCalls(run, { contenders: [...beside, ...FRONTS], shapes, busy: [false], ...window });
}

async function serveFront(tools: Toolbox, transport: Transport): Promise<ServerProcess> {
	const name = `front-${transport}-${++fronts}`;
	const address =
		transport === 'unix' ? `unix:${join(tools.directory, `${name}.grpc`)}` : `127.0.0.1:${await freePort()}`;
	return { ...(await serveSpock(tools, name, ['--grpc', address])), address };
}

let fronts = 0;

function nameOf(transport: Transport): string {
	return transport === 'unix' ? 'unix socket' : 'TCP';
}

function pathOf(tool: Tool): string {
	if ('missing' in tool) throw new Error(tool.missing);
	return tool.path;
}
