import { type CreateOptions, createDiplomat, type Diplomat } from '@spock/client';
import { localSource, type ServicesFileInstance } from '@spock/discovery';
import { waitFor } from '@spock/testkit';
import { onTestFinished } from 'vitest';

import type { GrpcModule } from '../src/resolver/grpc-module.ts';
import { registerSpockResolver, type SpockResolverRegistration } from '../src/resolver/register-spock-resolver.ts';
import { callEmployee, type Employee, startEmployee } from './employee.ts';
import { makeServicesFile, type ServicesFile } from './services-file.ts';

/** A registry that a test edits, and who asks it for the channels of a copy of grpc-js. */
export interface Place {
	readonly file: ServicesFile;
	readonly diplomat: Diplomat;
	readonly registration: SpockResolverRegistration;
}

/** In direct mode, unless there is an address. Everything ends with the test. */
export async function openPlace(grpc: GrpcModule, options: CreateOptions = {}): Promise<Place> {
	const file = await makeServicesFile();
	const source = await localSource({ file: file.path, pollMs: 20 });
	const diplomat = createDiplomat({ source, ...options });
	const registration = registerSpockResolver({ diplomat, grpc });
	onTestFinished(async () => {
		registration.unregister();
		await diplomat.close();
		await file[Symbol.asyncDispose]();
	});
	return { file, diplomat, registration };
}

/** Workers in this process, which end with the test. */
export async function hire(grpc: GrpcModule, ...names: string[]): Promise<Employee[]> {
	const employees = await Promise.all(names.map((name) => startEmployee(grpc, name)));
	onTestFinished(() => {
		for (const employee of employees) employee[Symbol.dispose]();
	});
	return employees;
}

/** A worker as a services file writes it. */
export const at = ({ name, port }: Employee): ServicesFileInstance => ({ id: name, host: '127.0.0.1', port });

/** Calls until the answers come from exactly these workers, or are errors with exactly these details. */
export async function settlesOn(client: Parameters<typeof callEmployee>[0], ...workers: string[]): Promise<void> {
	await waitFor(`answers from ${workers}`, async () => {
		const seen = new Set<string>();
		for (let turn = 0; turn < 3 * workers.length; turn++) {
			seen.add(await callEmployee(client).catch(({ details }) => details));
		}
		return seen.size === workers.length && workers.every((worker) => seen.has(worker));
	});
}
