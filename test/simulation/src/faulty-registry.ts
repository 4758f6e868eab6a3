import type { Registrar } from '@spock/discovery';
import { type ErrorCode, SpockError } from '@spock/protocol';

import type { ItemVersion, RegistryItem } from './registry-item.ts';

/** A word that comes within this time after another one is not believed, in milliseconds. */
const OLDER_MS = 20_000;

type RegistrarFault = (registrar: Registrar, now: () => number) => Registrar;

/** It answers with what it knew first. */
export function keepsFirst<V>(item: RegistryItem<V>): ItemVersion<V> {
	return item.versions[0] ?? item.current;
}

const answers = new WeakMap<object, number>();

/** Every second answer is the state before the current one. */
export function goesBack<V>(item: RegistryItem<V>): ItemVersion<V> {
	const before = answers.get(item) ?? 0;
	answers.set(item, before + 1);
	return item.versions.at(before % 2 === 0 ? -1 : -2) ?? item.current;
}

/** Every error has this code. */
export function failsWith(code: ErrorCode): (error: SpockError) => SpockError {
	return ({ message }) => new SpockError(code, message);
}

/** A registration is acknowledged, and not written. */
export const losesRegistrations: RegistrarFault = (registrar) => ({
	...registrar,
	register: ({ id }) => Promise.resolve(`node/${id}`),
});

/** A deregistration is acknowledged, and not done. */
export const losesDeregistrations: RegistrarFault = (registrar) => ({
	...registrar,
	deregister: () => Promise.resolve(),
});

/** That an instance is critical is acknowledged, and not written. */
export const losesCritical: RegistrarFault = (registrar) => ({
	...registrar,
	report: (id, health) => (health.status === 'critical' ? Promise.resolve() : registrar.report(id, health)),
});

/** A word that soon follows another one is acknowledged, and not written. */
export const losesLastWord: RegistrarFault = (registrar, now) => {
	const heardAtMs = new Map<string, number>();
	return {
		...registrar,
		report: (id, health) => {
			const isSoon = now() - (heardAtMs.get(id) ?? Number.NEGATIVE_INFINITY) < OLDER_MS;
			heardAtMs.set(id, now());
			return isSoon ? Promise.resolve() : registrar.report(id, health);
		},
	};
};
