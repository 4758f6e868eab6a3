// An app with each integration: one is loaded after `connect()`, made and used for one call. Run as it is, from tests, and as bundles.
//   SPOCK_SOCKET=PATH SPOCK_CONSUL=URL SPOCK_REPORT=FILE node main.mjs
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';

import { connect, createDiplomat, SpockError } from '@spock/client';

const LIMIT_MS = 20_000;

/** One call of each; throws, or returns something else than `espresso`, where it does not work. */
const CALLS = {
	async client(diplomat) {
		const { host } = await diplomat.getService('web');
		const error = await diplomat.getService('nowhere').catch((thrown) => thrown);
		return host === '127.0.0.1' && SpockError.is(error, 'NO_SUCH_SERVICE') && error instanceof Error && 'espresso';
	},
	async undici(diplomat) {
		const { createFetch } = await import('@spock/undici');
		const fetch = createFetch({ diplomat });
		const response = await fetch('http://web.spock/');
		const drink = await response.text();
		// Errors of Node are not those of the context of a test.
		const { cause } = await fetch('http://gone.spock/').catch((error) => error);
		await fetch.close();
		return cause?.service === 'gone' ? drink : `an error without the service: ${cause?.message}`;
	},
	async http(diplomat) {
		const { createAgent } = await import('@spock/http');
		const agent = createAgent({ diplomat });
		const [response] = await once(get('http://web.spock/', { agent: agent.httpAgent }), 'response');
		const drink = await text(response);
		agent.destroy();
		return drink;
	},
	async discovery() {
		const { consulSource } = await import('@spock/discovery');
		const direct = createDiplomat({ source: consulSource({ addresses: [process.env.SPOCK_CONSUL] }) });
		const { port } = await direct.getService('web');
		await direct.close();
		return port === 8765 && 'espresso';
	},
	async grpc(diplomat) {
		const { registerSpockResolver } = await import('@spock/grpc');
		const { Client, credentials } = await import('@grpc/grpc-js');
		// As on the page for an environment with proxies.
		const options = { 'grpc.enable_http_proxy': 0 };
		const registration = registerSpockResolver({ diplomat });
		const client = new Client('spock:///rpc', credentials.createInsecure(), options);
		const same = (bytes) => bytes;
		const drink = await new Promise((resolve, reject) => {
			const done = (error, reply) => (error ? reject(error) : resolve(String(reply)));
			client.makeUnaryRequest('/bar/order', same, same, Buffer.from('espresso'), done);
		});
		client.close();
		registration.unregister();
		return drink;
	},
	async pg(diplomat) {
		const { spockPg, followPool } = await import('@spock/pg');
		const { default: pg } = await import('pg');
		const pool = followPool(new pg.Pool({ ...spockPg({ diplomat, service: 'db' }), user: 'barista', database: 'bar' }));
		const { command } = await pool.query('LISTEN drinks');
		await pool.end();
		return command === 'LISTEN' && 'espresso';
	},
	async ioredis(diplomat) {
		const { spockRedis } = await import('@spock/ioredis');
		const { Redis } = await import('ioredis');
		const redis = new Redis({ ...spockRedis({ diplomat, service: 'cache' }), enableReadyCheck: false });
		const drink = await redis.get('drink');
		redis.disconnect();
		return drink;
	},
	async fastify(diplomat) {
		const { spock } = await import('@spock/fastify');
		const { default: fastify } = await import('fastify');
		const app = fastify();
		app.register(spock, { diplomat });
		app.get('/', async () => (await app.diplomat.getService('web')).host && 'espresso');
		const { body } = await app.inject('/');
		await app.close();
		return body;
	},
	async nestjs(diplomat) {
		await import('reflect-metadata');
		const { SpockModule, diplomatToken } = await import('@spock/nestjs');
		const { NestFactory } = await import('@nestjs/core');
		const { Module } = await import('@nestjs/common');
		class AppModule {}
		Module({ imports: [SpockModule.forRoot({ diplomat })] })(AppModule);
		const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
		const { host } = await app.get(diplomatToken()).getService('web');
		await app.close();
		return host && 'espresso';
	},
};

/** Writes what comes of the calls with these names to the file SPOCK_REPORT, as JSON: `works`, or what they fail with. */
export async function run(names = process.env.SPOCK_CALLS?.split(',') ?? Object.keys(CALLS)) {
	const report = {};
	const diplomat = await connect();
	for (const name of names) {
		let timer;
		const late = new Promise((_, reject) => {
			timer = setTimeout(() => reject(new Error('it hangs')), LIMIT_MS);
		});
		report[name] = await Promise.race([CALLS[name](diplomat), late]).then(
			(drink) => (drink === 'espresso' ? 'works' : `returns ${drink}`),
			(error) => `fails: ${error?.stack} ${error?.cause ?? ''}`,
		);
		clearTimeout(timer);
	}
	await diplomat.drain();
	writeFileSync(process.env.SPOCK_REPORT, JSON.stringify(report));
}
