import { describe, expect, it } from 'vitest';

import { callEmployee, type Employee, employeeClient } from '../../test/employee.ts';
import { grpcCopies } from '../../test/grpc-copies.ts';
import { at, hire, openPlace, settlesOn } from '../../test/place.ts';

describe.each(grpcCopies)('the resolver under grpc-js %s', (_version, grpc) => {
	it('shares the calls of one channel out evenly among all instances', async () => {
		const { file } = await openPlace(grpc);
		const employees = await hire(grpc, 'ann', 'bob', 'eve');
		await file.set({ employee: employees.map(at) });
		using client = employeeClient(grpc, 'spock:///employee');
		await settlesOn(client, 'ann', 'bob', 'eve');
		const before = employees.map(({ count }) => count);
		for (let turn = 0; turn < 30; turn++) await callEmployee(client);
		expect(employees.map(({ count }, index) => count - (before[index] as number))).toEqual([10, 10, 10]);
	});

	it('takes a new instance in, and one that left out, without a failed call', async () => {
		const { file } = await openPlace(grpc);
		const [ann, bob] = (await hire(grpc, 'ann', 'bob')) as [Employee, Employee];
		await file.set({ employee: [at(ann)] });
		using client = employeeClient(grpc, 'spock:///employee');
		await settlesOn(client, 'ann');
		const failures: unknown[] = [];
		let isOver = false;
		const load = (async () => {
			while (!isOver) await callEmployee(client).catch((error) => failures.push(error));
		})();
		await file.set({ employee: [at(ann), at(bob)] });
		await settlesOn(client, 'ann', 'bob');
		await file.set({ employee: [at(bob)] });
		await settlesOn(client, 'bob');
		isOver = true;
		await load;
		expect(failures).toEqual([]);
	});

	it('says why there is nobody, at once and by name, and goes on when there is somebody', async () => {
		const { file } = await openPlace(grpc);
		const [ann] = (await hire(grpc, 'ann')) as [Employee];
		using client = employeeClient(grpc, 'spock:///employee');
		for (let turn = 0; turn < 3; turn++) {
			await expect(callEmployee(client)).rejects.toMatchObject({
				code: grpc.status.UNAVAILABLE,
				details: 'NO_SUCH_SERVICE: no instance of "employee" is registered',
			});
		}
		await file.set({ employee: [at(ann)] });
		await settlesOn(client, 'ann');
		await file.set({ employee: [{ ...at(ann), status: 'critical' }] });
		await settlesOn(client, 'NO_HEALTHY_INSTANCE: no instance of "employee" is healthy: 1 critical');
		const error = await callEmployee(client).catch((thrown) => thrown);
		expect(error.metadata.get('spock-code')).toEqual(['NO_HEALTHY_INSTANCE']);
		await file.set({ employee: [at(ann)] });
		await settlesOn(client, 'ann');
	});
});
