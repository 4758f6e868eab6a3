import { randomBytes } from 'node:crypto';

import { decode, encode } from 'dns-packet';
import { describe, expect, it } from 'vitest';

import { type DnsQuestion, encodeQuery, readReply } from './dns-message.ts';

const question: DnsQuestion = { name: 'barista.test', type: 'SRV' };
const SRV = {
	type: 'SRV',
	name: 'barista.test',
	ttl: 5,
	data: { priority: 1, weight: 2, port: 3, target: 'a.test' },
} as const;
const questions = [{ name: 'barista.test', type: 'SRV' }] as const;
const response = (more: object = {}): Buffer =>
	encode({ type: 'response', id: 7, questions: [...questions], answers: [SRV], ...more });

describe('DNS messages', () => {
	it('a query asks one question, wants recursion, and says how long an answer may be', () => {
		const query = decode(encodeQuery(7, question, 1232));
		expect(query).toMatchObject({
			id: 7,
			type: 'query',
			flag_rd: true,
			questions: [{ name: 'barista.test', type: 'SRV' }],
		});
		expect(query.additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1232 }]);
		expect(decode(encodeQuery(7, question, 0)).additionals).toEqual([]);
	});

	it('an answer is read with its code, its records and whether it was cut', () => {
		expect(readReply(response(), 7, question)).toMatchObject({
			rcode: 'NOERROR',
			isTruncated: false,
			answers: [{ name: 'barista.test', type: 'SRV', ttl: 5, data: { port: 3, target: 'a.test' } }],
		});
		expect(readReply(response({ flags: 3 | (1 << 9) }), 7, question)).toMatchObject({
			rcode: 'NXDOMAIN',
			isTruncated: true,
		});
	});

	it('the name may come back in another case', () => {
		expect(readReply(response({ questions: [{ name: 'BARISTA.test', type: 'SRV' }] }), 7, question)).toBeDefined();
	});

	it('what answers another question, or none, is no answer', () => {
		const strays = [
			response({ id: 8 }),
			response({ type: 'query' }),
			response({ questions: [] }),
			response({ questions: [{ name: 'waiter.test', type: 'SRV' }] }),
			response({ questions: [{ name: 'barista.test', type: 'A' }] }),
			response({ questions: [...questions, ...questions] }),
			Buffer.alloc(0),
			Buffer.from('garbage'),
		];
		for (const stray of strays) expect(readReply(stray, 7, question)).toBeUndefined();
	});

	it('bytes at random, and a true answer that was cut or changed, never throw', () => {
		for (let round = 0; round < 300; round++) readReply(randomBytes(round % 200), 7, question);
		const whole = response();
		for (let end = 0; end < whole.length; end++) {
			readReply(whole.subarray(0, end), 7, question);
			const changed = Buffer.from(whole);
			changed[end] = 0xc0;
			readReply(changed, 7, question);
		}
	});
});
