// An app in TypeScript, compiled in each of the ways that TypeScript finds packages.
import { connect, createDiplomat, type Diplomat, SpockError } from '@spock/client';
import { outcomeOf, retry } from '@spock/client/integrations';
import { instrumentDiplomat } from '@spock/client/otel';
import { consulSource } from '@spock/discovery';
import { backendContract } from '@spock/discovery/contract';
import { spock } from '@spock/fastify';
import { registerSpockResolver } from '@spock/grpc';
import { DiscoveryAgent } from '@spock/http';
import { spockRedis } from '@spock/ioredis';
import { SpockModule } from '@spock/nestjs';
import { spockPg } from '@spock/pg';
import { PROTOCOL_VERSIONS } from '@spock/protocol';
import { createFetch } from '@spock/undici';
import fastify from 'fastify';

export async function menu(diplomat: Diplomat): Promise<string> {
	const fetch = createFetch({ diplomat });
	const limits = diplomat.config('app/limits', { parse: JSON.parse, default: { max: 1 } });
	await limits.ready();
	const response = await retry(() => fetch('http://barista.spock/menu'));
	return response.text();
}

export const app = fastify();
app.register(spock, { diplomat: createDiplomat(), register: 'waiter', readyPath: '/readyz' });
app.get('/barista', async () => (await app.diplomat.getService('barista')).host);

export const direct: Diplomat = createDiplomat({ source: consulSource() });
export const used: unknown = [
	backendContract,
	connect,
	new DiscoveryAgent({ diplomat: direct }),
	instrumentDiplomat,
	outcomeOf,
	PROTOCOL_VERSIONS,
	registerSpockResolver,
	SpockError,
	SpockModule.forRoot({ name: 'orders', register: 'waiter' }),
	spockPg({ diplomat: direct, service: 'orders-db' }),
	spockRedis({ diplomat: direct, service: 'cache' }),
];
