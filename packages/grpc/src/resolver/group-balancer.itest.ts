import { waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { callEmployee, type Employee, employeeClient, startEmployee } from '../../test/employee.ts';
import { grpcCopies } from '../../test/grpc-copies.ts';
import { at, hire, openPlace, settlesOn } from '../../test/place.ts';

/** How many calls each worker has had of so many more. */
async function countsOf(
	client: Parameters<typeof callEmployee>[0],
	employees: readonly Employee[],
	calls: number,
): Promise<number[]> {
	const before = employees.map(({ count }) => count);
	for (let turn = 0; turn < calls; turn++) await callEmployee(client);
	return employees.map(({ count }, index) => count - (before[index] as number));
}

const inZone = (zone: string, employee: Employee) => ({ ...at(employee), zone });

describe.each(grpcCopies)('zones and subsets under grpc-js %s', (_version, grpc) => {
	it('calls stay in the local zone as long as it is large enough, and spill over by what it lacks', async () => {
		const { file } = await openPlace(grpc, { zone: 'a', zonePolicy: 'prefer' });
		const employees = await hire(grpc, 'ann', 'bob', 'eve', 'joe');
		const [ann, bob, eve, joe] = employees as [Employee, Employee, Employee, Employee];
		await file.set({ employee: [inZone('a', ann), inZone('a', bob), inZone('b', eve), inZone('b', joe)] });
		using client = employeeClient(grpc, 'spock:///employee');
		await settlesOn(client, 'ann', 'bob');
		expect(await countsOf(client, employees, 40)).toEqual([20, 20, 0, 0]);
		await file.set({ employee: [inZone('a', ann), inZone('b', bob), inZone('b', eve), inZone('b', joe)] });
		await settlesOn(client, 'ann', 'bob', 'eve', 'joe');
		const [local = 0, ...others] = await countsOf(client, employees, 120);
		expect(Math.abs(local - 60)).toBeLessThanOrEqual(2);
		for (const other of others) expect(Math.abs(other - 20)).toBeLessThanOrEqual(2);
	});

	it('the other zones stand in while the local one cannot be reached, whatever the registry says', async () => {
		const { file } = await openPlace(grpc, { zone: 'a', zonePolicy: 'prefer' });
		const [ann, bob] = (await hire(grpc, 'ann', 'bob')) as [Employee, Employee];
		await file.set({ employee: [inZone('a', ann), inZone('b', bob)] });
		using client = employeeClient(grpc, 'spock:///employee');
		await settlesOn(client, 'ann');
		ann[Symbol.dispose]();
		await settlesOn(client, 'bob');
		expect(await countsOf(client, [bob], 10)).toEqual([10]);
		using back = await startEmployee(grpc, 'ann', { port: ann.port });
		await settlesOn(client, 'ann');
		expect(await countsOf(client, [back, bob], 10)).toEqual([10, 0]);
	});

	it('a channel connects to the instances of its subset alone, and to others while those are out', async () => {
		const { file } = await openPlace(grpc, { subset: { employee: 2 }, subsetKey: 'pod-1' });
		const employees = await hire(grpc, 'ann', 'bob', 'eve', 'joe');
		await file.set({ employee: employees.map(at) });
		using client = employeeClient(grpc, 'spock:///employee');
		await waitFor('two workers', async () => {
			const seen = new Set<string>();
			for (let turn = 0; turn < 8; turn++) seen.add(await callEmployee(client).catch(() => 'nobody'));
			return seen.size === 2 && !seen.has('nobody');
		});
		const counts = await countsOf(client, employees, 60);
		expect(counts.filter((count) => count > 0)).toEqual([30, 30]);
		const working = employees.filter((_, index) => (counts[index] as number) > 0);
		await file.set({ employee: employees.filter((one) => !working.includes(one)).map(at) });
		await settlesOn(client, ...employees.filter((one) => !working.includes(one)).map(({ name }) => name));
	});
});
