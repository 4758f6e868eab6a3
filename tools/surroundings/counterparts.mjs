// What the calls reach: a server of each kind. Prints their ports as JSON.
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';

import { Server, ServerCredentials } from '@grpc/grpc-js';

const HOST = '127.0.0.1';
/** Nothing listens at the port of `gone`. */
const ports = { gone: 1 };

async function listen(name, server) {
	server.listen(0, HOST);
	await once(server, 'listening');
	ports[name] = server.address().port;
}

await listen(
	'web',
	createHttpServer((_request, response) => response.end('espresso')),
);

/** A Consul with one service, at an address that is not called. It holds a blocking query. */
await listen(
	'consul',
	createHttpServer(({ url }, response) => {
		if (/[?&]index=[1-9]/.test(url)) return;
		const entry = {
			Node: { Node: 'n1', Address: HOST },
			Service: {
				ID: 'web-1',
				Service: 'web',
				Address: HOST,
				Port: 8765,
				Tags: [],
				Weights: { Passing: 1, Warning: 1 },
			},
			Checks: [],
		};
		response.writeHead(200, {
			'content-type': 'application/json',
			'x-consul-index': '1',
			'x-consul-knownleader': 'true',
		});
		response.end(JSON.stringify(/health\/service\/web/.test(url) ? [entry] : []));
	}),
);

/** As PostgreSQL: it accepts everyone, and answers nothing to a query (AuthenticationOk, CommandComplete, ReadyForQuery). */
const READY = Buffer.from('5a0000000549', 'hex');
const ACCEPTED = Buffer.concat([Buffer.from('520000000800000000', 'hex'), READY]);
const DONE = Buffer.concat([Buffer.from('430000000b4c495354454e00', 'hex'), READY]);
await listen(
	'db',
	createServer((socket) => {
		socket.on('error', () => undefined);
		socket.on('data', (chunk) => {
			if (chunk[0] === 0) socket.write(ACCEPTED);
			else if (chunk.toString('latin1', 0, 1) === 'Q') socket.write(DONE);
			else socket.end();
		});
	}),
);

/** As Redis: each command has its line. */
await listen(
	'cache',
	createServer((socket) => {
		socket.on('error', () => undefined);
		socket.on('data', (chunk) => {
			for (const word of String(chunk).match(/^(get|client|info|ping|hello)\b/gim) ?? []) {
				socket.write(word.toLowerCase() === 'get' ? '$8\r\nespresso\r\n' : '+OK\r\n');
			}
		});
	}),
);

const rpc = new Server();
const same = (bytes) => bytes;
const order = { path: '/bar/order', requestStream: false, responseStream: false };
const serialisers = {
	requestSerialize: same,
	requestDeserialize: same,
	responseSerialize: same,
	responseDeserialize: same,
};
rpc.addService({ order: { ...order, ...serialisers } }, { order: ({ request }, done) => done(null, request) });
ports.rpc = await new Promise((resolve, reject) => {
	rpc.bindAsync(`${HOST}:0`, ServerCredentials.createInsecure(), (error, port) =>
		error ? reject(error) : resolve(port),
	);
});
process.stdout.write(`${JSON.stringify(ports)}\n`);
