import { createDiplomat, type Diplomat, SpockError } from '@spock/client';
import { expect, it, vi } from 'vitest';

import { ScriptedSource } from '../test/instances.ts';
import { LeaseLedger } from '../test/leases.ts';
import { type ServiceOptions, spockInterceptor } from './index.ts';

const OPTIONS = { origin: 'https://barista.spock', path: '/menu', method: 'GET' };
const place = { instance: 'web-1', host: '10.0.0.1', port: 80, weight: 1, status: 'passing' as const };
const instance = { ...place, tags: [], meta: {}, zone: null, datacenter: null };

/** What the handler of a request is told; nothing may be thrown at whoever dispatches. */
function failureOf(diplomat: Diplomat, options: Partial<ServiceOptions> = {}): unknown {
	using interceptor = spockInterceptor({ diplomat, ...options });
	const onResponseError = vi.fn();
	const dispatch = interceptor((_options: typeof OPTIONS, _handler: object) => expect.unreachable());
	expect(dispatch(OPTIONS, { onResponseError })).toBe(false);
	expect(onResponseError).toHaveBeenCalledOnce();
	return onResponseError.mock.calls[0]?.[1];
}

it('a source that throws fails the request, not who dispatches it', async () => {
	const source = new ScriptedSource();
	const own = new SpockError('UNAVAILABLE', 'no more watches');
	source.watch = () => {
		throw own;
	};
	await using diplomat = createDiplomat({ source });
	expect(failureOf(diplomat)).toMatchObject({
		code: 'UNAVAILABLE',
		message: 'the service "barista": no more watches',
		cause: own,
		details: { service: 'barista' },
	});
});

it('a server name function that throws fails the request, not who dispatches it', async () => {
	await using diplomat = createDiplomat({ source: new ScriptedSource({ barista: [instance] }) });
	await diplomat.getService('barista');
	const ledger = new LeaseLedger(diplomat);
	const own = new Error('no name');
	const servername = (): never => {
		throw own;
	};
	expect(failureOf(diplomat, { servername })).toBe(own);
	expect([ledger.open, ledger.outcomes]).toEqual([0, ['cancelled']]);
});
