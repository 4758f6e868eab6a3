import { KEY_VALUE_BYTES_MAX } from '@spock/protocol';
import { startFakeConsul, waitFor } from '@spock/testkit';
import { describe, expect, it } from 'vitest';

import { blocked } from '../../../../test/watched-backend.ts';
import { watchedKeys } from '../../../../test/watched-keys.ts';

const limits = { key: 'app/limits' };
const app = { key: 'app/', prefix: true };

describe('a watch of a key at Consul', () => {
	it('asks once, then blocks; a change, a deletion and a new birth are each told when they happen', async () => {
		await using fake = await startFakeConsul();
		fake.setKey('app/limits', '{"max":5}');
		await using one = watchedKeys([fake], limits);
		await blocked(fake);
		expect(one.entries).toEqual([[{ key: 'app/limits', value: '{"max":5}' }]]);
		const [first, second] = fake.requests;
		expect(first?.path).toBe('/v1/kv/app%2Flimits');
		expect(Object.fromEntries(first?.query ?? [])).toEqual({ stale: '' });
		expect(Object.fromEntries(second?.query ?? [])).toEqual({ stale: '', index: String(fake.index), wait: '55000ms' });
		fake.setKey('app/limits', '{"max":6}');
		await waitFor('the change', () => one.answers.at(-1) === 'app/limits={"max":6}');
		fake.deleteKey('app/limits');
		await waitFor('the deletion', () => one.answers.at(-1) === '');
		fake.setKey('app/limits', '{"max":6}');
		await waitFor('the new birth', () => one.answers.at(-1) === 'app/limits={"max":6}');
		expect(one.errors).toEqual([]);
	});

	it('a key that is not there is an answer that blocks, and not one to ask again at once', async () => {
		await using fake = await startFakeConsul();
		fake.setKey('other', '1');
		await using one = watchedKeys([fake], limits);
		await blocked(fake);
		expect(one.answers).toEqual(['']);
		expect(fake.requests).toHaveLength(2);
		fake.setKey('app/limits', 'now');
		await waitFor('its birth', () => one.answers.at(-1) === 'app/limits=now');
	});

	it('a change elsewhere does not wake it', async () => {
		await using fake = await startFakeConsul();
		fake.setKey('app/limits', '1');
		await using one = watchedKeys([fake], limits);
		await blocked(fake);
		fake.setKey('app/other', '2');
		fake.setKey('app/limits', '3');
		await waitFor('its own change', () => one.answers.at(-1) === 'app/limits=3');
		expect(one.answers).toEqual(['app/limits=1', 'app/limits=3']);
	});

	it('a prefix gives all its keys, sorted; keys come and go', async () => {
		await using fake = await startFakeConsul();
		fake.setKey('app/b', '2');
		fake.setKey('app/a', '1');
		fake.setKey('apple', 'no');
		await using one = watchedKeys([fake], app);
		await blocked(fake);
		expect(one.answers).toEqual(['app/a=1 app/b=2']);
		expect(Object.fromEntries(fake.requests[0]?.query ?? [])).toEqual({ recurse: 'true', stale: '' });
		fake.deleteKey('app/a');
		await waitFor('the deletion', () => one.answers.at(-1) === 'app/b=2');
		fake.deleteKey('app/b');
		await waitFor('the end', () => one.answers.at(-1) === '');
		fake.setKey('app/c', '3');
		await waitFor('the new key', () => one.answers.at(-1) === 'app/c=3');
	});

	it('a wake without a change of content is told as the very same answer: a lock moves the index, and not the value', async () => {
		await using fake = await startFakeConsul();
		fake.setKey('app/limits', '1');
		await using one = watchedKeys([fake], limits);
		await blocked(fake);
		fake.setKey('app/limits', '1');
		await waitFor('the second answer', () => one.entries.length === 2);
		expect(one.entries[1]).toBe(one.entries[0]);
	});

	it('an index that went back is dropped, and what the restored server says is told', async () => {
		await using fake = await startFakeConsul();
		fake.setKey('app/limits', 'new');
		await using one = watchedKeys([fake], limits);
		await blocked(fake);
		fake.setIndex(1);
		fake.setKey('app/limits', 'restored');
		// The restored server's index is lower: it wakes nobody before the wait is over.
		fake.wakeAll();
		await waitFor('the restored value', () => one.answers.at(-1) === 'app/limits=restored');
		await blocked(fake);
		expect(fake.requests.at(-2)?.query.has('index')).toBe(false);
		expect(fake.requests.at(-1)?.query.get('index')).toBe('2');
	});

	it('bytes that are no text arrive as they are', async () => {
		await using fake = await startFakeConsul();
		fake.setKey('app/limits', Buffer.from([0xff, 0, 1]));
		await using one = watchedKeys([fake], limits);
		await blocked(fake);
		expect(one.entries).toEqual([[{ key: 'app/limits', value: '/wAB', encoding: 'base64' }]]);
	});

	it('every parameter and the token arrive, and any name', async () => {
		await using fake = await startFakeConsul();
		const options = { token: 'secret', namespace: 'ns1', partition: 'p1', consistency: 'consistent' as const };
		await using _one = watchedKeys([fake], { key: 'a b/ü?&=#', datacenter: 'dc7' }, options);
		await blocked(fake);
		const [request] = fake.requests;
		expect(request?.path).toBe('/v1/kv/a%20b%2F%C3%BC%3F%26%3D%23');
		expect(request?.token).toBe('secret');
		expect(Object.fromEntries(request?.query ?? [])).toEqual({ consistent: '', dc: 'dc7', ns: 'ns1', partition: 'p1' });
	});
});

describe('a watch of a key when Consul misbehaves', () => {
	it('a denied token is ACL_DENIED, and the watch goes on', async () => {
		await using fake = await startFakeConsul();
		fake.setKey('app/limits', '1');
		fake.fail({ status: 403, text: 'Permission denied' });
		await using one = watchedKeys([fake], limits);
		await waitFor('the answer after it', () => one.answers.length > 0);
		expect(one.errors).toMatchObject([{ code: 'ACL_DENIED', retryable: false }]);
	});

	it('the 404 of something that is not Consul is an error, and not the absence of the key', async () => {
		await using fake = await startFakeConsul();
		fake.setKey('app/limits', '1');
		fake.fail(
			{ status: 404, text: 'not found' },
			'html',
			// Neither a leader's answer nor the address's own.
			{ status: 500, text: 'No cluster leader' },
			{ status: 500, text: 'No cluster leader' },
			'reset in mid-body',
		);
		await using one = watchedKeys([fake], limits);
		await waitFor('the answer after it', () => one.answers.length > 0);
		expect(one.errors.map(({ code }) => code)).toEqual(Array(4).fill('UNAVAILABLE'));
		expect(one.answers[0]).toBe('app/limits=1');
	});

	it('a value over the limit is refused with its size; Consul is not to blame, and the next value is told', async () => {
		await using fake = await startFakeConsul();
		fake.setKey('app/limits', Buffer.alloc(KEY_VALUE_BYTES_MAX + 1, 'x'));
		await using one = watchedKeys([fake], limits);
		await waitFor('the refusal', () => one.errors.length > 0);
		expect(one.errors[0]).toMatchObject({ code: 'FRAME_TOO_LARGE', details: { valueBytes: KEY_VALUE_BYTES_MAX + 1 } });
		expect(one.backend.status().state).toBe('up');
		fake.setKey('app/limits', 'short');
		await waitFor('the next value', () => one.answers.at(-1) === 'app/limits=short');
	});

	it('a prefix with more than any frame carries is cut off while it comes', async () => {
		await using fake = await startFakeConsul();
		for (let number = 0; number < 14; number++) fake.setKey(`app/${number}`, Buffer.alloc(KEY_VALUE_BYTES_MAX, 'x'));
		await using one = watchedKeys([fake], app);
		await waitFor('the refusal', () => one.errors.length > 0);
		expect(one.errors[0]).toMatchObject({ code: 'FRAME_TOO_LARGE', details: { answerBytesMax: 8 * 1024 * 1024 } });
		expect(one.backend.status().state).not.toBe('down');
		for (let number = 1; number < 14; number++) fake.deleteKey(`app/${number}`);
		await waitFor('what is left', () => one.answers.at(-1)?.startsWith('app/0=x') === true);
	});

	it('a name that Consul cannot have is BAD_REQUEST, and Consul is never asked', async () => {
		await using fake = await startFakeConsul();
		for (const key of ['.', '..', 'a\nb', 'a\u0000', 'a\u2028', '\ud800', 'a\u00a0b']) {
			await using one = watchedKeys([fake], { key });
			await waitFor('the refusal', () => one.errors.length > 0);
			expect(one.errors[0]).toMatchObject({ code: 'BAD_REQUEST', details: { path: 'key' } });
		}
		expect(fake.requests).toEqual([]);
	});

	it('another address is asked when one fails', async () => {
		await using dead = await startFakeConsul();
		await using fake = await startFakeConsul();
		await dead.stop();
		fake.setKey('app/limits', '1');
		await using one = watchedKeys([dead, fake], limits);
		await waitFor('the answer', () => one.answers.at(-1) === 'app/limits=1');
		expect(one.errors).toEqual([]);
	});
});
