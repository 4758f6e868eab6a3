import { subscribe, unsubscribe } from 'node:diagnostics_channel';

import type { SpockError } from '@spock/protocol';
import { fakeKey, settle, wireError } from '@spock/testkit';
import { describe, expect, expectTypeOf, it } from 'vitest';

import { simulate } from '../../test/simulated-client.ts';
import type { ConfigErrorMessage } from '../foundation/diagnostics.ts';
import type { Config } from './config.ts';

interface Limits {
	readonly max: number;
}

function parseLimits(text: string): Limits {
	const value = JSON.parse(text) as Limits;
	if (typeof value.max !== 'number') throw new Error('max is not a number');
	return value;
}

describe('a configuration', () => {
	it('follows its key: parsed once for each text, told of each change', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publishKey(fakeKey('app/limits', 1, '{"max":5}'));
		let parses = 0;
		const told: Limits[] = [];
		const config = diplomat.config('app/limits', {
			parse: (text, key) => {
				parses++;
				expect(key).toBe('app/limits');
				return parseLimits(text);
			},
			onChange: (value) => told.push(value),
		});
		expectTypeOf(config).toEqualTypeOf<Config<Limits>>();
		expect(() => config.value).toThrow(expect.objectContaining({ code: 'NOT_READY' }));
		expect(config).toMatchObject({ source: null, ageMs: 0, revision: 0, error: undefined });
		expect((await config.ready()).value).toEqual({ max: 5 });
		expect(config).toMatchObject({ source: 'live', ageMs: 0, revision: 1 });
		sidecar.publishKey(fakeKey('app/limits', 2, '{"max":6}'));
		await settle();
		expect(config.value).toEqual({ max: 6 });
		const { value } = config;
		sidecar.publishKey({ ...fakeKey('app/limits', 3, '{"max":6}'), source: 'last-known-good', ageMs: 100 });
		await settle();
		expect(config.value).toBe(value);
		clock.work(0.25);
		expect(config).toMatchObject({ source: 'last-known-good', ageMs: 100, revision: 3 });
		expect(parses).toBe(2);
		expect(told).toEqual([{ max: 5 }, { max: 6 }]);
		await diplomat.close();
	});

	it('takes JSON.parse as it is, for one key and for many', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publishKey(fakeKey('app/limits', 1, '{"max":5}'));
		const one = diplomat.config('app/limits', { parse: JSON.parse, default: { max: 1 } });
		const many = diplomat.config('app/', { prefix: true, parse: JSON.parse });
		expect((await one.ready()).value.max).toBe(5);
		await expect(many.ready()).resolves.toBe(many);
		await diplomat.close();
	});

	it('without parse is the text of the key', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publishKey(fakeKey('app/motd', 1, 'höflich'));
		const config = await diplomat.config('app/motd').ready();
		expectTypeOf(config.value).toEqualTypeOf<string>();
		expect(config.value).toBe('höflich');
		await diplomat.close();
	});

	it('a bad new value keeps the last good one, with its age, and is reported once; the next good one is served', async () => {
		const { diplomat, sidecar, clock } = await simulate();
		sidecar.publishKey(fakeKey('app/limits', 1, '{"max":5}'));
		const published: ConfigErrorMessage[] = [];
		const listen = (message: unknown): void => void published.push(message as ConfigErrorMessage);
		subscribe('spock:client:config:error', listen);
		const errors: SpockError[] = [];
		const config = diplomat.config('app/limits', { parse: parseLimits, onError: (error) => errors.push(error) });
		await config.ready();
		sidecar.publishKey(fakeKey('app/limits', 2, '{"max":"many"}'));
		await settle();
		await clock.advance(700);
		expect(config.value).toEqual({ max: 5 });
		expect(config).toMatchObject({ source: 'last-known-good', ageMs: 700, revision: 1 });
		expect(config.error).toMatchObject({ code: 'BAD_VALUE', details: { key: 'app/limits' } });
		expect(config.error?.cause).toMatchObject({ message: 'max is not a number' });
		// The registry goes away and comes back: the same bad text is no news.
		sidecar.publishKey({ ...fakeKey('app/limits', 3, '{"max":"many"}'), source: 'last-known-good', ageMs: 10 });
		sidecar.publishKey(fakeKey('app/limits', 4, '{"max":"many"}'));
		await settle();
		expect(errors).toEqual([config.error]);
		expect(published).toEqual([{ key: 'app/limits', error: config.error }]);
		expect(config.ageMs).toBe(700);
		sidecar.publishKey(fakeKey('app/limits', 5, '{"max":7}'));
		await settle();
		expect(config.value).toEqual({ max: 7 });
		expect(config).toMatchObject({ source: 'live', ageMs: 0, revision: 5, error: undefined });
		unsubscribe('spock:client:config:error', listen);
		await diplomat.close();
	});

	it('a first value that is bad rejects ready with BAD_VALUE, unless there is a default', async () => {
		const { diplomat, sidecar } = await simulate();
		sidecar.publishKey(fakeKey('app/limits', 1, 'no JSON'));
		const strict = diplomat.config('app/limits', { parse: parseLimits });
		await expect(strict.ready()).rejects.toMatchObject({ code: 'BAD_VALUE' });
		expect(() => strict.value).toThrow(expect.objectContaining({ code: 'BAD_VALUE' }));
		const lenient = await diplomat.config('app/limits', { parse: parseLimits, default: { max: 1 } }).ready();
		expect(lenient).toMatchObject({ value: { max: 1 }, source: 'default', error: { code: 'BAD_VALUE' } });
		sidecar.publishKey(fakeKey('app/limits', 2, '{"max":2}'));
		await settle();
		expect([strict.value, lenient.value]).toEqual([{ max: 2 }, { max: 2 }]);
		await strict.ready();
		await diplomat.close();
	});

	it('a missing key is NO_SUCH_KEY, or the default; its birth and end are followed', async () => {
		const { diplomat, sidecar } = await simulate();
		const errors: string[] = [];
		const strict = diplomat.config('app/limits', { parse: parseLimits, onError: ({ code }) => errors.push(code) });
		const lenient = diplomat.config('app/limits', { parse: parseLimits, default: { max: 1 } });
		expect(lenient).toMatchObject({ value: { max: 1 }, source: 'default', revision: 0 });
		await expect(strict.ready()).rejects.toMatchObject({ code: 'NO_SUCH_KEY', retryable: false });
		await expect(strict.ready()).rejects.toMatchObject({ code: 'NO_SUCH_KEY' });
		expect((await lenient.ready()).error).toBeUndefined();
		sidecar.publishKey(fakeKey('app/limits', 2, '{"max":2}'));
		await settle();
		expect([strict.value.max, lenient.value.max]).toEqual([2, 2]);
		sidecar.publishKey(fakeKey('app/limits', 3, null));
		await settle();
		// Deleted: what has no default keeps the last good value, and says that the registry has none.
		expect(strict).toMatchObject({ value: { max: 2 }, source: 'last-known-good', error: { code: 'NO_SUCH_KEY' } });
		expect(lenient).toMatchObject({ value: { max: 1 }, source: 'default', error: undefined });
		expect(errors).toEqual(['NO_SUCH_KEY', 'NO_SUCH_KEY']);
		await diplomat.close();
	});

	it('takes a schema in place of a function', async () => {
		const { diplomat, sidecar } = await simulate();
		const validate = (value: unknown) =>
			/^\d+$/.test(String(value)) ? { value: Number(value) } : { issues: [{ message: 'digits only' }] };
		sidecar.publishKey(fakeKey('app/max', 1, '5'));
		// Some libraries make schemas that can be called.
		const schema = Object.assign(() => undefined, { '~standard': { version: 1, vendor: 'test', validate } });
		const config = await diplomat.config('app/max', { parse: schema }).ready();
		expect(config.value).toBe(5);
		sidecar.publishKey(fakeKey('app/max', 2, 'many'));
		await settle();
		expect(config).toMatchObject({ value: 5, error: { code: 'BAD_VALUE' } });
		expect(config.error?.message).toContain('digits only');
		const late = { '~standard': { validate: () => Promise.resolve({ value: 1 }) } };
		const never = diplomat.config('app/max', { parse: late });
		await expect(never.ready()).rejects.toMatchObject({ code: 'BAD_VALUE' });
		expect(() => diplomat.config('app/max', { parse: 5 as never })).toThrow(TypeError);
		await diplomat.close();
	});

	it('bytes that are text are text, whatever way they came; bytes that are none are BAD_VALUE', async () => {
		const { diplomat, sidecar } = await simulate();
		const base64 = (revision: number, bytes: Buffer) =>
			({ ...fakeKey('app/bytes', revision, bytes.toString('base64')), encoding: 'base64' }) as never;
		sidecar.publishKey(base64(1, Buffer.from('höflich')));
		const config = await diplomat.config('app/bytes').ready();
		expect(config.value).toBe('höflich');
		sidecar.publishKey(base64(2, Buffer.from([0xff])));
		await settle();
		expect(config).toMatchObject({ value: 'höflich', error: { code: 'BAD_VALUE' } });
		await diplomat.close();
	});

	it('goes on through the loss of the sidecar: last known, with its age, then live with what the next one says', async () => {
		const { diplomat, sidecar, network, clock } = await simulate();
		sidecar.publishKey(fakeKey('app/limits', 7, '{"max":5}'));
		const config = await diplomat.config('app/limits', { parse: parseLimits }).ready();
		network.failsWith = 'ECONNREFUSED';
		sidecar.connection.drop();
		await settle();
		await clock.advance(2000);
		expect(config.value).toEqual({ max: 5 });
		expect(config.source).toBe('last-known-good');
		expect(config.ageMs).toBeGreaterThanOrEqual(2000);
		expect(config.error).toBeUndefined();
		// Another process: its revisions begin anew.
		sidecar.options = { instance: 'fake-2' };
		sidecar.publishKey(fakeKey('app/limits', 1, '{"max":6}'));
		network.failsWith = undefined;
		await clock.advance(30_000);
		expect(config).toMatchObject({ value: { max: 6 }, source: 'live', ageMs: 0, revision: 1 });
		await diplomat.close();
	});

	it('is refused with what the sidecar says; a refusal that waiting may mend is waited out until the deadline', async () => {
		let code = 'ACL_DENIED';
		const { diplomat, sidecar, clock } = await simulate(
			{},
			{
				handle: ({ func }) =>
					func === 'watchKey' && code !== '' ? { error: wireError(code, code !== 'ACL_DENIED') } : undefined,
			},
		);
		sidecar.publishKey(fakeKey('app/limits', 1, '5'));
		const denied: string[] = [];
		const config = diplomat.config('app/limits', { onError: (error) => denied.push(error.code) });
		await expect(config.ready()).rejects.toMatchObject({ code: 'ACL_DENIED' });
		await clock.advance(10_000);
		expect(denied).toEqual(['ACL_DENIED']);
		code = 'NOT_READY';
		await clock.advance(20_000);
		const waiting = expect(config.ready({ timeoutMs: 500 })).rejects.toMatchObject({ code: 'NOT_READY' });
		await clock.advance(500);
		await waiting;
		code = '';
		const mended = config.ready({ timeoutMs: 60_000 });
		await clock.advance(30_000);
		expect((await mended).value).toBe('5');
		expect(config.error).toBeUndefined();
		await diplomat.close();
	});

	it('a source without keys, and a baseline sidecar, say so', async () => {
		const source = { name: 'bare', peek: () => undefined, watch: () => ({ stop: () => undefined }) } as never;
		const direct = await simulate({ source });
		expect(() => direct.diplomat.config('app/n')).toThrow(expect.objectContaining({ code: 'UNKNOWN_FUNC' }));
		const { diplomat } = await simulate({}, { hello: 'unknown-func' });
		await expect(diplomat.config('app/n').ready()).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
		await expect(diplomat.getKey('app/n')).rejects.toMatchObject({ code: 'UNKNOWN_FUNC' });
		await diplomat.close();
	});
});
