import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { startConsul } from '@spock/testkit/real-consul';

import { LoadClient, type ServerProcess, startAnnouncedServer, startServer } from './processes.ts';
import { ADDRESS, SERVICE } from './servers/catalogue.ts';
import type { Tool, Toolbox } from './toolbox.ts';

/** A peer with its server: how both are started. */
export interface Contender {
	readonly id: string;
	readonly label: string;
	/** What it runs with, when that is not what the run has. */
	readonly tools?: Toolbox;
	/** What must be on the machine for it. */
	readonly needs?: (tools: Toolbox) => Tool;
	readonly serve: (tools: Toolbox) => Promise<ServerProcess>;
	/** The command of its load generator, when that is not the one in Node. */
	readonly client?: (tools: Toolbox, server: ServerProcess) => readonly string[];
	/** The name of its client among the peers. */
	readonly peer?: string;
}

/** A contender that runs. */
export interface RunningContender {
	readonly id: string;
	readonly label: string;
	readonly server: ServerProcess;
	readonly client: LoadClient;
	close(): Promise<void>;
}

/** Everybody, in the order of the tables. */
export const CONTENDERS: readonly Contender[] = [
	{
		id: 'c-echo',
		label: 'C echo (the kernel’s limit)',
		needs: ({ native }) => native,
		serve: (tools) => {
			const path = socketPath(tools, 'c-echo');
			return startAnnouncedServer([pathOf(tools.native), 'server', path], path);
		},
		client: (tools, server) => [pathOf(tools.native), 'client', server.address, String(server.pid)],
	},
	{
		id: 'echo',
		label: 'node:net echo (Node’s limit)',
		peer: 'echo',
		serve: (tools) => serveNode(tools, 'echo', unix(tools, 'echo')),
	},
	{ id: 'spock', label: 'Spock and Diplomat', peer: 'spock', serve: (tools) => serveSpock(tools, 'spock') },
	{
		id: 'readline-node',
		label: 'plain readline client → plain Node server',
		peer: 'readline',
		serve: (tools) => serveNode(tools, 'readline', unix(tools, 'readline')),
	},
	{
		id: 'readline-go',
		label: 'plain readline client → plain Go server',
		peer: 'readline',
		needs: ({ go }) => go,
		serve: (tools) => startAnnouncedServer([pathOf(tools.go), 'readline', socketPath(tools, 'go')]),
	},
	{
		id: 'ioredis',
		label: 'ioredis → redis-server, unix socket',
		peer: 'ioredis',
		needs: ({ redis }) => redis,
		serve: serveRedis,
	},
	{
		id: 'undici-unix',
		label: 'undici → node:http, unix socket',
		peer: 'undici',
		serve: (tools) => serveNode(tools, 'http', unix(tools, 'http')),
	},
	{
		id: 'grpc-js-go-unix',
		label: 'grpc-js → grpc-go, unix socket',
		peer: 'grpc',
		needs: ({ go }) => go,
		serve: (tools) => serveGoGrpc(tools, 'unix'),
	},
	{
		id: 'grpc-js-go-tcp',
		label: 'grpc-js → grpc-go, TCP',
		peer: 'grpc',
		needs: ({ go }) => go,
		serve: (tools) => serveGoGrpc(tools, 'tcp'),
	},
	{
		id: 'grpc-js-unix',
		label: 'grpc-js → grpc-js, unix socket',
		peer: 'grpc',
		serve: (tools) => serveNode(tools, 'grpc', unix(tools, 'grpc')),
	},
	{
		id: 'grpc-js-tcp',
		label: 'grpc-js → grpc-js, TCP (the old way)',
		peer: 'grpc',
		serve: (tools) => serveNode(tools, 'grpc', 'tcp:127.0.0.1:0'),
	},
	{
		id: 'consul-http',
		label: 'Consul’s HTTP API (undici)',
		peer: 'consul-http',
		needs: ({ consul }) => consul,
		serve: serveConsul,
	},
	{
		id: 'consul-http-cached',
		label: 'Consul’s HTTP API, ?cached (undici)',
		peer: 'consul-http-cached',
		needs: ({ consul }) => consul,
		serve: serveConsul,
	},
];

/** Starts the server and the client of a contender. */
export async function startContender(contender: Contender, given: Toolbox): Promise<RunningContender> {
	const { tools = given } = contender;
	const server = await contender.serve(tools);
	const pacer = 'path' in tools.native ? tools.native.path : '-';
	const command = contender.client?.(tools, server) ?? [
		tools.node,
		tools.entry('load-client'),
		contender.peer ?? contender.id,
		server.address,
		String(server.pid),
		pacer,
	];
	try {
		const client = await LoadClient.start(command);
		const close = async (): Promise<void> => {
			await client.close();
			await server.close();
		};
		return { id: contender.id, label: contender.label, server, client, close };
	} catch (error) {
		await server.close();
		throw error;
	}
}

/** Starts the product's sidecar as its users do, with a services file that holds the one service, and with metrics. */
export function serveSpock(tools: Toolbox, name: string, settings: readonly string[] = []): Promise<ServerProcess> {
	const { host, port, instance } = ADDRESS;
	const file = join(tools.directory, `${name}.json`);
	writeFileSync(file, JSON.stringify({ services: { [SERVICE]: [{ id: instance, host, port }] } }));
	const path = socketPath(tools, name);
	const command = [tools.node, tools.sidecar, 'start', '--backend', 'local', '--services', file, '--socket', path];
	return Promise.resolve(startServer([...command, '--admin', '127.0.0.1:0', ...settings], path));
}

function pathOf(tool: Tool): string {
	if ('missing' in tool) throw new Error(tool.missing);
	return tool.path;
}

let servers = 0;

/** A socket of its own for each server: one that was killed leaves its file. */
function socketPath(tools: Toolbox, name: string): string {
	return join(tools.directory, `${name}-${++servers}.sock`);
}

function unix(tools: Toolbox, name: string): string {
	return `unix:${socketPath(tools, name)}`;
}

function serveNode(tools: Toolbox, server: string, address: string): Promise<ServerProcess> {
	return startAnnouncedServer([tools.node, tools.entry('serve'), server, address]);
}

async function serveGoGrpc(tools: Toolbox, transport: 'unix' | 'tcp'): Promise<ServerProcess> {
	const path = socketPath(tools, 'go-grpc');
	if (transport === 'tcp') return startAnnouncedServer([pathOf(tools.go), 'grpc', 'tcp:127.0.0.1:0']);
	return startAnnouncedServer([pathOf(tools.go), 'grpc', `unix:${path}`], `unix:${path}`);
}

async function serveRedis(tools: Toolbox): Promise<ServerProcess> {
	const path = socketPath(tools, 'redis');
	const options = ['--port', '0', '--unixsocket', path, '--save', '', '--appendonly', 'no', '--dir', tools.directory];
	const server = startServer([pathOf(tools.redis), ...options], path);
	const { Redis } = await import('ioredis');
	const redis = new Redis({ path, retryStrategy: () => 20, maxRetriesPerRequest: 500 });
	await redis.set(SERVICE, JSON.stringify(ADDRESS));
	redis.disconnect();
	return server;
}

async function serveConsul(tools: Toolbox): Promise<ServerProcess> {
	const consul = await startConsul({ binary: pathOf(tools.consul) });
	await consul.put('/v1/agent/service/register', {
		ID: ADDRESS.instance.replaceAll('/', '-'),
		Name: SERVICE,
		Address: ADDRESS.host,
		Port: ADDRESS.port,
	});
	return {
		pid: consul.pid,
		address: consul.url,
		close: async () => {
			await consul[Symbol.asyncDispose]();
		},
	};
}
