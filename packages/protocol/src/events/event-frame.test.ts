import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { encodeEvent, encodeEventLine, readUplinkFrame } from './event-frame.ts';
import { memberText } from './member-text.ts';

/** What the long way reads: with white space behind it, no frame takes the short one. */
const readLong = (frame: string) => readUplinkFrame(`${frame} `);

/** Pieces out of which nearly every frame is wrong, and nearly every one nearly right. */
const pieces = [
	'{"seq":1,"func":"event","data":',
	'{"stream":"s",',
	'"stream":"s"',
	'"stream":"a b"',
	'"key":"k"',
	'"key":"\\u006b"',
	'"key":"\\ud83d\\ude00"',
	'"key":"\\ud800"',
	`"key":"${'😀'.repeat(257)}"`,
	`"id":"${'é'.repeat(128)}"`,
	`"id":"${'é'.repeat(129)}"`,
	'"at":0',
	'"at":007',
	'"at":999999999999999',
	'"at":9007199254740993',
	'"version":1e0',
	'"encoding":"base64"',
	'"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"',
	'"headers":{"__proto__":"x"}',
	'"__proto__":{"stream":"t","payload":1}',
	'"payload":',
	'"p\\u0061yload":2',
	'12345678901234567890',
	'1e400',
	'-0',
	'"}}"',
	'"\\\\"',
	'null',
	'[[[]]]',
	'['.repeat(126) + ']'.repeat(126),
	'['.repeat(127) + ']'.repeat(127),
	'"seq":2',
	'"id":1',
	'{',
	'}',
	'}}',
	',',
	':',
	' ',
	'\t',
	'\u2028',
];
const wild = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''));
const member = fc.constantFrom(...pieces.filter((one) => /^"[^"]+":./.test(one)));
const json = fc.oneof(
	fc.constantFrom(...pieces.filter((one) => /^(?:[-1-9n]|"[}\\]|\[)/.test(one))),
	fc.json({ maxDepth: 3 }),
	fc.json({ maxDepth: 2 }).map((text) => ` ${text}\t`),
);
/** A frame in the order of our writers, with members that may be bad, doubled or in front of each other. */
const near = fc
	.tuple(fc.nat(3), fc.array(member, { maxLength: 3 }), json, fc.array(member, { maxLength: 1 }), fc.string())
	.map(
		([seq, before, payload, behind, name]) =>
			`{"seq":${seq},"func":"event","data":{"stream":"s",${before.map((one) => `${one},`).join('')}"payload":${payload}${behind.map((one) => `,${one}`).join('')}${name.length > 8 ? `,${JSON.stringify(name)}:1` : ''}}}`,
	);

describe('a frame of an uplink', () => {
	it('is read as the long way reads it, whatever it is', () => {
		const kinds = new Set<string>();
		fc.assert(
			fc.property(fc.oneof(wild, near), (frame) => {
				const read = readUplinkFrame(frame);
				kinds.add(read.kind);
				expect(read).toEqual(readLong(frame));
				if (read.kind !== 'event') return;
				const members = JSON.parse(frame) as { seq: number; data: { stream: string; payload: unknown } };
				const kept = JSON.parse(read.text) as { stream: string; payload: unknown };
				expect([read.seq, kept.stream, read.stream]).toEqual([members.seq, members.data.stream, members.data.stream]);
				expect(kept.payload).toEqual(members.data.payload);
			}),
			{ numRuns: 3000 },
		);
		expect([...kinds].sort()).toEqual(['event', 'fault', 'refused']);
	});

	it('is what was written', () => {
		const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 });
		const event = fc.record(
			{
				stream: fc.stringMatching(/^[A-Za-z0-9_.-]{1,128}$/),
				key: text,
				id: text,
				at: fc.nat(),
				version: fc.integer({ min: 1, max: 1_000_000_000 }),
				headers: fc.dictionary(text, fc.string(), { maxKeys: 5 }),
				payload: fc.jsonValue(),
			},
			{ requiredKeys: ['stream', 'payload'] },
		);
		fc.assert(
			fc.property(event, fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (given, seq) => {
				const text = encodeEvent(given);
				const { stream, key, id } = given;
				const line = encodeEventLine(seq, text);
				expect(readUplinkFrame(line.slice(0, -1))).toEqual({
					...{ kind: 'event', seq, stream, key, id, text },
					bytes: Buffer.byteLength(text),
				});
			}),
		);
	});

	it('with more bytes than an event may have takes its number and goes nowhere, in characters of any length', () => {
		const frame = (payload: string): string => `{"seq":7,"func":"event","data":{"stream":"s","payload":"${payload}"}}`;
		const most = 524288 - '{"stream":"s","payload":""}'.length;
		expect(readUplinkFrame(frame('x'.repeat(most)))).toMatchObject({ kind: 'event', seq: 7 });
		const refused = { kind: 'refused', seq: 7, code: 'FRAME_TOO_LARGE' };
		expect(readUplinkFrame(frame('x'.repeat(most + 1)))).toMatchObject(refused);
		expect(readUplinkFrame(frame('€'.repeat(most / 3)))).toMatchObject({ kind: 'event' });
		expect(readUplinkFrame(frame('€'.repeat(most / 3 + 1)))).toMatchObject(refused);
	});

	it('refuses to write what JSON cannot carry', () => {
		expect(() => encodeEvent({ stream: 's', payload: undefined })).toThrow('payload must be a JSON value');
		expect(() => encodeEvent({ stream: 's', payload: () => 1 })).toThrow(TypeError);
	});
});

describe('the text of a member', () => {
	// The oracle is the list of members: JSON.parse misreads some names that are written with escapes (nodejs/node#63785, V8 of Node 24).
	it('is that of the last member with this name, however the name is written', () => {
		const key = fc.constantFrom('a', 'b', '', '__proto__', '"', '\\');
		const value = fc.json({ maxDepth: 3 });
		const written = (text: string): string =>
			text === 'a' ? '"\\u0061"' : JSON.stringify(text).replaceAll('b', '\\u0062');
		fc.assert(
			fc.property(fc.array(fc.tuple(key, value)), key, fc.constantFrom('', ' ', '\n\t'), (members, name, gap) => {
				const inside = members.map(([one, text]) => `${gap}${written(one)}${gap}:${gap}${text}${gap}`).join(',');
				const last = members.findLast(([one]) => one === name);
				expect(memberText(`{${inside}}`, name).trim()).toBe(last?.[1] ?? '');
			}),
		);
	});
});
