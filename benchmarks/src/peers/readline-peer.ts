import { once } from 'node:events';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';

import type { LoadTarget } from '../load/load.ts';
import { SERVICE } from '../servers/catalogue.ts';

interface Reply {
	readonly id: number;
	readonly data?: unknown;
	readonly error?: { readonly code: string };
}

/** The published client as one would write it from its description: a promise for each id, JSON both ways, readline. */
export async function connectReadline(path: string): Promise<LoadTarget> {
	const socket = createConnection({ path });
	await once(socket, 'connect');
	const waiting = new Map<number, { resolve: (data: unknown) => void; reject: (error: Error) => void }>();
	let nextId = 1;
	createInterface({ input: socket }).on('line', (line) => {
		const { id, data, error } = JSON.parse(line) as Reply;
		const caller = waiting.get(id);
		waiting.delete(id);
		if (error === undefined) caller?.resolve(data);
		else caller?.reject(new Error(error.code));
	});
	return {
		call: () =>
			new Promise((resolve, reject) => {
				const id = nextId++;
				waiting.set(id, { resolve, reject });
				socket.write(`${JSON.stringify({ id, func: 'getService', data: { service: SERVICE } })}\n`);
			}),
		close: () => {
			socket.destroy();
		},
	};
}
