import { createDiplomat, type Diplomat } from '@spock/client';
import { localSource } from '@spock/discovery';
import pg from 'pg';

import { spockPg } from '../src/index.ts';

/** What the tests ask for. */
export const SERVICE = 'orders-db';
/** Who they are. */
export const login: { readonly user: string; readonly database: string } = { user: 'postgres', database: 'postgres' };

/** Where an instance of the service is. */
export type Place = { readonly host: string; readonly port: number; readonly status?: 'passing' | 'critical' };

/** A Diplomat in direct mode, with these instances of the service: `db-0`, `db-1`, … */
export async function diplomatTo(...places: readonly Place[]): Promise<Diplomat> {
	const instances = places.map(({ host, port, status = 'passing' }, index) => ({
		id: `db-${index}`,
		host,
		port,
		status,
	}));
	return createDiplomat({ source: await localSource({ services: { [SERVICE]: instances } }) });
}

/** A connected client of the service. Rejects as its `connect` does. */
export async function connect(
	diplomat: Diplomat,
	config: pg.ClientConfig = {},
	servername?: string,
	Client: typeof pg.Client = pg.Client,
): Promise<pg.Client> {
	const options = { diplomat, service: SERVICE, ...(servername !== undefined && { servername }) };
	const client = new Client({ ...spockPg(options), ...login, ...config });
	client.on('error', () => undefined);
	await client.connect();
	return client;
}
