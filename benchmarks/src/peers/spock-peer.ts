import { connect, type Diplomat } from '@spock/client';

import type { LoadTarget } from '../load/load.ts';
import { SERVICE } from '../servers/catalogue.ts';

/** Largest number of calls in flight that any round asks for, and room for their requests. */
const IN_FLIGHT_MAX = 131_072;
const PENDING_OUTPUT_BYTES_MAX: number = 64 * 1024 * 1024;

/** The product as users run it, asked over the wire every time. */
export async function connectSpock(path: string): Promise<LoadTarget> {
	const diplomat = await connect({ path, lookups: 'remote' });
	return { call: () => diplomat.getService(SERVICE), close: () => diplomat.close() };
}

/** The same with its limits raised for a hundred thousand calls in flight. */
export async function connectSpockWide(path: string): Promise<LoadTarget> {
	const limits = { inFlightMax: IN_FLIGHT_MAX, pendingOutputBytesMax: PENDING_OUTPUT_BYTES_MAX };
	const diplomat = await connect({ path, lookups: 'remote', timeoutMs: 60_000, ...limits });
	return { call: () => diplomat.getService(SERVICE), close: () => diplomat.close() };
}

/** Many connections that take turns. The address is `COUNT@PATH`. */
export async function connectSpockMany(address: string): Promise<LoadTarget> {
	const [count = '1', path = ''] = address.split('@');
	const diplomats: Diplomat[] = [];
	for (let index = 0; index < Number(count); index++) {
		const diplomat = await connect({ path, lookups: 'remote' });
		await diplomat.getService(SERVICE);
		diplomats.push(diplomat);
	}
	let turn = 0;
	return {
		call: () => {
			turn = turn + 1 < diplomats.length ? turn + 1 : 0;
			return (diplomats[turn] as Diplomat).getService(SERVICE);
		},
		close: async () => {
			await Promise.all(diplomats.map((diplomat) => diplomat.close()));
		},
	};
}

/** A connection for each call: dialled, greeted, asked and closed. The address is a path, or HOST:PORT. */
export function connectSpockPerCall(address: string): LoadTarget {
	const [host = '', port] = address.split(':');
	const where = port === undefined ? { path: address } : { host, port: Number(port) };
	return {
		call: async () => {
			const diplomat = await connect({ ...where, lookups: 'remote' });
			const reply = await diplomat.getService(SERVICE);
			await diplomat.close();
			return reply;
		},
		close: () => undefined,
	};
}
