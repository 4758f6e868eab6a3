import { statSync } from 'node:fs';

import type { BackendSourceOptions } from '@spock/discovery';

import { givenSettings, type Resolved } from '../settings/setting.ts';

/** The settings of the cache between backend and clients. Throws an Error if there is a file in the place of the state directory. */
export function sourceOptionsOf(
	settings: ReadonlyMap<string, Resolved>,
	backend: string,
): Omit<BackendSourceOptions, 'backend'> {
	const { stateDir, ...given } = givenSettings<BackendSourceOptions>(settings, [
		'idleTtlMs',
		'staleMaxMs',
		'emptyHoldMs',
		'panicThreshold',
		'entriesMax',
		'entriesPerClientMax',
		'keyEntriesMax',
		'keyEntriesPerClientMax',
		'stateDir',
	]);
	if (stateDir !== undefined && statSync(stateDir, { throwIfNoEntry: false })?.isDirectory() === false)
		throw new Error(`--state-dir ${stateDir} is no directory: name one, or a place where one can be made`);
	return { ...given, ...(stateDir !== undefined && { stateDir, stateScope: stateScope(settings, backend) }) };
}

/** Tells the registries apart that one directory must not mix up; by name and place, as an address may change. */
function stateScope(settings: ReadonlyMap<string, Resolved>, backend: string): string {
	if (backend === 'local') return backend;
	const datacenter = settings.get('consulDatacenter')?.value ?? '';
	const part = (name: string, variable: string): unknown => settings.get(name)?.value ?? process.env[variable] ?? '';
	const namespace = part('consulNamespace', 'CONSUL_NAMESPACE');
	const partition = part('consulPartition', 'CONSUL_PARTITION');
	return `${backend} datacenter=${String(datacenter)} namespace=${String(namespace)} partition=${String(partition)}`;
}
