import type { InstanceDefinition } from '@spock/discovery';
import { type RegistrationReply, type ReportServiceData, type ServiceRegistrar, SpockError } from '@spock/protocol';
import { expect, it } from 'vitest';

import { UpstreamRegistrar } from './upstream-registrar.ts';

const reply: RegistrationReply = {
	id: 'b1',
	service: 'barista',
	instance: 'node/b1',
	state: 'registered',
	error: null,
};
const TERMS = { ttlMs: 15_000, deregisterAfterMs: 60_000, owner: 'me' };
const definition: InstanceDefinition = {
	...{ service: 'barista', id: 'b1', host: '10.0.0.1', port: 8765, tags: [], meta: {} },
	...{ weights: { passing: 1, warning: 1 }, bind: 'connection' },
};
const [passing, warning] = [
	{ status: 'passing', note: '' },
	{ status: 'warning', note: '' },
] as const;

/** Another sidecar that answers reports as `answer` says. */
function open(answer: (report: ReportServiceData) => Promise<RegistrationReply>) {
	const reported: string[] = [];
	const other: ServiceRegistrar = {
		register: async () => reply,
		deregister: async () => null,
		report: (report) => {
			reported.push(report.status);
			return answer(report);
		},
	};
	return { reported, registrar: new UpstreamRegistrar(other, () => undefined) };
}

it('a status that is known to be there is not sent again', async () => {
	const { registrar, reported } = open(async () => reply);
	await registrar.register(definition, passing, TERMS);
	await registrar.report('b1', passing);
	await registrar.report('b1', warning);
	await registrar.report('b1', warning);
	expect(reported).toEqual(['warning']);
});

it('after a report that failed the next one is sent, also where it says what was there before', async () => {
	const { registrar, reported } = open(async ({ status }) => {
		// The client keeps it, and sends it with the registration on the next connection.
		if (status === 'warning') throw new SpockError('OVERLOADED', 'too many requests in flight');
		return reply;
	});
	await registrar.register(definition, passing, TERMS);
	await expect(registrar.report('b1', warning)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	await registrar.report('b1', passing);
	expect(reported).toEqual(['warning', 'passing']);
});

it('remembers nothing of what the other sidecar has refused', async () => {
	const sent: unknown[] = [];
	let refusal: SpockError | undefined = new SpockError('UNAVAILABLE', 'its answer was lost');
	const other: ServiceRegistrar = {
		register: async () => {
			if (refusal !== undefined) throw refusal;
			return reply;
		},
		deregister: async (which) => {
			sent.push(which);
			return null;
		},
		report: async () => reply,
	};
	const registrar = new UpstreamRegistrar(other, () => undefined);
	const ofApp = { ...definition, app: 'shop' };
	await expect(registrar.register(ofApp, passing, TERMS)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
	await registrar.deregister('b1');
	refusal = new SpockError('ACL_DENIED', 'another app has it');
	await expect(registrar.register(ofApp, passing, TERMS)).rejects.toBe(refusal);
	await registrar.deregister('b1');
	expect(sent).toEqual([{ id: 'b1', app: 'shop' }, { id: 'b1' }]);
});

it('is registered again when it has another name at the other sidecar, and returns that', async () => {
	let changed: (reply: RegistrationReply) => void = () => undefined;
	let now = reply;
	const registrar = new UpstreamRegistrar(
		{
			register: async (_data, listener) => {
				changed = listener;
				return now;
			},
			deregister: async () => null,
			report: async () => now,
		},
		() => undefined,
	);
	expect(await registrar.register(definition, passing, TERMS)).toBe('node/b1');
	now = { ...reply, instance: 'another/b1' };
	changed(now);
	await expect(registrar.report('b1', passing)).rejects.toMatchObject({ code: 'NO_SUCH_SERVICE' });
	expect(await registrar.register(definition, passing, TERMS)).toBe('another/b1');
	await registrar.report('b1', passing);
});
