import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { callEmployee, type Employee, employeeClass, employeeClient } from '../../test/employee.ts';
import { grpcCopies } from '../../test/grpc-copies.ts';
import { at, hire, openPlace, settlesOn } from '../../test/place.ts';
import { GrpcPool } from './grpc-pool.ts';

const IN_FLIGHT = 20;

/** Calls without pause until it is ended; gives the errors. */
function startLoad(call: () => Promise<unknown>): { end(): Promise<unknown[]> } {
	const errors: unknown[] = [];
	let isOver = false;
	const loop = async (): Promise<void> => {
		while (!isOver) await call().catch((error) => errors.push(error.details ?? error.message));
	};
	const loops = Promise.all(Array.from({ length: IN_FLIGHT }, loop));
	return {
		end: async () => {
			isOver = true;
			await loops;
			return errors;
		},
	};
}

/** Ends a server as a process does that is told to stop: calls under way end, new ones are refused. */
const shutDown = ({ server }: Employee): Promise<void> => new Promise((resolve) => server.tryShutdown(() => resolve()));

describe.each(grpcCopies)('every instance is replaced in turn, under grpc-js %s', (_version, grpc) => {
	it.each(['after', 'before'])(
		'no call fails through the resolver when it shuts down %s it left the registry',
		async (when) => {
			const { file } = await openPlace(grpc);
			let employees = await hire(grpc, 'a1', 'b1', 'c1');
			await file.set({ employee: employees.map(at) });
			using client = employeeClient(grpc, 'spock:///employee');
			await settlesOn(client, 'a1', 'b1', 'c1');
			const load = startLoad(() => callEmployee(client));
			for (const name of ['a2', 'b2', 'c2']) {
				const [old, ...others] = employees as [Employee, ...Employee[]];
				employees = [...others, ...(await hire(grpc, name))];
				if (when === 'before') await shutDown(old);
				await file.set({ employee: employees.map(at) });
				await waitFor(`${name} to work`, () => (employees.at(-1)?.count ?? 0) > 0);
				if (when === 'after') await shutDown(old);
			}
			expect(await load.end()).toEqual([]);
		},
	);

	it('no idempotent call fails through the pool', async () => {
		const { file, diplomat } = await openPlace(grpc);
		let employees = await hire(grpc, 'a1', 'b1', 'c1');
		await file.set({ employee: employees.map(at) });
		const credentials = grpc.credentials.createInsecure();
		await using pool = new GrpcPool({ diplomat, service: 'employee', Client: employeeClass(grpc), credentials });
		const call = (): Promise<string> => pool.call((client) => callEmployee(client), { idempotent: true });
		await waitFor('the services', () => call().catch(() => undefined));
		const load = startLoad(call);
		for (const name of ['a2', 'b2', 'c2']) {
			const [old, ...others] = employees as [Employee, ...Employee[]];
			employees = [...others, ...(await hire(grpc, name))];
			await shutDown(old);
			await file.set({ employee: employees.map(at) });
			await waitFor(`${name} to work`, () => (employees.at(-1)?.count ?? 0) > 0);
		}
		expect(await load.end()).toEqual([]);
	});
});
